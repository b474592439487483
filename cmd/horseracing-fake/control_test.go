package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// controlled starts a fake whose clock stands still, and its control.
func controlled(t *testing.T) (*horseracingtest.Server, *control) {
	t.Helper()
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0))
	t.Cleanup(fake.Close)
	c, err := startControl("127.0.0.1:0", fake)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return fake, c
}

// send sends a request to the control, and returns its status and response.
func send(t *testing.T, c *control, method, path, body string, change ...func(*http.Request)) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range change {
		change(r)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(text))
}

func TestAProgramInAnyLanguageCanControlTheFake(t *testing.T) {
	fake, c := controlled(t)
	// A client of its own for each call: one that was refused would heed it.
	client := func() *horseracing.Client { return fake.Client(horseracing.WithRetry(horseracing.Retry{Max: -1})) }
	expect := func(method, path, body, want string) {
		t.Helper()
		if status, text := send(t, c, method, path, body); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s %s %s: %d %s, want %s", method, path, body, status, text, want)
		}
	}
	expect("GET", "/", "", `"api_key":"`+fake.APIKey+`"`)
	expect("GET", "/", "", `"users":[{"user_key":"`+string(fake.UserKey(0))+`","horses":[1,2,3,4,5,6]}`)
	expect("POST", "/races", `[{"main_race_id":7,"start_time":1748786400000,"registration_deadline":1748786000000,"entry_fee":1000000000000000000}]`, `{"added":1}`)
	expect("POST", "/advance", `{"by":"30m"}`, `{"now":"2025-06-01T12:30:00Z"}`)

	expect("POST", "/faults", `[{"method":"POST","status":429,"header":{"Retry-After":["3600"]}},{"method":"POST","path":"/api/v1/races/register","takes_effect_after":"1m"}]`, `{"injected":2}`)
	register := func() error {
		_, err := client().Races.Register(t.Context(), horseracing.Registration{Horse: 1, Race: 7, UserKey: fake.UserKey(0)})
		return err
	}
	first, second := register(), register()
	if first == nil || !strings.Contains(first.Error(), "status 429") || second == nil || strings.Contains(second.Error(), "status 429") {
		t.Errorf("%v; %v", first, second)
	}
	expect("GET", "/registrations", "", "[]")
	expect("POST", "/advance", `{"by":"1m"}`, `12:31:00Z`)
	expect("GET", "/registrations", "", `[{"time":"2025-06-01T12:31:00Z","user":0,"horse_number":1,"main_race_id":7,"entry_fee":1000000000000000000}]`)

	_, text := send(t, c, "GET", "/requests", "")
	var requests []struct {
		Method, Path, Body string
		Status             int
		Header             http.Header
	}
	if err := json.Unmarshal([]byte(text), &requests); err != nil || len(requests) != 2 || requests[0].Status != 429 || requests[0].Path != "/api/v1/races/register" ||
		!strings.Contains(requests[1].Body, `"main_race_id":7`) || requests[1].Header.Get("X-Api-Key") != fake.APIKey {
		t.Errorf("%v: %s", err, text)
	}
	expect("DELETE", "/requests", "", "{}")
	expect("GET", "/requests", "", "[]")

	expect("POST", "/faults", `[{"status":500,"times":-1}]`, `{"injected":1}`)
	expect("DELETE", "/faults", "", "{}")
	expect("POST", "/limits", `["1/h","inflight=4"]`, `{"limits":2}`)
	if _, err := client().Races.Get(t.Context(), 7); err != nil {
		t.Error(err)
	}
	if _, err := client().Races.Get(t.Context(), 7); err == nil {
		t.Error("beyond the limit")
	}
	expect("POST", "/limits", `[]`, `{"limits":0}`)
	expect("DELETE", "/races/7", "", "{}")
	if races, err := client().Races.Open(t.Context()); err != nil || len(races) != 0 {
		t.Errorf("%v: %v", races, err)
	}
}

func TestTheControlReportsWhatIsWrong(t *testing.T) {
	fake, c := controlled(t)
	origin := func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:9") }
	host := func(r *http.Request) { r.Host = "rebound.invalid" }
	for _, test := range []struct {
		method, path, body string
		change             []func(*http.Request)
		status             int
		words              string
	}{
		{"POST", "/advance", `{"by":"-1h"}`, nil, 400, "cannot be put back"},
		{"POST", "/advance", `{"by":"soon"}`, nil, 400, "soon"},
		{"POST", "/advance", `{"for":"1h"}`, nil, 400, "unknown field"},
		{"POST", "/advance", `{"by":"1h"}{}`, nil, 400, "goes on"},
		{"POST", "/faults", `[{"status":503},{"status":42}]`, nil, 400, "not the status of a response"},
		{"POST", "/faults", `{"status":503}`, nil, 400, "cannot unmarshal"},
		{"POST", "/races", `[{"main_race_id":8,"start_time":1748786400000},{"main_race_id":7}]`, nil, 400, "race 7 has no StartTime"},
		{"DELETE", "/races/first", "", nil, 400, "no main_race_id"},
		{"POST", "/limits", `["often"]`, nil, 400, "50/s"},
		{"GET", "/advance", "", nil, 405, ""},
		{"GET", "/nothing", "", nil, 404, ""},
		{"POST", "/advance", `{"by":"1h"}`, []func(*http.Request){origin}, 403, "not for web pages"},
		{"GET", "/", "", []func(*http.Request){host}, 403, "not for web pages"},
	} {
		status, text := send(t, c, test.method, test.path, test.body, test.change...)
		if status != test.status || !strings.Contains(text, test.words) {
			t.Errorf("%s %s %s: %d %s, want %d and %q", test.method, test.path, test.body, status, text, test.status, test.words)
		}
	}
	// What is refused leaves nothing behind.
	if _, text := send(t, c, "GET", "/", ""); !strings.Contains(text, "T12:00:00Z") {
		t.Errorf("the clock has moved: %s", text)
	}
	if races, err := fake.Client(horseracing.WithRetry(horseracing.Retry{Max: -1})).Races.Open(t.Context()); err != nil || len(races) != 0 {
		t.Errorf("%v: %v", races, err)
	}
}

func TestTheControlListensOnThisMachineOnly(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:0": true, "[::1]:8081": true, "localhost:8081": true, "127.8.8.8:1": true,
		":8081": false, "0.0.0.0:8081": false, "192.0.2.1:8081": false, "example.invalid:8081": false, "127.0.0.1": false, "": false,
	} {
		if isLoopback(addr) != want {
			t.Errorf("%q: loopback %v", addr, !want)
		}
	}
}
