package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	return variables(fake.URL, fake.APIKey, string(fake.UserKey(0)))
}

func variables(url, apiKey, userKey string) []string {
	return []string{"HORSERACING_BASE_URL=" + url, "HORSERACING_API_KEY=" + apiKey, "HORSERACING_USER_KEY=" + userKey}
}

// prepare returns the program as a process that has not started. It is killed
// when the test ends, or after minutes.
func prepare(t *testing.T, environment []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // unless it has ended: its files are removed next
	})
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

// expect requires a status, and words in what the program prints, or that it prints nothing.
func expect(t *testing.T, environment []string, want result, args ...string) {
	t.Helper()
	got := run(t, environment, args...)
	isOf := func(text, words string) bool { return strings.Contains(text, words) && (text == "") == (words == "") }
	if got.status != want.status || !isOf(got.stdout, want.stdout) || !isOf(got.stderr, want.stderr) {
		t.Errorf("%q: %+v, want %+v", args, got, want)
	}
}

// start starts the program, and returns what it prints. The errors are to be read once it ended.
func start(t *testing.T, environment []string, args ...string) (cmd *exec.Cmd, stdout io.ReadCloser, stderr *bytes.Buffer) {
	t.Helper()
	cmd, stderr = prepare(t, environment, args...), new(bytes.Buffer)
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd, stdout, stderr
}

// newFake returns a fake whose clock is stopped, so that its output does not
// change.
func newFake(t *testing.T, opts ...horseracingtest.Option) *horseracingtest.Server {
	t.Helper()
	fake := horseracingtest.NewServer(opts...)
	t.Cleanup(fake.Close)
	return fake
}

// openRace returns a race that costs 2.5 tokens, and closes and starts in an hour.
func openRace(fake *horseracingtest.Server, id horseracing.RaceID) horseracing.Race {
	at := horseracing.NewTimestamp(fake.Now().Add(time.Hour))
	return horseracing.Race{MainRaceID: id, StartTime: at, RegistrationDeadline: at, EntryFee: horseracing.NewBigInt(25e17)}
}

// onlyReads requires that at the end of the test nothing but reads was sent.
func onlyReads(t *testing.T, fake *horseracingtest.Server) {
	t.Cleanup(func() {
		for _, r := range fake.Requests() {
			if r.Method != "GET" {
				t.Errorf("%s %s was sent", r.Method, r.Path)
			}
		}
	})
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
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
	onlyReads(t, fake)
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
}

func TestAShortListingIsNotReadAhead(t *testing.T) {
	t.Parallel()
	for args, most := range map[string]int{"results -n 20": 3, "tournaments --finished -n 5": 1} {
		fake := newFake(t)
		if got := run(t, environment(fake), strings.Fields(args)...); got.status != 0 || fake.RequestCount() > most {
			t.Errorf("%s: %d requests, want at most %d: %+v", args, fake.RequestCount(), most, got)
		}
	}
}

func TestSeveralTiersArePrintedOneAfterAnother(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	read := func(more ...string) string {
		return run(t, environment(fake), append([]string{"results", "--since", "2025-05-25"}, more...)...).stdout
	}
	lines := strings.SplitAfter(read("--tier", "2")+read("--tier", "5"), "\n")
	n := len(lines) - 4
	if diff := cmp.Diff(strings.Join(lines[:n], ""), read("--tier", "2,5", "-n", fmt.Sprint(n))); diff != "" {
		t.Error(diff)
	}
}

