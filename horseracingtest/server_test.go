package horseracingtest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
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
	r := double.Must(http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body)))
	r.Header.Set("x-api-key", s.APIKey)
	r.Header.Set("content-type", "application/json")
	r.GetBody = nil // net/http does not send it again
	return r
}

// do sends the request and reads the response.
func do(t testing.TB, s *horseracingtest.Server, r *http.Request) (*http.Response, string) {
	t.Helper()
	response, body, err := send(s, r)
	if err != nil {
		t.Fatal(err)
	}
	return response, body
}

// send sends the request, and returns as much of the body as could be read.
func send(s *horseracingtest.Server, r *http.Request) (*http.Response, string, error) {
	response, err := s.HTTPClient().Do(r)
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
	double.Error(t, path+": "+text, nil, "", json.Unmarshal([]byte(text), &into))
	return into
}

// statusOf requests a path and returns the status of the response.
func statusOf(t testing.TB, s *horseracingtest.Server, path string) int {
	t.Helper()
	response, _ := do(t, s, newRequest(t, s, http.MethodGet, path, ""))
	return response.StatusCode
}

func itoa[N ~int | ~int64](n N) string { return strconv.FormatInt(int64(n), 10) }

const (
	resultsPath   = "/api/v2/races/results"
	resultsV1Path = "/api/v1/races/results"
	openPath      = "/api/v1/races/open"
	registerPath  = "/api/v1/races/register"
	missionsPath  = "/api/v1/missions"
)

func TestSenselessOptionsAndCallsPanic(t *testing.T) {
	s := start(t)
	calls := map[string]func(){
		"race without start": func() { s.AddRaces(horseracing.Race{MainRaceID: 1}) },
		"race of no tier": func() {
			s.AddRaces(horseracing.Race{MainRaceID: 1, StartTime: horseracing.NewTimestamp(noon), Tier: "Zeta"})
		},
		"tournament without start": func() { s.AddTournaments(horseracing.Tournament{ID: "x"}) },
		"clock put back":           func() { s.Advance(-1) },
		"key of an unknown user":   func() { s.UserKey(s.NumUsers()) },
		"horse of an unknown user": func() { s.AddHorses(s.NumUsers(), horseracing.Horse{Number: 5001}) },
		"missions of no horse":     func() { s.SetHorseMissions(horseracing.HorseMissions{Number: 5001}) },
		"handler without a path":   func() { s.Handle("GET", nil) },
	}
	options := []horseracingtest.Option{
		horseracingtest.WithAddr(strings.TrimPrefix(s.URL, "http://")), horseracingtest.WithHistory(-1), horseracingtest.WithSchedule(4000),
		horseracingtest.WithLatency(-1), horseracingtest.WithRequestLog(-1), horseracingtest.WithUsers(0),
		horseracingtest.WithHistoryOf(slices.Values([]horseracing.Race{{MainRaceID: 7}})),
		horseracingtest.WithReadings(horseracingtest.Readings{Participants: "never"}),
		horseracingtest.WithReadings(horseracingtest.Readings{EmptyList: "500"}),
	}
	for _, limit := range []horseracingtest.RequestLimit{
		{}, {PerSecond: 1, InFlight: 1}, {PerSecond: -1}, {PerWindow: 5},
		{InFlight: 1, Burst: 2}, {PerSecond: 1, RetryAfter: "minutes"}, {PerSecond: 1, Path: "api"},
	} {
		options = append(options, horseracingtest.WithRequestLimit(limit))
	}
	for i, option := range options {
		calls[fmt.Sprint("option ", i)] = func() { start(t, option) }
	}
	for _, f := range []horseracingtest.Fault{
		{Method: "GET"}, {Path: "api/v1", Status: 500}, {Skip: -1, Status: 500}, {Probability: 1.5, Status: 500}, {Status: 42},
		{Body: "x", ResetAfter: true}, {TakesEffectAfter: 1, ResetAfter: true}, {ResetBefore: true, Status: 500}, {ResetAfter: true, CutBody: 5},
	} {
		calls[fmt.Sprintf("%+v", f)] = func() { s.Inject(f) }
	}
	for name, call := range calls {
		func() {
			defer func() { double.Equal(t, name+" panics", true, recover() != nil) }()
			call()
		}()
	}
}

