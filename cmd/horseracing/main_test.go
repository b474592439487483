package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// asProgram makes the test binary be the program.
const asProgram = "HORSERACING_TEST_RUNS_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Setenv("XDG_CONFIG_HOME", filepath.Join(os.TempDir(), "horseracing-without-profiles"))
	signal.Notify(make(chan os.Signal, 1), syscall.Signal(1)) // under nohup the processes of tests would ignore a HUP
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
	own := t.TempDir() // of the profiles and ids, unless environment names it
	cmd.Env = append(append(cmd.Env, asProgram+"=1", "XDG_CONFIG_HOME="+own, "XDG_CACHE_HOME="+own), environment...)
	return cmd
}

// result is what a process printed.
type result struct {
	stdout, stderr string
	status         int
}

func (r result) Equal(other result) bool { return r == other } // for go-cmp

// run runs the program to its end.
func run(t *testing.T, environment []string, args ...string) result {
	t.Helper()
	return finish(prepare(t, environment, args...))
}

// finish runs a program to its end.
func finish(cmd *exec.Cmd) result {
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
	double.FailIf(t, got.status != want.status || !isOf(got.stdout, want.stdout) || !isOf(got.stderr, want.stderr), "%q: %+v, want %+v", args, got, want)
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
	double.NoError(t, err)
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
			double.FailIf(t, r.Method != "GET", "%s %s was sent", r.Method, r.Path)
		}
	})
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	double.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

// What each command prints for programs and for people, and what was found is printed beside an
// error.
func TestEveryCommandPrintsATableAndJSONLines(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	onlyReads(t, fake)
	transcript(t, fake, "commands", nil)
}

// Each is one sentence and a status. Nothing is printed to standard output.
func TestAMistakeOrAnErrorIsOneSentenceAndAStatus(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	onlyReads(t, fake)
	other, distrusted := httptest.NewServer(http.NotFoundHandler()), httptest.NewUnstartedServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	distrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	distrusted.StartTLS()
	t.Cleanup(distrusted.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
	t.Cleanup(proxy.Close)
	quoting := newFake(t)
	quoting.Inject(horseracingtest.Fault{Status: 400, Body: "no " + string(fake.UserKey(0)), Times: -1})
	transcript(t, fake, "mistakes", map[string]string{
		"SLOW": newFake(t, horseracingtest.WithLatency(time.Hour)).URL, "OTHER": other.URL, "ADDRESS": strings.TrimPrefix(other.URL, "http://"),
		"DISTRUSTED": distrusted.URL, "PROXY": proxy.URL, "QUOTING": quoting.URL, "USERKEY": string(fake.UserKey(0)), "LINES": "lines\n",
	})
}

func TestTheFlagsOfListsSelectSortAndFormat(t *testing.T) {
	t.Parallel()
	transcript(t, newFake(t), "lists", nil)
}

// The environment wins over a profile, whose keys go to its own address alone; a file that others
// can read is refused.
func TestAProfileIsUsedAndItsKeysAreForItsAddress(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	transcript(t, fake, "profiles", map[string]string{"KEY": fake.APIKey, "USER": string(fake.UserKey(0))})
}

func TestATierMayBeNamed(t *testing.T) {
	t.Parallel()
	none := newFake(t, horseracingtest.WithSchedule(0))
	omega := openRace(none, 70_000)
	omega.Tier = "Omega"
	one := newFake(t, horseracingtest.WithSchedule(0))
	one.AddRaces(omega)
	transcript(t, newFake(t), "tiers", map[string]string{"NONE": none.URL, "ONE": one.URL})
}

func TestCallPrintsTheBodyAsItWasReceived(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	fake.Handle("/api/v9/echo", func(r horseracingtest.Request) (horseracingtest.Response, bool) {
		return horseracingtest.Response{Body: r.Method + ` { "got":` + string(r.Body) + ` }`}, true
	})
	transcript(t, fake, "call", nil)
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
		got, err := parseTime(text, now)
		double.FailIf(t, (err == nil) != (want != "") || err == nil && got.Format(time.RFC3339) != want, "%q: %v, %v; want %s", text, got, err, want)
	}
}

