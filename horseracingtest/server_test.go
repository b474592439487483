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
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestStartReportsWhyItCannot(t *testing.T) {
	taken := start(t)
	nameless, timeless := ranAt(0, noon, 1), ranAt(7, noon, 1)
	timeless.StartTime = horseracing.Timestamp{}
	history := func(races ...horseracing.Race) []horseracingtest.Option {
		return []horseracingtest.Option{horseracingtest.WithHistoryOf(slices.Values(races))}
	}
	var limits, readings []horseracingtest.Option
	for _, limit := range []horseracingtest.RequestLimit{
		{}, {PerSecond: 1, InFlight: 1}, {PerSecond: -1}, {PerSecond: 1e9}, {PerWindow: 5}, {Window: time.Second},
		{InFlight: 1, Burst: 2}, {InFlight: 1, Sliding: true}, {InFlight: -1}, {PerSecond: 1, RetryAfter: "minutes"}, {PerSecond: 1, Path: "api"},
	} {
		limits = append(limits, horseracingtest.WithRequestLimit(limit))
	}
	for _, reading := range []horseracingtest.Readings{{Participants: "never"}, {EmptyList: "500"}, {Members: map[string]string{"tier": "x"}}} {
		readings = append(readings, horseracingtest.WithReadings(reading))
	}
	for words, opts := range map[string][]horseracingtest.Option{
		"address already in use":    {horseracingtest.WithAddr(strings.TrimPrefix(taken.URL, "http://"))},
		"a history of -1 races":     {horseracingtest.WithHistory(-1)},
		"4000 new races an hour":    {horseracingtest.WithSchedule(4000)},
		"latency cannot be":         {horseracingtest.WithLatency(-1)},
		"negative number of reques": {horseracingtest.WithRequestLog(-1)},
		"0 users":                   {horseracingtest.WithUsers(0)},
		"501 users":                 {horseracingtest.WithUsers(501)},
		"request limit":             limits,
		"readings: ":                readings,
		"there is no race":          history(),
		"no MainRaceID":             history(nameless),
		"race 7 has no StartTime":   history(timeless),
	} {
		for i, opt := range opts {
			if s, err := horseracingtest.Start(opt); err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("option %d: %v, want %q", i, err, words)
				if s != nil {
					s.Close()
				}
			}
		}
	}
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
	paths := []string{openPath, "/api/v1/horses/3", "/api/v1/horses/missions/3", "/api/v1/horses/breeding/open", "/api/v1/missions", resultsPath, "/api/v1/tournaments/open", "/api/v1/races/7"}
	look := func(s *horseracingtest.Server) []string {
		seen := []string{s.Now().String(), fmt.Sprint(s.Registrations(), s.RequestCount(), s.Horses(0))}
		for _, path := range paths {
			response, body := do(t, s, newRequest(t, s, "GET", path, ""))
			seen = append(seen, fmt.Sprintf("%s: %d %s", path, response.StatusCode, body))
		}
		return seen
	}
	want := look(start(t, limit))

	s := start(t, limit)
	url := s.URL
	s.SetRequestLimit()
	s.AddRaces(raceAt(s, 7, time.Hour))
	s.AddHorses(0, horseracing.Horse{Number: 3, Name: "Comet"}, horseracing.Horse{Number: 5000})
	s.AddTournaments(horseracing.Tournament{ID: "cup", StartTime: horseracing.NewTimestamp(s.Now())})
	s.SetBreeding()
	s.SetCatalogue(horseracing.MissionCatalogue{})
	s.SetHorseMissions(horseracing.HorseMissions{Number: 3})
	if _, err := s.Client().Races.Register(t.Context(), horseracing.Registration{Horse: 2, Race: 7, UserKey: s.UserKey(0)}); err != nil {
		t.Fatal(err)
	}
	s.Advance(100 * time.Hour)
	look(s)
	s.Handle("GET "+openPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
		return horseracingtest.Response{}, true
	})
	s.Inject(horseracingtest.Fault{Status: 500, Times: -1}, horseracingtest.Fault{Method: "POST", TakesEffectAfter: time.Hour})
	s.SetRequestLimit(horseracingtest.RequestLimit{PerSecond: 1})
	s.Reset()
	if diff := cmp.Diff(want, look(s)); diff != "" || s.URL != url {
		t.Errorf("-new +reset:\n%s", diff)
	}
}

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
// clock is stopped.
func raceAt(s *horseracingtest.Server, id horseracing.RaceID, in time.Duration) horseracing.Race {
	return horseracing.Race{
		MainRaceID:           id,
		StartTime:            horseracing.NewTimestamp(s.Now().Add(in)),
		RegistrationDeadline: horseracing.NewTimestamp(s.Now().Add(in - 5*time.Minute)),
	}
}