// A base URL without a host of its own would be refused by the client.
func TestAServerThatListensEverywhereIsReachedOnThisMachine(t *testing.T) {
	double.Must(start(t, horseracingtest.WithAddr(":0")).Client().Races.Open(t.Context()))
}

func TestAFakeThatIsResetIsAsNew(t *testing.T) {
	limit := horseracingtest.WithRequestLimit(horseracingtest.RequestLimit{PerSecond: 1, Burst: 10})
	look := func(s *horseracingtest.Server) []string {
		seen := []string{s.URL, s.Now().String(), fmt.Sprint(s.Registrations(), s.RequestCount(), s.Horses(0))}
		for _, path := range []string{openPath, "/api/v1/horses/3", "/api/v1/horses/missions/3", "/api/v1/horses/breeding/open", missionsPath, resultsPath, "/api/v1/tournaments/open", "/api/v1/races/7"} {
			response, body := do(t, s, newRequest(t, s, "GET", path, ""))
			seen = append(seen, fmt.Sprintf("%s: %d %s", path, response.StatusCode, body))
		}
		return seen
	}
	s := start(t, limit)
	want := look(s)
	s.SetRequestLimit()
	s.AddRaces(raceAt(s, 7, time.Hour))
	s.AddHorses(0, horseracing.Horse{Number: 3, Name: "Comet"}, horseracing.Horse{Number: 5000})
	s.AddTournaments(horseracing.Tournament{ID: "cup", StartTime: horseracing.NewTimestamp(s.Now())})
	s.SetBreeding()
	s.SetCatalogue(horseracing.MissionCatalogue{})
	s.SetHorseMissions(horseracing.HorseMissions{Number: 3})
	status, body := register(t, s, 2, s.UserKey(0), 7)
	double.Equal(t, body, http.StatusOK, status)
	s.Advance(100 * time.Hour)
	s.Handle("GET "+openPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
		return horseracingtest.Response{}, true
	})
	s.Inject(horseracingtest.Fault{Status: 500, Times: -1}, horseracingtest.Fault{Method: "POST", TakesEffectAfter: time.Hour})
	s.SetRequestLimit(horseracingtest.RequestLimit{PerSecond: 1})
	s.Reset()
	double.Equal(t, "the fake", want, look(s))
}

// transports are the ways in which a fake can be reached; faults must work on
// each of them.
var transports = []struct {
	name  string
	proto int
	opts  []horseracingtest.Option
}{
	{"TCP", 1, nil},
	{"HTTP/2", 2, []horseracingtest.Option{horseracingtest.WithTLS()}},
	{"in memory", 1, []horseracingtest.Option{horseracingtest.WithInMemory()}},
	{"HTTP/2 in memory", 2, []horseracingtest.Option{horseracingtest.WithInMemory(), horseracingtest.WithTLS()}},
}

func TestCloseEndsRequests(t *testing.T) {
	for _, transport := range transports {
		t.Run(transport.name, func(t *testing.T) {
			s := start(t, append(transport.opts, horseracingtest.WithLatency(time.Hour))...)
			s.Inject(horseracingtest.Fault{Path: registerPath, Delay: time.Hour, ResetBefore: true}) // its body stays unread
			done := make(chan error)
			for path, method := range map[string]string{resultsPath: "GET", registerPath: "POST"} {
				r := newRequest(t, s, method, path, "{}")
				go func() {
					_, _, err := send(s, r)
					done <- err
				}()
			}
			for s.RequestCount() < 2 {
				time.Sleep(time.Millisecond)
			}
			s.Close() // start closes it once more
			for range 2 {
				double.Equal(t, "a request got a response", false, <-done == nil)
			}
		})
	}
}
