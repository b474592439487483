package horseracingtest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
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
	double.NoError(t, err)
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
	for i, option := range options {
		calls[fmt.Sprint("option ", i)] = func() { start(t, option) }
	}
	for _, limit := range []horseracingtest.RequestLimit{
		{}, {PerSecond: 1, InFlight: 1}, {PerSecond: -1}, {PerWindow: 5},
		{InFlight: 1, Burst: 2}, {PerSecond: 1, RetryAfter: "minutes"}, {PerSecond: 1, Path: "api"},
	} {
		calls[fmt.Sprintf("%+v", limit)] = func() { start(t, horseracingtest.WithRequestLimit(limit)) }
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
	look := func(s *horseracingtest.Server) []string {
		seen := []string{s.URL, s.Now().String(), fmt.Sprint(s.Registrations(), s.RequestCount(), s.Horses(0))}
		for _, path := range []string{openPath, "/api/v1/horses/3", "/api/v1/horses/missions/3", "/api/v1/horses/breeding/open", missionsPath, resultsPath, "/api/v1/tournaments/open", "/api/v1/races/7"} {
			response, body := do(t, s, newRequest(t, s, "GET", path, ""))
			seen = append(seen, fmt.Sprintf("%s: %d %s", path, response.StatusCode, body))
		}
		return seen
	}
	s := start(t, horseracingtest.WithRequestLimit(horseracingtest.RequestLimit{PerSecond: 1, Burst: 10}))
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

func TestEveryMistakeIsRefusedWithAMessageThatNamesIt(t *testing.T) {
	s := start(t)
	const breedingPath = "/api/v1/horses/breeding/open"
	for _, test := range []struct {
		name, method, path, body string
		header, value            string // a header that has this value instead, or is missing
		status                   int
		words                    string
	}{
		{"unknown path", "GET", "/api/v1/race/open", "", "", "", 404, "no operation at the path /api/v1/race/open"},
		{"POST to a listing", "POST", openPath, "", "", "", 405, "takes GET, not POST"},
		{"no API key", "GET", openPath, "", "x-api-key", "", 401, "x-api-key is missing"},
		{"unknown API key", "GET", openPath, "", "x-api-key", "secret-x", 401, "no API key of this service"},
		{"another content type", "GET", openPath, "", "content-type", "text/plain", 415, "content-type must be application/json"},
		{"body where none is documented", "GET", breedingPath, "{}", "", "", 400, "takes no request body, but 2 bytes came"},
		{"huge body", "GET", resultsPath, strings.Repeat(" ", 65<<10), "", "", 413, "larger than"},
		{"unknown member", "GET", resultsPath, `{"start_time":1}`, "", "", 400, `unknown object member name "start_time"`},
		{"string for a number", "GET", resultsPath, `{"tier":"5"}`, "", "", 400, `JSON string into Go int64 within "/tier"`},
		{"unknown tier", "GET", resultsPath, `{"tier":6}`, "", "", 400, "no tier 6; this fake has 1 to 5"},
		{"race id that is a word", "GET", "/api/v1/races/first", "", "", "", 400, `raceId in the path must be an integer, got "first"`},
		{"registration without a race", "POST", registerPath, `{"horse_number":1,"user_key":"x"}`, "", "", 400, "needs horse_number, user_key and main_race_id"},
	} {
		r := newRequest(t, s, test.method, test.path, test.body)
		if test.header != "" {
			r.Header.Set(test.header, test.value)
		}
		response, body := do(t, s, r)
		double.Equal(t, test.name, test.status, response.StatusCode)
		double.Equal(t, test.name+": "+body+" contains "+test.words, true, strings.Contains(strings.ReplaceAll(body, `\"`, `"`), test.words))
		double.Equal(t, test.name+": "+body+" repeats a key", false, strings.Contains(body, "secret"))
	}
}

func TestHandlersMatchByMethodAndSegments(t *testing.T) {
	s := start(t)
	for _, pattern := range []string{"GET /api/v1/horses/{n}", "/api/v9/{a}/x/{b}", "GET /api/v1/horses/5"} { // the newest wins
		s.Handle(pattern, func(horseracingtest.Request) (horseracingtest.Response, bool) {
			return horseracingtest.Response{Body: pattern}, true
		})
	}
	s.Handle("POST "+registerPath, func(r horseracingtest.Request) (horseracingtest.Response, bool) {
		s.Advance(time.Hour) // a handler can use the server
		return horseracingtest.Response{Body: string(r.Body)}, true
	})
	for _, test := range []struct{ method, path, body, want string }{
		{"GET", "/api/v1/horses/5", "", "GET /api/v1/horses/5"},
		{"GET", "/api/v1/horses/6", "", "GET /api/v1/horses/{n}"},
		{"PUT", "/api/v9/1/x/2", "{}", "/api/v9/{a}/x/{b}"},
		{"POST", registerPath, "anything", "anything"},
		{"GET", "/api/v9/1/x", "", "unknown_path"},
		{"POST", "/api/v1/horses/6", "", "wrong_method"},
	} {
		if _, body := do(t, s, newRequest(t, s, test.method, test.path, test.body)); body != test.want && !strings.Contains(body, `"code":"`+test.want+`"`) {
			t.Errorf("%s %s: %s, want %s", test.method, test.path, body, test.want)
		}
	}
	r := newRequest(t, s, "GET", "/api/v1/horses/6", "")
	r.Header.Set("x-api-key", "wrong")
	response, _ := do(t, s, r)
	double.Equal(t, "status without a valid key", http.StatusUnauthorized, response.StatusCode)
}

func TestTheLogHoldsTheNewestRequestsAndCountsAll(t *testing.T) {
	s := start(t, horseracingtest.WithRequestLog(2))
	do(t, s, newRequest(t, s, "GET", openPath, ""))
	do(t, s, newRequest(t, s, "GET", resultsPath, `{"tier":5}`))
	do(t, s, newRequest(t, s, "GET", "/api/v1/horses/a%2Fb?x=1", ""))
	got := s.Requests()
	for i := range got {
		got[i].Header = http.Header{"X-Api-Key": got[i].Header["X-Api-Key"]} // and others
	}
	key := http.Header{"X-Api-Key": {s.APIKey}}
	want := []horseracingtest.Request{
		{Time: s.Now(), Method: "GET", Path: resultsPath, Header: key, Body: []byte(`{"tier":5}`), Status: 200},
		{Time: s.Now(), Method: "GET", Path: "/api/v1/horses/a%2Fb?x=1", Header: key, Status: 400},
	}
	double.Equal(t, "the log", want, got)
	double.Equal(t, "the count", 3, s.RequestCount())
	s.ResetLog()
	double.Equal(t, "what ResetLog leaves", 0, len(s.Requests())+s.RequestCount()+s.MaxInFlight())
}

func TestEveryRequestIsLoggedWithoutItsKey(t *testing.T) {
	var text strings.Builder
	s := start(t, horseracingtest.WithLogger(slog.New(slog.NewTextHandler(&text, nil))))
	s.Inject(horseracingtest.Fault{Method: "POST", ResetAfter: true}, horseracingtest.Fault{Skip: 1, Status: 503})
	for _, method := range []string{"GET", "GET", "POST"} {
		_, _, _ = send(s, newRequest(t, s, method, openPath+"?user_key="+string(s.UserKey(0)), ""))
	}
	s.Close()
	logged := text.String()
	for _, want := range []string{"msg=request method=GET path=/api/v1/races/open status=400 took=", "status=503", "method=POST path=/api/v1/races/open status=0"} {
		double.Equal(t, want+" is in\n"+logged, true, strings.Contains(logged, want))
	}
	for _, key := range []string{s.APIKey, string(s.UserKey(0))} {
		double.Equal(t, key+" is in\n"+logged, false, strings.Contains(logged, key))
	}
}