func itoa[N ~int | ~int64](n N) string { return strconv.FormatInt(int64(n), 10) }

func TestEveryMistakeIsRefusedWithAMessageThatNamesIt(t *testing.T) {
	s := start(t)
	header := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Del(name)
			for _, v := range values {
				r.Header.Add(name, v)
			}
		}
	}
	const breedingPath, userPath = "/api/v1/horses/breeding/open", "/api/v1/horses/user"
	for _, test := range []struct {
		name         string
		method, path string
		body         string
		change       func(*http.Request)
		status       int
		words        string
	}{
		{"unknown path", "GET", "/api/v1/race/open", "", nil, 404, "no operation at the path /api/v1/race/open"},
		{"trailing slash", "GET", openPath + "/", "", nil, 404, "no operation at the path"},
		{"GET to register", "GET", registerPath, "", nil, 405, "takes POST, not GET"},
		{"POST to a listing", "POST", openPath, "", nil, 405, "takes GET, not POST"},
		{"no API key", "GET", openPath, "", header("x-api-key"), 401, "x-api-key is missing"},
		{"unknown API key", "GET", openPath, "", header("x-api-key", "secret-x"), 401, "no API key of this service"},
		{"two API keys", "GET", openPath, "", header("x-api-key", "a", "b"), 400, "came 2 times"},
		{"no content type", "GET", openPath, "", header("content-type"), 415, "content-type is missing"},
		{"other content type", "GET", openPath, "", header("content-type", "text/plain"), 415, `not "text/plain"`},
		{"query on a listing with a body", "GET", resultsPath + "?tier=5", "", nil, 400, "go into the JSON body"},
		{"body where none is documented", "GET", breedingPath, "{}", nil, 400, "takes no request body, but 2 bytes came"},
		{"chunked body", "GET", resultsPath, "", func(r *http.Request) {
			r.Body, r.ContentLength, r.GetBody = io.NopCloser(strings.NewReader("{}")), -1, nil
		}, 411, "without a Content-Length"},
		{"huge body", "GET", resultsPath, strings.Repeat(" ", 65<<10), nil, 413, "larger than"},
		{"no JSON", "GET", resultsPath, "tier=5", nil, 400, "jsontext: invalid"},
		{"cut JSON", "GET", resultsPath, `{"tier":5`, nil, 400, "unexpected EOF"},
		{"something behind", "GET", resultsPath, `{"tier":5}{}`, nil, 400, "after top-level value"},
		{"array", "GET", resultsPath, `[]`, nil, 400, "JSON array"},
		{"bad UTF-8", "GET", userPath, "{\"user_key\":\"\xff\"}", nil, 400, "invalid UTF-8"},
		{"unknown member", "GET", resultsPath, `{"start_time":1}`, nil, 400, `unknown object member name "start_time"`},
		{"start_time_from in version 1", "GET", resultsV1Path, `{"start_time_from":5}`, nil, 400, `unknown object member name "start_time_from"`},
		{"duplicate member", "GET", resultsPath, `{"tier":5,"tier":5}`, nil, 400, `duplicate object member name "tier"`},
		{"string for a number", "GET", resultsPath, `{"tier":"5"}`, nil, 400, `JSON string into Go int64 within "/tier"`},
		{"fraction", "GET", resultsPath, `{"start_time_from":1.5}`, nil, 400, `1.5 into Go int64 within "/start_time_from"`},
		{"out of range", "GET", resultsPath, `{"start_time_from":99999999999999999999}`, nil, 400, "out of range"},
		{"unknown tier", "GET", resultsPath, `{"tier":6}`, nil, 400, "no tier 6; this fake has 1 to 5"},
		{"negative offset", "GET", resultsV1Path, `{"offset":-1}`, nil, 400, "must not be negative"},
		{"race id that is a word", "GET", "/api/v1/races/first", "", nil, 400, `raceId in the path must be an integer, got "first"`},
		{"horse number with a zero", "GET", "/api/v1/horses/missions/01", "", nil, 400, `got "01"`},
		{"unknown horse", "GET", "/api/v1/horses/5000", "", nil, 404, "no horse 5000"},
		{"no user key", "GET", userPath, "", nil, 400, "needs user_key"},
		{"number for a user key", "GET", userPath, `{"user_key":1}`, nil, 400, `JSON number into Go string within "/user_key"`},
		{"unknown user key", "GET", userPath, `{"user_key":"secret-y"}`, nil, 403, "belongs to no user"},
		{"registration without a race", "POST", registerPath, `{"horse_number":1,"user_key":"x"}`, nil, 400, "needs horse_number, user_key and main_race_id"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRequest(t, s, test.method, test.path, test.body)
			if test.change != nil {
				test.change(r)
			}
			response, body := do(t, s, r)
			if response.StatusCode != test.status {
				t.Errorf("status %d, want %d: %s", response.StatusCode, test.status, body)
			}
			var refusal struct {
				Error struct{ Code, Message string }
			}
			if err := json.Unmarshal([]byte(body), &refusal); err != nil {
				t.Fatalf("%v in %s", err, body)
			}
			if refusal.Error.Code == "" || !strings.Contains(refusal.Error.Message, test.words) {
				t.Errorf("the refusal is %s, want one that says %q", body, test.words)
			}
			if strings.Contains(body, "secret") {
				t.Errorf("the refusal repeats a key: %s", body)
			}
			if test.status == http.StatusMethodNotAllowed && response.Header.Get("Allow") == "" {
				t.Error("the response does not say which method is allowed")
			}
		})
	}
}

