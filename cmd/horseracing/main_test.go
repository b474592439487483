package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// asProgram makes the test binary be the program.
const asProgram = "HORSERACING_TEST_RUNS_AS_PROGRAM"

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// environment names a service, and its first user.
func environment(fake *horseracingtest.Server) []string {
	return []string{
		"HORSERACING_BASE_URL=" + fake.URL,
		"HORSERACING_API_KEY=" + fake.APIKey,
		"HORSERACING_USER_KEY=" + string(fake.UserKey(0)),
	}
}

// prepare returns the program as a process that has not started. It is killed
// when the test ends, or after minutes.
func prepare(t *testing.T, environment []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "HORSERACING_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(append(cmd.Env, asProgram+"=1"), environment...)
	return cmd
}

// result is what a process printed.
type result struct {
	stdout, stderr string
	status         int
}

// run runs the program to its end.
func run(t *testing.T, environment []string, args ...string) result {
	t.Helper()
	cmd := prepare(t, environment, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // its status counts
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// start starts the program, and returns what it prints.
func start(t *testing.T, environment []string, args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := prepare(t, environment, args...)
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(stdout)
}

// newFake returns a fake whose clock is stopped, so that its output does not
// change.
func newFake(t *testing.T, opts ...horseracingtest.Option) *horseracingtest.Server {
	t.Helper()
	fake := horseracingtest.NewServer(opts...)
	t.Cleanup(fake.Close)
	return fake
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), go test -update accepts it:\n%s", path, diff)
	}
}

func TestEveryCommandPrintsATableAndJSONLines(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	for name, args := range map[string][]string{
		"open":                 {"open"},
		"results":              {"results", "-n", "3"},
		"race":                 {"race", "2999", "3000"},
		"horse":                {"horse", "7", "5"},
		"owned":                {"owned"},
		"breeding":             {"breeding"},
		"tournaments":          {"tournaments"},
		"tournaments-finished": {"tournaments", "--finished", "-n", "2"},
		"catalogue":            {"catalogue"},
		"tiers":                {"tiers"},
		"open-filtered":        {"open", "--tier", "omega", "--level", "12", "--max-fee", "5"},
		"missions":             {"missions", "1"},
	} {
		for _, form := range []string{"json", "table"} {
			t.Run(name+"."+form, func(t *testing.T) {
				t.Parallel()
				got := run(t, environment(fake), append(args, "--"+form)...)
				if got.status != 0 || got.stderr != "" {
					t.Errorf("status %d: %s", got.status, got.stderr)
				}
				golden(t, name+"."+form, got.stdout)
			})
		}
	}
	t.Cleanup(func() {
		for _, r := range fake.Requests() {
			if r.Method != "GET" {
				t.Errorf("a command that reads sent %s %s", r.Method, r.Path)
			}
		}
	})
}

func TestAShortListingIsNotReadAhead(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]int{"results -n 20": 3, "tournaments --finished -n 5": 1, "results -n 20 --concurrency 8": 0} {
		fake := newFake(t)
		if got := run(t, environment(fake), strings.Fields(args)...); got.status != 0 || want > 0 && fake.RequestCount() > want {
			t.Errorf("%s: %d requests, want at most %d: %+v", args, fake.RequestCount(), want, got)
		}
	}
}

func TestSeveralTiersArePrintedOneAfterAnother(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	read := func(more ...string) string {
		return run(t, environment(fake), append([]string{"results", "--since", "2025-05-25"}, more...)...).stdout
	}
	all := read("--tier", "2") + read("--tier", "5")
	lines := strings.SplitAfter(all, "\n")
	few := strings.Join(lines[:len(lines)-4], "")
	if got := read("--tier", "2,5"); got != all {
		t.Errorf("%d bytes, want %d", len(got), len(all))
	}
	if got := read("--tier", "2,5", "-n", fmt.Sprint(len(lines)-4)); got != few {
		t.Errorf("with -n: %d bytes, want %d", len(got), len(few))
	}
}