// transcript runs the command lines of a file of testdata one after another, as the first user
// of a fake, and compares what they print with the lines that follow them.
//
//	$ HORSERACING_API_KEY=wrong horseracing open
//	standard output
//	! standard error
//	status 4
//
// Warnings about retries are left out.
//
// The status follows if it is not 0. $NAME stands for a value of places: $URL of the fake, $DIR a
// folder, $OWN that of profiles, $NOTHING, and those of the test. After env -i no variable is set.
//
// Other commands are fault JSON, which injects a fault, advance TIME, which advances the clock of
// the fake, race JSON, which adds a race, paid and requests, which print how many registrations and
// requests the fake has had, write FILE TEXT, and files, which prints the names of those in $DIR.
func transcript(t *testing.T, fake *horseracingtest.Server, name string, places map[string]string) {
	t.Helper()
	all := map[string]string{"URL": fake.URL, "DIR": t.TempDir(), "OWN": t.TempDir(), "NOTHING": ""}
	maps.Copy(all, places)
	var back []string
	for name, value := range all {
		if value != "" {
			back = append(back, value, "$"+name)
		}
	}
	double.Transcript(t, filepath.Join("testdata", name+".txt"), func(command string) string {
		words := strings.Fields(command)
		for i, word := range words {
			words[i] = os.Expand(word, func(name string) string { return all[name] })
		}
		printed, err := perform(t, fake, all["DIR"], all["OWN"], words)
		double.Equal(t, command, nil, err)
		return strings.NewReplacer(back...).Replace(printed)
	})
}

// perform executes a command of a transcript.
func perform(t *testing.T, fake *horseracingtest.Server, dir, own string, words []string) (printed string, err error) {
	t.Helper()
	rest := []byte(strings.Join(words[1:], " "))
	switch words[0] {
	case "fault":
		var fault horseracingtest.Fault
		err = json.Unmarshal(rest, &fault)
		fake.Inject(fault)
		return "", err
	case "race":
		var race horseracing.Race
		err = json.Unmarshal(rest, &race)
		fake.AddRaces(race)
		return "", err
	case "advance":
		by, err := time.ParseDuration(words[1])
		fake.Advance(by)
		return "", err
	case "paid":
		return fmt.Sprint(len(fake.Registrations())), nil
	case "requests":
		return fmt.Sprint(fake.RequestCount()), nil
	case "mode":
		info, err := os.Stat(filepath.Join(own, "horseracing", "profiles.json"))
		return fmt.Sprint(info.Mode()), err
	case "share":
		return "", os.Chmod(filepath.Join(own, "horseracing", "profiles.json"), 0o640)
	case "files":
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		return strings.Join(files, "\n"), err
	case "write":
		return "", os.WriteFile(words[1], []byte(strings.Join(words[2:], " ")), 0o600)
	}
	variables := environment(fake)
	if words[0] == "env" {
		variables, words = nil, words[2:]
	}
	for words[0] != "horseracing" {
		variables, words = append(variables, words[0]), words[1:]
	}
	var input string
	variables = slices.DeleteFunc(append(variables, "XDG_CONFIG_HOME="+own, "XDG_CACHE_HOME="+own), func(variable string) bool {
		text, isInput := strings.CutPrefix(variable, "INPUT=")
		if isInput {
			input = strings.ReplaceAll(text, "|", "\n")
		}
		return isInput
	})
	cmd := prepare(t, variables, words[1:]...)
	cmd.Stdin = strings.NewReader(input)
	got := finish(cmd)
	printed = got.stdout
	if printed != "" && !strings.HasSuffix(printed, "\n") {
		printed += "\n"
	}
	for line := range strings.Lines(got.stderr) {
		if !strings.Contains(line, "horseracing: retry") { // with times, unlike what is tested
			printed += "! " + line
		}
	}
	if got.status != 0 {
		printed += fmt.Sprintf("status %d\n", got.status)
	}
	return printed, nil
}
