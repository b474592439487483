package horseracingtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// start starts a fake that ends with the test.
func start(t testing.TB, opts ...horseracingtest.Option) *horseracingtest.Server {
	t.Helper()
	server := horseracingtest.NewServer(opts...)
	t.Cleanup(server.Close)
	return server
}

// newRequest is a request that the fake takes, unless the body is wrong.
func newRequest(t testing.TB, s *horseracingtest.Server, method, path, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("x-api-key", s.APIKey)
	r.Header.Set("content-type", "application/json")
	return r
}

// do sends the request and reads the response.
func do(t testing.TB, s *horseracingtest.Server, r *http.Request) (*http.Response, string) {
	t.Helper()
	response, body, err := send(s.HTTPClient(), r)
	if err != nil {
		t.Fatal(err)
	}
	return response, body
}

// send sends the request, and returns as much of the body as could be read.
func send(client *http.Client, r *http.Request) (*http.Response, string, error) {
	response, err := client.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}

// get reads the response to a GET, which must be good, into a T.
func get[T any](t testing.TB, s *horseracingtest.Server, path, body string) T {
	t.Helper()
	response, text := do(t, s, newRequest(t, s, http.MethodGet, path, body))
	if response.StatusCode != http.StatusOK {
		t.Fatalf("GET %s %s: status %d: %s", path, body, response.StatusCode, text)
	}
	var into T
	if err := json.Unmarshal([]byte(text), &into); err != nil {
		t.Fatalf("GET %s: %v in %s", path, err, text)
	}
	return into
}

const (
	resultsPath   = "/api/v2/races/results"
	resultsV1Path = "/api/v1/races/results"
	openPath      = "/api/v1/races/open"
	registerPath  = "/api/v1/races/register"
)

// allRaces reads the finished races of the default tier by offset, newest first.
func allRaces(t testing.TB, s *horseracingtest.Server) []horseracing.RaceID {
	t.Helper()
	var all []horseracing.RaceID
	for {
		page := get[[]horseracing.Race](t, s, resultsV1Path, `{"offset":`+itoa(len(all))+`}`)
		if len(page) == 0 {
			return all
		}
		all = append(all, idsOf(page)...)
	}
}

func idsOf(races []horseracing.Race) []horseracing.RaceID {
	ids := []horseracing.RaceID{}
	for _, r := range races {
		ids = append(ids, r.MainRaceID)
	}
	return ids
}

// raceAt is an open race of that id, an hour before its start if the fake's
// clock stands still.
func raceAt(s *horseracingtest.Server, id horseracing.RaceID, in time.Duration) horseracing.Race {
	return horseracing.Race{
		MainRaceID:           id,
		StartTime:            horseracing.NewTimestamp(s.Now().Add(in)),
		RegistrationDeadline: horseracing.NewTimestamp(s.Now().Add(in - 5*time.Minute)),
	}
}