func TestATierMayBeNamed(t *testing.T) {
	t.Parallel()
	fake, none := newFake(t), newFake(t, horseracingtest.WithSchedule(0))
	for _, test := range []struct {
		service *horseracingtest.Server
		args    string
		want    result
	}{
		{fake, "results -n 1 --tier omega", run(t, environment(fake), "results", "-n", "1")},
		{fake, "results -n 1 --tier Beta", run(t, environment(fake), "results", "-n", "1", "--tier", "2")},
		{fake, "results --tier Omgea", result{status: 2, stderr: "no tier is named Omgea, but there are 1 Alpha, 2 Beta, 3 Gamma, 4 Delta, 5 Omega"}},
		{fake, "open --tier foo", result{status: 2, stderr: "no tier is named foo, but there are 1 Alpha, 2 Beta, 3 Gamma, 4 Delta, 5 Omega"}},
		{none, "open --tier foo", result{stderr: "no open race of tier foo\n"}},
		{none, "open --tier foo --json", result{stderr: `{"level":"info","message":"no open race of tier foo"}`}},
	} {
		expect(t, environment(test.service), test.want, strings.Fields(test.args)...)
	}
	omega := openRace(none, 70_000)
	omega.Tier = "Omega"
	none.AddRaces(omega)
	expect(t, environment(none), result{stderr: "no open race fits\n"}, "open", "--level", "500")
	expect(t, environment(none), result{stderr: "--since is in the future\n"}, "results", "--since", "2999-01-01")
	expect(t, environment(none), result{stderr: "no open race of tier gamma\n"}, "open", "--tier", "gamma")
}

// The clock of this computer is years ahead of that of the fake.
func TestATimeAgoCountsFromTheEarlierClock(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	for _, command := range []string{"results", "tournaments --finished"} {
		args := strings.Fields(command)
		got := run(t, environment(fake), append(args, "--since", "7d")...)
		day := run(t, environment(fake), append(args, "--since", fake.Now().Add(-7*24*time.Hour-time.Minute).Format(time.RFC3339))...)
		if got.stdout == "" || !strings.HasPrefix(day.stdout, got.stdout) || strings.Count(got.stderr, "the clock of this computer differs") != 1 {
			t.Errorf("%s: %+v, want %s", command, got, day.stdout)
		}
	}
}