func TestMistakesAreOneSentence(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	for _, test := range []struct {
		args  string
		words string
	}{
		{"open --rate 0", "want a number above zero"},
		{"watch --interval 1ms", "--interval must be at least 1s"},
		{"open --timeout -1s", "--timeout must be above zero"},
		{"race first", `"first" is not a number above zero`},
		{"results --tier 0", "want numbers of tiers, like 5 or 3,4"},
		{"results --tier 3,4 --follow", "take one tier"},
		{"open --tier 5", "want names of tiers, like Omega,Beta"},
		{"results -n 0", "-n must be at least 1"},
		{"results --concurrency 2000", "--concurrency must be between 1 and 1000"},
		{"results --interval 1s", "--interval needs --follow"},
		{"results --with-cursor", "--with-cursor needs --cursor or --follow"},
		{"results -o f -n 3", "[limit out] were all set"},
		{"results -o f --table", "--table and -o exclude each other"},
		{"results --cursor -", "want the name of a file"},
		{"results --out=", "want the name of a file"},
		{"results -o /dev/null", "is not a regular file"},
		{"tournaments -n 2", "--limit needs --finished"},
		{"register --demo --horse 1 --race 1 --ledger f", "unknown flag: --demo"},
		{"results --since yesterday", "want 30d, 12h, a date like 2025-06-01"},
		{"tournaments --finished 1", "--finished takes no ids"},
		{"call POST /api/v1/races/register {}", "POST may change something: add --yes to send it"},
		{"call GET /api/v1/missions {", "BODY is not JSON"},
	} {
		got := run(t, environment(fake), strings.Fields(test.args)...)
		if got.status != 2 || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, test.words) {
			t.Errorf("%s: status %d, %s", test.args, got.status, got.stderr)
		}
	}
	for _, missing := range []string{"HORSERACING_BASE_URL", "HORSERACING_API_KEY"} {
		const words = "horseracing open: set HORSERACING_BASE_URL and HORSERACING_API_KEY, or try it with --demo (see horseracing open -h)\n"
		if got := run(t, append(environment(fake), missing+"="), "open"); got.status != 2 || got.stderr != words {
			t.Errorf("without %s: status %d, %s", missing, got.status, got.stderr)
		}
	}
	for _, pasted := range []string{"HORSERACING_BASE_URL=game.test", "HORSERACING_API_KEY=\"key\""} {
		name, _, _ := strings.Cut(pasted, "=")
		if got := run(t, append(environment(fake), pasted), "open"); got.status != 2 || !strings.HasPrefix(got.stderr, "horseracing open: "+name) {
			t.Errorf("%s: %+v", pasted, got)
		}
	}
	if got := run(t, append(environment(fake), "HORSERACING_USER_KEY="), "owned"); got.status != 2 || !strings.Contains(got.stderr, "HORSERACING_USER_KEY") {
		t.Errorf("without an owner: %+v", got)
	}
	for _, request := range fake.Requests() {
		if request.Method != "GET" {
			t.Errorf("%s was sent", request.Method)
		}
	}
}