func TestWhatTheDocumentAllowsIsTaken(t *testing.T) {
	s := start(t)
	for _, body := range []string{"", "{}", " { } ", `{"tier":5}`, `{"start_time_from":-5}`, `{"start_time_from":1748779200000,"tier":1}`, `{"tier":5}` + "\n"} {
		r := newRequest(t, s, "GET", resultsPath, body)
		r.Header.Set("content-type", "application/json; charset=UTF-8")
		if response, text := do(t, s, r); response.StatusCode != http.StatusOK {
			t.Errorf("body %s: status %d: %s", body, response.StatusCode, text)
		} else if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
			t.Errorf("body %s: content type %s", body, kind)
		}
	}
}

func TestTheLogHoldsRequestsAndStatuses(t *testing.T) {
	s := start(t)
	s.Advance(time.Hour)
	do(t, s, newRequest(t, s, "GET", resultsPath, `{"tier":5}`))
	do(t, s, newRequest(t, s, "GET", "/api/v1/horses/a%2Fb?x=1", ""))
	requests := s.Requests()
	if len(requests) != 2 || s.RequestCount() != 2 {
		t.Fatalf("%d requests, count %d", len(requests), s.RequestCount())
	}
	first := requests[0]
	if key := first.Header.Get("X-Api-Key"); key != s.APIKey {
		t.Errorf("x-api-key %q", key)
	}
	first.Header = nil
	want := horseracingtest.Request{Time: s.Now(), Method: "GET", Path: resultsPath, Body: []byte(`{"tier":5}`), Status: 200}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if second := requests[1]; second.Path != "/api/v1/horses/a%2Fb?x=1" || second.Status != 400 || second.Body != nil {
		t.Errorf("%+v", second)
	}
	s.ResetLog()
	if len(s.Requests()) != 0 || s.RequestCount() != 0 || s.MaxInFlight() != 0 {
		t.Error("ResetLog left something")
	}
}

