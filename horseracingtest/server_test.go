package horseracingtest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	if err := json.Unmarshal([]byte(text), &into); err != nil {
		t.Fatalf("GET %s: %v in %s", path, err, text)
	}
	return into
}

func itoa[N ~int | ~int64](n N) string { return strconv.FormatInt(int64(n), 10) }

const (
	resultsPath   = "/api/v2/races/results"
	resultsV1Path = "/api/v1/races/results"
	openPath      = "/api/v1/races/open"
	registerPath  = "/api/v1/races/register"
)

func TestSenselessOptionsAndCallsPanic(t *testing.T) {
	s := start(t)
	when := horseracing.NewTimestamp(s.Now())
	nameless, timeless := ranAt(0, noon, 1), ranAt(7, noon, 1)
	timeless.StartTime = horseracing.Timestamp{}
	history := func(races ...horseracing.Race) horseracingtest.Option {
		return horseracingtest.WithHistoryOf(slices.Values(races))
	}
	options := []horseracingtest.Option{
		horseracingtest.WithAddr(strings.TrimPrefix(s.URL, "http://")), horseracingtest.WithHistory(-1), horseracingtest.WithSchedule(4000),
		horseracingtest.WithLatency(-1), horseracingtest.WithRequestLog(-1), horseracingtest.WithUsers(0), horseracingtest.WithUsers(501),
		history(), history(nameless), history(timeless),
	}
	for _, limit := range []horseracingtest.RequestLimit{
		{}, {PerSecond: 1, InFlight: 1}, {PerSecond: -1}, {PerSecond: 1e9}, {PerWindow: 5}, {Window: time.Second},
		{InFlight: 1, Burst: 2}, {InFlight: 1, Sliding: true}, {InFlight: -1}, {PerSecond: 1, RetryAfter: "minutes"}, {PerSecond: 1, Path: "api"},
	} {
		options = append(options, horseracingtest.WithRequestLimit(limit))
	}
	for _, readings := range []horseracingtest.Readings{{Participants: "never"}, {EmptyList: "500"}, {Members: map[string]string{"tier": "x"}}} {
		options = append(options, horseracingtest.WithReadings(readings))
	}
	calls := map[string]func(){
		"race without id":           func() { s.AddRaces(horseracing.Race{StartTime: when}) },
		"race without start":        func() { s.AddRaces(horseracing.Race{MainRaceID: 1}) },
		"race of no tier":           func() { s.AddRaces(horseracing.Race{MainRaceID: 1, StartTime: when, Tier: "Zeta"}) },
		"tournament without id":     func() { s.AddTournaments(horseracing.Tournament{StartTime: when}) },
		"tournament of no tier":     func() { s.AddTournaments(horseracing.Tournament{ID: "x", StartTime: when, Tier: 9}) },
		"clock put back":            func() { s.Advance(-1) },
		"key of an unknown user":    func() { s.UserKey(s.NumUsers()) },
		"horses of an unknown user": func() { s.Horses(-1) },
		"horse without number":      func() { s.AddHorses(0, horseracing.Horse{}) },
		"horse of an unknown user":  func() { s.AddHorses(s.NumUsers(), horseracing.Horse{Number: 5001}) },
		"missions of no horse":      func() { s.SetHorseMissions(horseracing.HorseMissions{Number: 5001}) },
		"handler without a path":    func() { s.Handle("GET", nil) },
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
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
	openRaces(t, s) // the fake is not locked
}

// A base URL without a host of its own would be refused by the client.
func TestAServerThatListensEverywhereIsReachedOnThisMachine(t *testing.T) {
	s := start(t, horseracingtest.WithAddr(":0"))
	if !strings.HasPrefix(s.URL, "http://127.0.0.1:") {
		t.Errorf("the URL is %s", s.URL)
	}
	if _, err := s.Client().Races.Open(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAFakeThatIsResetIsAsNew(t *testing.T) {
	limit := horseracingtest.WithRequestLimit(horseracingtest.RequestLimit{PerSecond: 1, Burst: 10})
	look := func(s *horseracingtest.Server) []string {
		seen := []string{s.URL, s.Now().String(), fmt.Sprint(s.Registrations(), s.RequestCount(), s.Horses(0))}
		for _, path := range []string{openPath, "/api/v1/horses/3", "/api/v1/horses/missions/3", "/api/v1/horses/breeding/open", "/api/v1/missions", resultsPath, "/api/v1/tournaments/open", "/api/v1/races/7"} {
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
	if status, body := register(t, s, 2, s.UserKey(0), 7); status != http.StatusOK {
		t.Fatal(body)
	}
	s.Advance(100 * time.Hour)
	s.Handle("GET "+openPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
		return horseracingtest.Response{}, true
	})
	s.Inject(horseracingtest.Fault{Status: 500, Times: -1}, horseracingtest.Fault{Method: "POST", TakesEffectAfter: time.Hour})
	s.SetRequestLimit(horseracingtest.RequestLimit{PerSecond: 1})
	s.Reset()
	if diff := cmp.Diff(want, look(s)); diff != "" {
		t.Errorf("-new +reset:\n%s", diff)
	}
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

func TestCloseEndsRequestsAndLeavesNoGoroutine(t *testing.T) {
	for _, transport := range transports {
		t.Run(transport.name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			s := horseracingtest.NewServer(append(transport.opts, horseracingtest.WithLatency(time.Hour))...)
			s.Inject(
				horseracingtest.Fault{Path: openPath, Delay: time.Hour},
				horseracingtest.Fault{Path: registerPath, Delay: time.Hour, ResetBefore: true}, // its body stays unread
			)
			done := make(chan error)
			for path, method := range map[string]string{openPath: "GET", resultsPath: "GET", registerPath: "POST"} {
				go func() {
					_, err := s.HTTPClient().Do(newRequest(t, s, method, path, "{}"))
					done <- err
				}()
			}
			for s.RequestCount() < 3 {
				time.Sleep(time.Millisecond)
			}
			s.Close()
			s.Close()
			for range 3 {
				if err := <-done; err == nil {
					t.Error("a request got a response")
				}
			}
			// The client notices the end of its connections by itself.
			for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			if after := runtime.NumGoroutine(); after > before {
				t.Errorf("%d goroutines before, %d after", before, after)
			}
		})
	}
}
