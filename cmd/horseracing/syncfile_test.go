package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// racesIn returns the ids of the races of a file of lines, each whole.
func racesIn(t *testing.T, file string) (ids []horseracing.RaceID) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var race horseracing.Race
		if err := json.Unmarshal([]byte(line), &race); err != nil || !strings.HasSuffix(line, "\n") {
			t.Fatalf("%.100s: %v", line, err)
		}
		ids = append(ids, race.MainRaceID)
	}
	return ids
}

// finished returns the ids of all finished races, sorted.
func finished(t *testing.T, fake *horseracingtest.Server) (ids []horseracing.RaceID) {
	t.Helper()
	for race, err := range fake.Client().Races.Results(horseracing.ResultsQuery{Concurrency: 8}).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, race.MainRaceID)
	}
	slices.Sort(ids)
	return ids
}

func TestAFileHasEachRaceOnceWhateverKillsTheProgram(t *testing.T) {
	t.Parallel()
	kills := 20
	switch {
	case os.Getenv("HORSERACING_DEEP") != "":
		kills = 200
	case testing.Short():
		kills = 5
	}
	fake := newFake(t, horseracingtest.WithHistory(2000), horseracingtest.WithLatency(time.Millisecond))
	file := filepath.Join(t.TempDir(), "results.jsonl")
	args := []string{"results", "-o", file, "--concurrency"}
	for kill := range kills {
		cmd := prepare(t, environment(fake), append(args, fmt.Sprint(1+rand.IntN(16)))...)
		isFull := kill%5 == 4 // the disk is full after some more bytes
		if isFull {
			limit := fmt.Sprintf(`ulimit -f %d; exec "$0" "$@"`, 100+kill*4000/kills)
			full := exec.Command("sh", append([]string{"-c", limit}, cmd.Args...)...)
			full.Env = cmd.Env
			cmd = full
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if !isFull {
			time.Sleep(rand.N(400 * time.Millisecond)) // a random instant of another process
			_ = cmd.Process.Kill()
		}
		_ = cmd.Wait()
		fake.Advance(10 * time.Minute)
	}
	if got := run(t, environment(fake), append(args, "4")...); got.status != 0 || got.stdout != "" {
		t.Fatalf("%+v", got)
	}
	got := racesIn(t, file)
	slices.Sort(got)
	if diff := cmp.Diff(finished(t, fake), got); diff != "" {
		t.Errorf("the file differs from the service (-want +got): %.2000s", diff)
	}
}

func TestAFileGetsWhatIsNewAndNothingElse(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	folder := t.TempDir()
	file, link := filepath.Join(folder, "results.jsonl"), filepath.Join(folder, "link")
	if err := os.Symlink("results.jsonl", link); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil { // an empty one is new
		t.Fatal(err)
	}
	first := run(t, environment(fake), "results", "--since", "2025-05-20", "-o", file)
	before := racesIn(t, file)
	if first.status != 0 || first.stderr != fmt.Sprintf("horseracing results: races added to %s: %d\n", file, len(before)) || len(before) == 0 {
		t.Fatalf("%d races, %+v", len(before), first)
	}
	fake.Advance(6 * time.Hour)
	if got := run(t, environment(fake), "results", "--tier", "5", "--since", "1d", "-o", link); got.status != 0 || got.stdout != "" {
		t.Fatalf("%+v", got)
	}
	after := racesIn(t, file)
	if len(after) <= len(before) || !slices.Equal(after[:len(before)], before) {
		t.Errorf("%d races before, %d after", len(before), len(after))
	}
	if again := run(t, environment(fake), "results", "-o", file); again.status != 0 || again.stdout != "" || !strings.HasSuffix(again.stderr, ": 0\n") || !slices.Equal(racesIn(t, file), after) {
		t.Errorf("without news: %+v", again)
	}
}

// A first run that reads nothing leaves -since to the next one.
func TestAFirstRunThatFailedFixesNoSince(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	wrong := append(environment(fake), "HORSERACING_API_KEY=wrong")
	for _, flag := range []string{"-o", "--cursor"} {
		file := filepath.Join(t.TempDir(), "file")
		if got := run(t, wrong, "results", "--since", "2025-05-31", flag, file); got.status != 4 {
			t.Errorf("%s with a wrong key: %+v", flag, got)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s with a wrong key left a file", flag)
		}
		got := run(t, environment(fake), "results", "--since", "2025-05-20", flag, file)
		n := strings.Count(got.stdout, "\n")
		if flag == "-o" {
			n = len(racesIn(t, file))
		}
		if got.status != 0 || n < 30 {
			t.Errorf("%s: %d races, %s", flag, n, got.stderr)
		}
	}
}

func TestAFileThatDoesNotFitIsNotTouched(t *testing.T) {
	t.Parallel()
	fake, other := newFake(t), newFake(t)
	for name, test := range map[string]struct {
		break_      func(t *testing.T, file string)
		environment []string
		args        string
		words       string
	}{
		"no position":    {func(t *testing.T, file string) { os.Remove(file + ".position") }, environment(fake), "", "has lines but no"},
		"empty position": {func(t *testing.T, file string) { os.WriteFile(file+".position", nil, 0o600) }, environment(fake), "", "does not hold a position"},
		"a pipe's":       {func(t *testing.T, file string) { without(t, file+".position", `"bytes":[0-9]+`) }, environment(fake), "", "it is not of -o"},
		"shorter":        {func(t *testing.T, file string) { os.Truncate(file, 100) }, environment(fake), "", "is shorter than"},
		"no file":        {func(t *testing.T, file string) { os.Remove(file) }, environment(fake), "", "is gone"},
		"another line":   {func(t *testing.T, file string) { shiftEnd(t, file) }, environment(fake), "", "was changed by something else"},
		"changed":        {func(t *testing.T, file string) { appendTo(t, file, "# a note\n") }, environment(fake), "", "was changed by something else"},
		"changed after a kill": {func(t *testing.T, file string) {
			without(t, file+".position", `"ended":true`)
			appendTo(t, file, "# a note\n")
		}, environment(fake), "", "was changed by something else"},
		"another line after a kill": {func(t *testing.T, file string) {
			without(t, file+".position", `"ended":true`)
			shiftEnd(t, file)
		}, environment(fake), "", "was changed by something else"},
		"appended":        {func(t *testing.T, file string) { appendTo(t, file, `{"main_race_id":7,"start_time":1}`+"\n") }, environment(fake), "", "was changed by something else"},
		"another service": {nil, environment(other), "", "belongs to " + fake.URL},
		"another tier":    {nil, environment(fake), "--tier 3", "is about tier 5, not 3"},
		"a folder":        {func(t *testing.T, file string) { os.Remove(file); os.Mkdir(file, 0o700) }, environment(fake), "", "is not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "results.jsonl")
			args := append([]string{"results", "--since", "2025-05-30", "-o", file}, strings.Fields(test.args)...)
			if got := run(t, environment(fake), args[:5]...); got.status != 0 || got.stdout != "" {
				t.Fatalf("%+v", got)
			}
			if test.break_ != nil {
				test.break_(t, file)
			}
			before, missing := os.ReadFile(file)
			got := run(t, test.environment, args...)
			want := 1
			if name == "a folder" {
				want = 2
			}
			if got.status != want || !strings.Contains(got.stderr, test.words) || strings.Count(got.stderr, "\n") != 1 {
				t.Errorf("%+v", got)
			}
			if after, err := os.ReadFile(file); string(after) != string(before) || (err == nil) != (missing == nil) {
				t.Errorf("%d bytes became %d, %v", len(before), len(after), err)
			}
		})
	}
}