func TestEveryRequestIsLoggedWithoutItsKey(t *testing.T) {
	var text strings.Builder
	s := start(t, horseracingtest.WithLogger(slog.New(slog.NewTextHandler(&text, nil))))
	s.Inject(horseracingtest.Fault{Method: "POST", ResetAfter: true}, horseracingtest.Fault{Skip: 1, Status: 503})
	for _, method := range []string{"GET", "GET", "POST"} {
		attempt(t, s, method, openPath+"?user_key="+string(s.UserKey(0)), "")
	}
	s.Close()
	logged := text.String()
	for _, want := range []string{"msg=request method=GET path=/api/v1/races/open status=400 took=", "status=503", "method=POST path=/api/v1/races/open status=0"} {
		if !strings.Contains(logged, want) {
			t.Errorf("no %q in\n%s", want, logged)
		}
	}
	if strings.Contains(logged, s.APIKey) || strings.Contains(logged, string(s.UserKey(0))) {
		t.Errorf("a key is logged:\n%s", logged)
	}
}

func TestTheLogKeepsTheNewestAndCountsAll(t *testing.T) {
	for limit, want := range map[int][]string{
		0: {},
		2: {"/api/v1/horses/4", "/api/v1/horses/5"},
		9: {"/api/v1/horses/1", "/api/v1/horses/2", "/api/v1/horses/3", "/api/v1/horses/4", "/api/v1/horses/5"},
	} {
		s := start(t, horseracingtest.WithRequestLog(limit))
		for i := range 5 {
			do(t, s, newRequest(t, s, "GET", "/api/v1/horses/"+itoa(i+1), ""))
		}
		paths := []string{}
		for _, r := range s.Requests() {
			paths = append(paths, r.Path)
			if r.Status != http.StatusOK {
				t.Errorf("%s: status %d", r.Path, r.Status)
			}
		}
		if diff := cmp.Diff(want, paths); diff != "" || s.RequestCount() != 5 {
			t.Errorf("limit %d, count %d (-want +got):\n%s", limit, s.RequestCount(), diff)
		}
	}
}

// The fake's own work on the first response continues here until the second request is
// through, as it may on a busy machine.
func TestARequestWhoseResponseWasReadIsNotInFlight(t *testing.T) {
	second := make(chan struct{})
	s := start(t, horseracingtest.WithLogger(slog.New(slog.NewTextHandler(writer(func([]byte) { <-second }), nil))))
	for range 2 {
		r := newRequest(t, s, "GET", resultsPath, "")
		r.Close = true // the second comes by a connection of its own
		do(t, s, r)
	}
	close(second)
	if got := s.MaxInFlight(); got != 1 {
		t.Errorf("MaxInFlight is %d for two requests, one after the other", got)
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

func TestEverythingCanBeDoneAtTheSameTime(t *testing.T) {
	s := start(t, horseracingtest.WithRequestLog(5))
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range 30 {
				for _, path := range []string{openPath, resultsPath, resultsV1Path, "/api/v1/tournaments/results", "/api/v1/races/" + itoa(4000+i)} {
					if _, _, err := attempt(t, s, "GET", path, ""); err != nil {
						t.Error(err)
					}
				}
				switch worker {
				case 0:
					s.Advance(10 * time.Minute)
				case 1:
					s.AddRaces(raceAt(s, 7, time.Hour))
					if _, _, err := attempt(t, s, "POST", registerPath, registration(s)); err != nil {
						t.Error(err)
					}
					s.RemoveRaces(7)
				case 2:
					s.Inject(horseracingtest.Fault{Path: "/api/v1/horses", Status: 500})
					s.ClearFaults()
					s.ResetLog()
					s.Reset()
				case 3:
					s.Requests()
					s.Registrations()
					s.MaxInFlight()
				}
			}
		})
	}
	group.Wait()
}