func TestAMistakeOrAnErrorIsOneSentenceAndAStatus(t *testing.T) {
	t.Parallel()
	fake, slow := newFake(t), newFake(t, horseracingtest.WithLatency(time.Hour))
	onlyReads(t, fake)
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	distrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	distrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	distrusted.StartTLS()
	t.Cleanup(distrusted.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
	t.Cleanup(proxy.Close)
	folder := t.TempDir()
	unfinished := filepath.Join(folder, "open.jsonl")
	writeFile(t, unfinished, `{"main_race_id":7,"start_time":1748782800000}`)
	with := func(variable string) []string { return append(environment(fake), variable) }
	const late = "it took longer than --timeout 50ms\n"
	for _, test := range []struct {
		environment []string
		args        string
		status      int
		words       string
	}{
		{with(""), "open --rate 0", 2, "want a number above zero"},
		{with(""), "watch --interval 1ms", 2, "--interval must be at least 1s"},
		{with(""), "results --tier 0", 2, "want tiers by number or by name, like 5 or 3,4"},
		{with(""), "results --tier 3,4 --follow", 2, "take one tier"},
		{with(""), "open --tier 5", 2, "want names of tiers, like Omega,Beta"},
		{with(""), "results --with-cursor", 2, "--with-cursor needs --cursor or --follow"},
		{with(""), "results -o f --table", 2, "--table and -o exclude each other"},
		{with(""), "results --cursor -", 2, "want the name of a file"},
		{with(""), "results -o /dev/null", 2, "is not a regular file"},
		{with(""), "results -o /dev/stdout", 2, "-o /dev/stdout is not a regular file: leave it out"},
		{with(""), "tournaments -n 2", 2, "--limit needs --finished"},
		{with(""), "register --demo --yes --horse 1 --race 1 --ledger f", 2, "leave --yes out"},
		{nil, "register --demo --horse 1 --race 1 --ledger " + filepath.Join(folder, "none"), 3, "GET /api/v1/races/1: not found"}, // by the fake
		{with(""), "call POST /api/v1/races/register {}", 2, "POST may change something: add --yes to send it"},
		{with(""), "call GET /api/v1/missions {", 2, "BODY is not JSON"},
		{with("HORSERACING_BASE_URL="), "open", 2, "horseracing open: set HORSERACING_BASE_URL, or try it with --demo (see horseracing -h)\n"},
		{with("HORSERACING_BASE_URL=game.test"), "open", 2, "horseracing open: HORSERACING_BASE_URL"},
		{with(`HORSERACING_API_KEY="key"`), "open", 2, "horseracing open: HORSERACING_API_KEY is in quotes: remove them (see horseracing -h)\n"},
		{with("HORSERACING_USER_KEY="), "owned", 2, "HORSERACING_USER_KEY"},
		{with("HORSERACING_API_KEY=wrong"), "watch", 4, "does not accept the API key: check HORSERACING_API_KEY\n"},
		{with("HORSERACING_API_KEY=wrong"), "doctor", 4, "horseracing doctor: the service does not accept the API key"},
		{with("HORSERACING_USER_KEY=key\n"), "open", 2, "horseracing open: HORSERACING_USER_KEY contains a newline"},
		{with("HORSERACING_BASE_URL=http://127.0.0.1:1"), "open", 5, "does not respond: check HORSERACING_BASE_URL"},
		{with("HORSERACING_BASE_URL=" + distrusted.URL), "open", 5, "SSL_CERT_FILE"},
		{append(with("HORSERACING_BASE_URL=https://game.test"), "HTTPS_PROXY="+proxy.URL), "open", 5, "through the proxy: check HTTPS_PROXY"},
		{append(with("HORSERACING_BASE_URL=https://game.test"), "HTTPS_PROXY=http://127.0.0.1:1"), "open", 5, "through the proxy: check HTTPS_PROXY"},
		{with("HORSERACING_BASE_URL=" + other.URL), "doctor", 1, "check the base URL"},
		{with(""), "horse 5000", 3, "GET /api/v1/horses/5000: status 404 Not Found"},
		{with(""), "race 99 --json", 3, `{"error":{"code":"not_found","message":"GET /api/v1/races/99: not found: status 200 OK, ` +
			`but the response does not contain it","operation":"GET /api/v1/races/99","status":200}}`},
		{with(""), "race one --json", 2, `{"error":{"code":"usage","message":"\"one\" is not a number above zero"}}`},
		{with(""), "resluts", 2, `unknown command "resluts" for "horseracing": did you mean results? (see horseracing -h)`},
		{with(""), "open --timeout 5", 2, `invalid argument "5" for --timeout: want a time like 30s, 10m or 24h (see`},
		{with(""), "results -n x", 2, `invalid argument "x" for --limit: want a whole number (see`},
		{with(""), "open --teir omega", 2, "unknown flag: --teir: did you mean --tier? (see"},
		{with(""), "results extra", 2, "horseracing results: it takes no arguments (see"},
		{with(""), "results -o", 2, "an argument is missing: -o FILE (see"},
		{with(""), "open --tier", 2, "an argument is missing: --tier NAMES (see"},
		{with(""), "results --since 2025-06-01T11:59 --before 2025-06-01T11:59", 0, "no finished race was found\n"},
		{with(""), "register --race 7 --horse 1", 2, "what is missing: --ledger FILE, which is created if it does not exist (see"},
		{with("HORSERACING_USER_KEY=other"), "owned", 4, "horseracing owned: check HORSERACING_USER_KEY: GET /api/v1/horses/user: status 403"},
		{with(""), "race", 2, "horseracing race: usage: horseracing race ID… [flags] (see horseracing race -h)\n"},
		{with(""), "help foo", 2, `there is no command or topic "foo"`},
		{with(""), "results --cursor /nowhere/at/all", 1, "/nowhere/at/all"},
		{with(""), "register --horse 1 --race 99999 --yes --ledger /nowhere/l", 6, "/nowhere/l"}, // before the race is read
		{with(""), "ledger --settle " + filepath.Join(folder, "none"), 1, "there is no ledger " + folder},
		{environment(slow), "open --timeout 50ms", 5, late},
		{environment(slow), "watch --timeout 50ms", 5, late},
		{environment(slow), "results --follow --timeout 50ms", 5, late},
		{environment(slow), "register --horse 1 --race 7 --yes --timeout 50ms --ledger " + filepath.Join(folder, "paid"), 5, late},
		{nil, "fake --history " + unfinished, 1, "line 1 is not a finished race"},
		{nil, "fake --addr " + strings.TrimPrefix(other.URL, "http://"), 1, "listen tcp"},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel() // some wait before they retry
			got := run(t, test.environment, strings.Fields(test.args)...)
			if got.status != test.status || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, test.words) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestAnErrorThatQuotesTheOwnersKeyIsRedacted(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	fake.Inject(horseracingtest.Fault{Status: 400, Body: "no " + string(fake.UserKey(0)), Times: -1})
	for _, args := range []string{"open", "horse 1", "call GET /api/v1/races/open", "register --horse 1 --race 7 --ledger /nowhere/l"} {
		got := run(t, environment(fake), strings.Fields(args)...)
		if got.status != 1 || strings.Contains(got.stderr, string(fake.UserKey(0))) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func TestWhatWasFoundIsPrintedBesideAnError(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	const broken = `[{"main_race_id":1},{"main_race_id":2,"entry_fee":[]},{"main_race_id":3,"length":[]}]`
	fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/open", Status: 200, Body: broken})
	for _, test := range []struct {
		args          string
		status, lines int
		words         []string
	}{
		{"horse 5000 7", 3, 1, []string{"5000"}},
		{"race 99999 3000", 3, 1, []string{"99999"}},
		{"open", 1, 2, []string{"entry_fee", "[].length is not of the documented type", "1 entries could not be read"}},
	} {
		got := run(t, environment(fake), strings.Fields(test.args)...)
		isMissing := func(words string) bool { return !strings.Contains(got.stderr, words) }
		if got.status != test.status || strings.Count(got.stdout, "\n") != test.lines || slices.ContainsFunc(test.words, isMissing) {
			t.Errorf("%s: %+v", test.args, got)
		}
	}
}

func TestHelpGoesToStandardOutput(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"": "Register horses:", "results -h": "Usage:", "help status": "143  terminated", "version": horseracing.Version,
	} {
		expect(t, nil, result{stdout: want}, strings.Fields(args)...)
	}
}

func TestCallPrintsTheBodyAsItWasReceived(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	fake.Handle("/api/v9/echo", func(r horseracingtest.Request) (horseracingtest.Response, bool) {
		return horseracingtest.Response{Body: r.Method + ` { "got":` + string(r.Body) + ` }`}, true
	})
	expect(t, environment(fake), result{stdout: `GET { "got":{} }`}, "call", "GET", "/api/v9/echo", "{}")
	expect(t, environment(fake), result{stdout: `POST { "got":{} }`}, "call", "post", "/api/v9/echo", "{}", "--yes")
}

func TestParseTimeReadsDatesAndAges(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"30d":                  "2026-01-30T12:00:00Z",
		"1.5d":                 "2026-02-28T00:00:00Z",
		"2025-06-01":           "2025-06-01T00:00:00Z",
		"2025-06-01 08:30":     "2025-06-01T08:30:00Z",
		"2025-06-01T08:30:00Z": "2025-06-01T08:30:00Z",
		"":                     "", "-1d": "", "30": "", "1e9d": "", "now": "", // mistakes
	} {
		if got, err := parseTime(text, now); (err == nil) != (want != "") || err == nil && got.Format(time.RFC3339) != want {
			t.Errorf("%q: %v, %v; want %s", text, got, err, want)
		}
	}
}