// shiftEnd makes the position end within a line, as if other lines had replaced some.
func shiftEnd(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append([]byte("{}\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A file that is rotated while it is written gets no zeros and loses no race: the program
// ends with a sentence.
func TestAFileThatIsRotatedIsNotWrittenAnyMore(t *testing.T) {
	t.Parallel()
	for name, rotate := range map[string]func(file string) error{
		"copied and cut": func(file string) error { return os.Truncate(file, 0) },
		"renamed":        func(file string) error { return os.Rename(file, file+".1") },
		"replaced": func(file string) error {
			return errors.Join(os.WriteFile(file+".new", nil, 0o600), os.Rename(file+".new", file))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := newFake(t)
			file := filepath.Join(t.TempDir(), "results.jsonl")
			cmd := prepare(t, environment(fake), "results", "--since", "2025-05-30", "--follow", "--interval", "20ms", "-o", file)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, func() bool { // the position is saved without a further race
				text, _ := os.ReadFile(file)
				position, _ := os.ReadFile(file + ".position")
				return len(text) > 0 && strings.Contains(string(position), fmt.Sprintf(`"bytes":%d}`, len(text)))
			})
			if err := rotate(file); err != nil {
				t.Fatal(err)
			}
			fake.Advance(6 * time.Hour)
			if err := cmd.Wait(); err == nil || !strings.Contains(stderr.String(), "was changed by something else") {
				t.Errorf("%v, %s", err, &stderr)
			}
			if text, _ := os.ReadFile(file); len(text) > 0 {
				t.Errorf("%d bytes were written after that", len(text))
			}
		})
	}
}

func TestASinceThatIsEarlierThanTheFirstIsReported(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	file := filepath.Join(t.TempDir(), "results.jsonl")
	for _, test := range []struct{ since, want string }{
		{"2025-05-30", ""}, {"2025-05-30", ""}, {"2025-05-31", ""}, {"2025-05-01", "which began at 2025-05-30 00:00: what is older is not added"},
	} {
		got := run(t, environment(fake), "results", "--since", test.since, "-o", file)
		if got.status != 0 || !strings.Contains(got.stderr, test.want) || (strings.Count(got.stderr, "\n") == 1) != (test.want == "") {
			t.Errorf("%s: %+v", test.since, got)
		}
	}
}

// without removes a member of a position: with its bytes it is one of -cursor, with its end
// one of a run that was killed.
func without(t *testing.T, file, member string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("," + member)
	if !found.Match(text) {
		t.Fatalf("%s has no %s", text, member)
	}
	if err := os.WriteFile(file, found.ReplaceAll(text, nil), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestThePositionOfAFileIsNotOneForAPipe(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	file := filepath.Join(t.TempDir(), "results.jsonl")
	if got := run(t, environment(fake), "results", "--since", "2025-05-30", "-o", file); got.status != 0 || got.stdout != "" {
		t.Fatalf("%+v", got)
	}
	before, _ := os.ReadFile(file + ".position")
	got := run(t, environment(fake), "results", "--cursor", file+".position")
	after, _ := os.ReadFile(file + ".position")
	if got.status != 1 || got.stdout != "" || !strings.Contains(got.stderr, "is a position of -o") || string(before) != string(after) {
		t.Errorf("%+v; %s became %s", got, before, after)
	}
}

func appendTo(t *testing.T, file, text string) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestWhatFollowsThePositionIsCutIfARunThatWasKilledLeftIt(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	for _, rest := range []string{`{"main_race_id":7,"start_time":1}` + "\n", `{"main_ra`, "{", strings.Repeat("\x00", 5000), `{"main_race_id":7}` + "\n" + `{"ma` + "\x00\x00"} {
		file := filepath.Join(t.TempDir(), "results.jsonl")
		args := []string{"results", "--since", "2025-05-30", "-o", file}
		if got := run(t, environment(fake), args...); got.status != 0 || got.stdout != "" {
			t.Fatalf("%+v", got)
		}
		want := racesIn(t, file)
		without(t, file+".position", `"ended":true`)
		appendTo(t, file, rest)
		if got := run(t, environment(fake), args...); got.status != 0 || got.stdout != "" || !slices.Equal(racesIn(t, file), want) {
			t.Errorf("%.20q: %+v", rest, got)
		}
	}
}

func TestAFileIsForOneProcess(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	for _, flag := range []string{"-o", "--cursor"} {
		file := filepath.Join(t.TempDir(), "results")
		first, _ := start(t, environment(fake), "results", "--since", "1h", "--follow", flag, file)
		waitFor(t, func() bool { _, err := os.Stat(file); return err == nil })
		if got := run(t, environment(fake), "results", flag, file); got.status != 1 || !strings.Contains(got.stderr, "is in use by another process") {
			t.Errorf("%s: %+v", flag, got)
		}
		_ = first.Process.Kill()
		_ = first.Wait()
	}
}

func TestAnErrorAsJSONHasACodeAndTheOperation(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	for args, want := range map[string]string{
		"race 99 --json":  `{"error":{"code":"not_found","message":"GET /api/v1/races/99: not found: status 200 OK, but the response does not contain it","operation":"GET /api/v1/races/99","status":200}}`,
		"race one --json": `{"error":{"code":"usage","message":"\"one\" is not a number above zero"}}`,
		"opne --json":     `{"error":{"code":"usage","message":"there is no command \"opne\": did you mean open?"}}`,
	} {
		if got := run(t, environment(fake), strings.Fields(args)...); got.stderr != want+"\n" || got.stdout != "" {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func TestAFailedPollAsJSONHasTheCodeOfItsCause(t *testing.T) {
	down := &horseracing.APIError{StatusCode: 503, Method: "GET", Route: "/api/v2/races/results", Attempts: 1}
	for code, err := range map[string]error{"unavailable": down, "failed": &horseracing.TieOverflowError{}} {
		var stderr strings.Builder
		p := &program{stderr: &stderr, asJSON: true}
		p.complain(err)
		if !strings.HasPrefix(stderr.String(), `{"error":{"code":"`+code+`",`) || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: %s", code, &stderr)
		}
	}
}
