package control

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

const noon = "2025-06-01T12:00:00Z"

// controlled starts a fake whose clock is stopped at noon, and returns the URL of
// its control.
func controlled(t *testing.T, opts ...horseracingtest.Option) (fake *horseracingtest.Server, url string) {
	t.Helper()
	clock := NewClock(time.Time{})
	fake = horseracingtest.NewServer(append(opts, horseracingtest.WithSchedule(0), horseracingtest.WithClock(clock.Now))...)
	t.Cleanup(fake.Close)
	server := httptest.NewServer(New(fake, clock))
	t.Cleanup(server.Close)
	if status, text := send(t, server.URL, "POST", "/reset", `{"now":"`+noon+`","still":true}`); status != http.StatusOK {
		t.Fatal(text)
	}
	return fake, server.URL
}

// send sends a request to the control, and returns its status and response.
func send(t *testing.T, url, method, path, body string, change ...func(*http.Request)) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
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
	fake, url := controlled(t)
	// A client of its own for each call: one that was refused would heed it.
	client := func() *horseracing.Client { return fake.Client(horseracing.WithRetry(horseracing.Retry{Max: -1})) }
	expect := func(method, path, body, want string) {
		t.Helper()
		if status, text := send(t, url, method, path, body); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s %s %s: %d %s, want %s", method, path, body, status, text, want)
		}
	}
	expect("GET", "/", "", `"api_key":"`+fake.APIKey+`"`)
	expect("GET", "/", "", `"users":[{"horses":[1,2,3,4,5,6],"user_key":"`+string(fake.UserKey(0))+`"}`)
	expect("POST", "/races", `[{"main_race_id":7,"start_time":1748786400000,"registration_deadline":1748786000000,"entry_fee":1000000000000000000}]`, `{"count":1}`)
	expect("POST", "/advance", `{"by":"30m"}`, `{"now":"2025-06-01T12:30:00Z","still":true}`)

	expect("POST", "/faults", `[{"method":"POST","status":429,"header":{"Retry-After":["3600"]}},{"method":"POST","path":"/api/v1/races/register","takes_effect_after":"1m"}]`, `{"count":2}`)
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
	expect("GET", "/registrations", "", `[{"entry_fee":1000000000000000000,"horse_number":1,"main_race_id":7,"time":"2025-06-01T12:31:00Z","user":0}]`)

	_, text := send(t, url, "GET", "/requests", "")
	var requests []struct {
		Method, Path, Body string
		Status             int
		Header             http.Header
	}
	if err := json.Unmarshal([]byte(text), &requests); err != nil || len(requests) != 2 || requests[0].Status != 429 || requests[0].Path != "/api/v1/races/register" ||
		!strings.Contains(requests[1].Body, `"main_race_id":7`) || !strings.HasPrefix(requests[1].Header.Get("X-Api-Key"), fake.APIKey[:8]) ||
		strings.Contains(text, fake.APIKey) || strings.Contains(text, string(fake.UserKey(0))) {
		t.Errorf("%v: %s", err, text)
	}
	expect("POST", "/limits", `["1/h","inflight=4"]`, `{"count":2}`)
	if _, err := client().Races.Get(t.Context(), 7); err != nil {
		t.Error(err)
	}
	if _, err := client().Races.Get(t.Context(), 7); err == nil {
		t.Error("beyond the limit")
	}
	expect("POST", "/limits", `[]`, `{"count":0}`)
	expect("DELETE", "/races/7", "", "{}")
	expect("DELETE", "/requests", "", "{}")
	if races, err := client().Races.Open(t.Context()); err != nil || len(races) != 0 || fake.RequestCount() != 1 {
		t.Errorf("%v: %v; %d requests", races, err, fake.RequestCount())
	}
}

func TestWebPagesCannotControlTheFake(t *testing.T) {
	_, url := controlled(t)
	for name, test := range map[string]struct {
		change func(*http.Request)
		status int
	}{
		"a program":           {func(r *http.Request) { r.Host = "[::1]:8081" }, 200},
		"localhost":           {func(r *http.Request) { r.Host = "localhost:8081" }, 200},
		"a page":              {func(r *http.Request) { r.Header.Set("Origin", "https://page.example") }, 403},
		"a page's GET":        {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		"typed in a browser":  {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "none") }, 200},
		"a file as a page":    {func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		"a name of one's own": {func(r *http.Request) { r.Host = "page.example:8081" }, 403},
	} {
		if status, text := send(t, url, "POST", "/advance", `{"by":"1h"}`, test.change); status != test.status {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
}

func readDocs(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "fake.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheCurlCommandsOfTheDocsWork(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl")
	}
	fake, url := controlled(t)
	commands := regexp.MustCompile(`(?m)^\$ (curl .*)$`).FindAllStringSubmatch(readDocs(t), -1)
	if len(commands) < 9 {
		t.Fatalf("%d commands", len(commands))
	}
	for _, command := range commands {
		line := strings.NewReplacer("http://127.0.0.1:8081", url, "http://127.0.0.1:8080", fake.URL,
			"$KEY", fake.APIKey, "$USER_KEY", string(fake.UserKey(0))).Replace(command[1])
		out, err := exec.CommandContext(t.Context(), "sh", "-c", line).Output()
		if err != nil || !json.Valid(out) || strings.Contains(string(out), `"error"`) {
			t.Errorf("%s: %v: %s", line, err, out)
		}
	}
	if registrations := fake.Registrations(); len(registrations) != 1 || registrations[0].Horse != 1 {
		t.Errorf("registrations: %+v", registrations)
	}
}