func TestErrorsAreOneSentenceAndAStatus(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	unfinished := filepath.Join(t.TempDir(), "open.jsonl")
	if err := os.WriteFile(unfinished, []byte(`{"main_race_id":7,"start_time":1748782800000}`), 0o600); err != nil {
		t.Fatal(err)
	}
	with := func(variable string) []string { return append(environment(fake), variable) }
	for _, test := range []struct {
		environment []string
		args        string
		status      int
		stderr      string
	}{
		{with("HORSERACING_API_KEY=wrong"), "watch", 4, "horseracing watch: the service does not accept the API key: check HORSERACING_API_KEY\n"},
		{with("HORSERACING_API_KEY=wrong"), "doctor", 4, "horseracing doctor: the service does not accept the API key"},
		{with("HORSERACING_BASE_URL=http://127.0.0.1:1"), "open", 5, "check HORSERACING_BASE_URL"},
		{with("HORSERACING_BASE_URL=" + other.URL), "doctor", 1, "check the base URL"},
		{environment(fake), "horse 5000", 3, "GET /api/v1/horses/5000: status 404 Not Found"},
		{environment(fake), "race 99999", 3, "99999"},
		{environment(fake), "results --cursor /nowhere/at/all", 1, "/nowhere/at/all"},
		{environment(fake), "register --horse 1 --race 99999 --yes --ledger /nowhere/l", 6, "/nowhere/l"}, // before the race is read
		{nil, "fake --fail 120%", 2, "between 0% and 100%"},
		{nil, "fake --limit often", 2, "50/s"},
		{nil, "fake --history fake_test.go", 1, "fake_test.go, line 1 is not a finished race"},
		{nil, "fake --history " + unfinished, 1, "line 1 is not a finished race"},
		{nil, "fake --history " + os.DevNull, 1, "has no race"},
		{nil, "fake --addr " + strings.TrimPrefix(other.URL, "http://"), 1, "listen tcp"},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel() // some wait before they retry
			got := run(t, test.environment, strings.Fields(test.args)...)
			if got.status != test.status || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, test.stderr) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestAnErrorThatQuotesTheOwnersKeyIsRedacted(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	fake.Inject(horseracingtest.Fault{Status: 400, Body: "no " + string(fake.UserKey(0)), Times: -1})
	for _, args := range []string{"open", "horse 1", "call GET /api/v1/races/open", "register --horse 1 --race 7 --ledger " + filepath.Join(t.TempDir(), "l")} {
		if got := run(t, environment(fake), strings.Fields(args)...); got.status != 1 || strings.Contains(got.stderr, string(fake.UserKey(0))) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// TestWhatWasFoundIsPrintedBesideAnError is about requests of several things.
func TestWhatWasFoundIsPrintedBesideAnError(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	for _, args := range []string{"horse 5000 7", "race 99999 3000"} {
		got := run(t, environment(fake), strings.Fields(args)...)
		if got.status != 3 || strings.Count(got.stdout, "\n") != 1 || got.stderr == "" {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func TestAnEntryThatCannotBeReadDoesNotHideTheOthers(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	fake.Handle("GET /api/v1/races/open", func(horseracingtest.Request) (horseracingtest.Response, bool) {
		return horseracingtest.Response{Body: `[{"main_race_id":1},{"main_race_id":2,"entry_fee":[]},{"main_race_id":3,"length":[]}]`}, true
	})
	fake.Handle("GET /api/v2/races/results", func(r horseracingtest.Request) (horseracingtest.Response, bool) {
		const last = `{"main_race_id":1,"start_time":1748000001000}]`
		switch string(r.Body) {
		case `{"tier":5}`:
			return horseracingtest.Response{Body: `[{"main_race_id":3,"start_time":1748000003000,"length":[]},{"main_race_id":2,"start_time":1748000002000,"entry_fee":[]},` + last}, true
		case `{"tier":5,"start_time_from":1748000001001}`:
			return horseracingtest.Response{Body: "[" + last}, true
		}
		return horseracingtest.Response{Body: "[]"}, true
	})
	for _, command := range []string{"open", "results"} {
		got := run(t, environment(fake), command)
		if got.status != 1 || strings.Count(got.stdout, "\n") != 2 || !strings.Contains(got.stderr, "entry_fee") || !strings.Contains(got.stderr, "[].length is not of the documented type") {
			t.Errorf("%s: %+v", command, got)
		}
	}
}

func TestHelpGoesToStandardOutput(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{"": "Available Commands:", "results -h": "Usage:", "help status": "143  terminated", "help amounts": "of 18 decimal", "version": horseracing.Version} {
		if got := run(t, nil, strings.Fields(args)...); got.status != 0 || got.stderr != "" || !strings.Contains(got.stdout, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func TestCallPrintsTheBodyAsItWasReceived(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	fake.Handle("/api/v9/echo", func(r horseracingtest.Request) (horseracingtest.Response, bool) {
		return horseracingtest.Response{Body: `{ "got":` + string(r.Body) + ` }`}, true
	})
	for _, args := range [][]string{
		{"call", "GET", "/api/v9/echo", `{"a": 1}`},
		{"call", "POST", "/api/v9/echo", `{"a": 1}`, "--yes"},
	} {
		if got := run(t, environment(fake), args...); got != (result{stdout: `{ "got":{"a": 1} }`}) && got != (result{stdout: `{ "got":{"a":1} }`}) {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

func TestParseTimeReadsDatesAndAges(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"30d":                  "2026-01-30T12:00:00Z",
		"1.5d":                 "2026-02-28T00:00:00Z",
		"2025-06-01":           "2025-06-01T00:00:00Z",
		"2025-06-01 08:30":     "2025-06-01T08:30:00Z",
		"2025-06-01T08:30:00Z": "2025-06-01T08:30:00Z",
	} {
		if got, err := parseTime(text, now); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%s: %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1d", "30", "1e9d", "now"} {
		if got, err := parseTime(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