func TestThePythonTestOfTheDocsPasses(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	_, url := controlled(t)
	_, code, _ := strings.Cut(readDocs(t), "```python\n")
	code, _, found := strings.Cut(code, "```")
	if !found {
		t.Fatal("docs/fake.md has no code in Python")
	}
	command := exec.CommandContext(t.Context(), python, "-")
	command.Stdin = strings.NewReader(strings.ReplaceAll(code, "http://127.0.0.1:8081", url))
	if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), "Ran 1 test") {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestTheControlReportsWhatIsWrongInWordsForUsers(t *testing.T) {
	fake, url := controlled(t)
	for _, test := range []struct {
		method, path, body string
		status             int
		words              string
	}{
		{"POST", "/advance", `{"by":"9000h"}`, 400, "at most 366 days ahead of the start, 2025-06-01T12:00:00Z"},
		{"POST", "/advance", `{"by":"soon"}`, 400, `"soon" is not a duration like 250ms or 1h30m`},
		{"POST", "/advance", `{"for":"1h"}`, 400, `there is no member "for"`},
		{"POST", "/advance", ``, 400, `the request body is empty: it must be like {"by":"1h30m"}`},
		{"POST", "/clock", `{"now":"2025-06-01T11:59:59Z"}`, 400, "cannot be put back"},
		{"POST", "/reset", `{"now":"0001-01-01T00:00:00Z"}`, 400, "the years 2000 to 2100, not 1"},
		{"POST", "/faults", `[{"status":503},{"status":42}]`, 400, "fault 2 of 2: status 42 is not the status of a response"},
		{"POST", "/faults", `[{"status":"503"}]`, 400, "status cannot be of type string"},
		{"POST", "/races", `[{"main_race_id":8,"start_time":1748786400000},{"main_race_id":7}]`, 400, "race 7 has no start_time"},
		{"DELETE", "/races/first", "", 400, `"first" is not a main_race_id`},
		{"POST", "/tournaments", `[{"_id":"cup","start_time":1748786400000},{"name":"Cup"}]`, 400, "a tournament to add has no _id"},
		{"POST", "/horses", `[{"number":1,"name":"Changed"},{"name":"Comet"}]`, 400, "a horse to add has the number 0"},
		{"POST", "/users/9/horses", `[{"number":5000}]`, 400, "there is no user 9, only 0 to 3"},
		{"POST", "/missions", `[{"number":1,"missions":[]},{"number":5000}]`, 400, "missions of horse 5000, which does not exist"},
		{"POST", "/catalogue", `[]`, 400, "must be a mission catalogue: it cannot be of type array"},
		{"POST", "/limits", `["10/x"]`, 400, `limit "10/x": after the slash goes s, m, h or a duration such as 10s, not "x"`},
		{"GET", "/advance", "", 405, "/advance takes POST, not GET"},
		{"GET", "/nothing", "", 404, "there is no /nothing"},
	} {
		status, text := send(t, url, test.method, test.path, test.body)
		var response struct{ Error string }
		err := json.Unmarshal([]byte(text), &response)
		if status != test.status || err != nil || !strings.Contains(response.Error, test.words) {
			t.Errorf("%s %s %s: %d %s, want %d and %q", test.method, test.path, test.body, status, text, test.status, test.words)
		}
		if types := regexp.MustCompile(`horseracing(test)?\.|control\.|\bGo\b|\[\]|Unmarshal`).FindString(response.Error); types != "" {
			t.Errorf("%s %s %s: words of Go: %s", test.method, test.path, test.body, text)
		}
	}
	// What is refused changes nothing.
	if _, text := send(t, url, "GET", "/", ""); !strings.Contains(text, noon) {
		t.Errorf("the clock has moved: %s", text)
	}
	client := fake.Client(horseracing.WithRetry(horseracing.Retry{Max: -1}))
	if races, err := client.Races.Open(t.Context()); err != nil || len(races) != 0 {
		t.Errorf("races %v: %v", races, err)
	}
	if tournaments, err := client.Tournaments.Open(t.Context()); err != nil || len(tournaments) != 0 {
		t.Errorf("tournaments %v: %v", tournaments, err)
	}
	if horse, err := client.Horses.Get(t.Context(), 1); err != nil || horse.Name == "Changed" {
		t.Errorf("horse %v: %v", horse, err)
	}
	if missions, err := client.Horses.Missions(t.Context(), 1); err != nil || len(missions.Missions) == 0 {
		t.Errorf("missions %v: %v", missions, err)
	}
}

func TestTheStateOfTheFakeIsSetAsInGo(t *testing.T) {
	fake, url := controlled(t)
	for _, test := range []struct{ set, body, path, want string }{
		{"/races", `[{"main_race_id":7,"start_time":1748786400000,"max_level":20}]`, "races/7", `"max_level":20`},
		{"/tournaments", `[{"_id":"cup","start_time":1748786400000,"name":"Cup"}]`, "tournaments/cup", `"name":"Cup"`},
		{"/users/0/horses", `[{"number":5000,"name":"Comet"}]`, "horses/5000", `"name":"Comet"`},
		{"/horses", `[{"number":5001,"name":"Nobody's"}]`, "horses/5001", `"name":"Nobody's"`},
		{"/breeding", `[{"number":5001,"price":3}]`, "horses/breeding/open", `"number":5001`},
		{"/missions", `[{"number":5000,"missions":[{"type":"rare"}]}]`, "horses/missions/5000", `"type":"rare"`},
		{"/catalogue", `{"daily":[],"weekly":[],"monthly":[]}`, "missions", `"daily":[]`},
	} {
		if status, text := send(t, url, "POST", test.set, test.body); status != http.StatusOK {
			t.Errorf("%s: %d %s", test.set, status, text)
		}
		key := func(r *http.Request) {
			r.Header.Set("x-api-key", fake.APIKey)
			r.Header.Set("content-type", "application/json")
		}
		if _, text := send(t, fake.URL, "GET", "/api/v1/"+test.path, "", key); !strings.Contains(text, test.want) {
			t.Errorf("after %s: %s, want %s", test.set, text, test.want)
		}
	}
	if owned := fake.Horses(0); owned[len(owned)-1] != 5000 {
		t.Errorf("user 0 owns %v", owned)
	}
}

func TestTheClockStandsStillRunsAndIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := NewClock(time.Time{})
		fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(clock.Now))
		defer fake.Close()
		handler := New(fake, clock)
		post := func(path, body string) {
			t.Helper()
			r := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(body))
			r.Host = "localhost"
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				t.Errorf("%s %s: %s", path, body, w.Body)
			}
		}
		expect := func(want time.Time) {
			t.Helper()
			if now := fake.Now(); !now.Equal(want) {
				t.Errorf("the clock shows %v, want %v", now, want)
			}
		}
		expect(time.Now())
		post("/clock", `{"still":true}`)
		stopped := time.Now()
		time.Sleep(time.Hour)
		expect(stopped)
		post("/advance", `{"by":"30m"}`)
		expect(stopped.Add(30 * time.Minute))
		post("/clock", `{"still":false}`)
		time.Sleep(time.Hour)
		expect(stopped.Add(90 * time.Minute))
		post("/reset", `{"now":"`+noon+`","still":true}`)
		post("/clock", `{"now":"2025-06-02T00:00:00Z"}`)
		time.Sleep(time.Hour)
		expect(time.Date(2025, time.June, 2, 0, 0, 0, 0, time.UTC))
		post("/reset", "")
		expect(time.Now())
	})
}

func TestAResetBringsBackTheFaultsOfTheStart(t *testing.T) {
	clock := NewClock(time.Time{})
	fake := horseracingtest.NewServer(horseracingtest.WithClock(clock.Now))
	defer fake.Close()
	server := httptest.NewServer(New(fake, clock, horseracingtest.Fault{Status: 418, Times: -1}))
	defer server.Close()
	status := func() int {
		_, err := fake.Client().Races.Open(t.Context())
		if api, ok := errors.AsType[*horseracing.APIError](err); ok {
			return api.StatusCode
		}
		return 200
	}
	got := []int{status()}
	send(t, server.URL, "DELETE", "/faults", "")
	got = append(got, status())
	send(t, server.URL, "POST", "/reset", "")
	got = append(got, status())
	if diff := cmp.Diff([]int{418, 200, 418}, got); diff != "" {
		t.Error(diff)
	}
}
