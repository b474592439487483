package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
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
			races := strings.Count(run(t, environment(fake), "results", "--since", "2025-05-30").stdout, "\n")
			file := filepath.Join(t.TempDir(), "results.jsonl")
			cmd := prepare(t, environment(fake), "results", "--since", "2025-05-30", "--follow", "--interval", "20ms", "-o", file)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, func() bool {
				text, _ := os.ReadFile(file)
				return strings.Count(string(text), "\n") == races
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

func TestAFileIsForOneProcess(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	for _, flag := range []string{"-o", "--cursor"} {
		file := filepath.Join(t.TempDir(), "results")
		before := fake.RequestCount()
		first, _ := start(t, environment(fake), "results", "--since", "1h", "--follow", flag, file)
		waitFor(t, func() bool { return fake.RequestCount() > before })
		if got := run(t, environment(fake), "results", flag, file); got.status != 1 || !strings.Contains(got.stderr, "is in use by another process") {
			t.Errorf("%s: %+v", flag, got)
		}
		_ = first.Process.Kill()
		_ = first.Wait()
	}
}

// newResults returns the lines of a file of -o with the races of a fake since 30 May.
func newResults(t *testing.T, fake *horseracingtest.Server) (file string, lines []string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "results.jsonl")
	if got := run(t, environment(fake), "results", "--since", "2025-05-30", "-o", file); got.status != 0 || got.stdout != "" {
		t.Fatalf("%+v", got)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return file, slices.Collect(strings.Lines(string(text)))
}

func TestAFileThatDoesNotFitIsNotTouched(t *testing.T) {
	t.Parallel()
	fake, other := newFake(t), newFake(t)
	replace := func(text string) func(string, []string) error {
		return func(file string, _ []string) error { return os.WriteFile(file, []byte(text), 0o600) }
	}
	change := func(change func(lines []string) string) func(string, []string) error {
		return func(file string, lines []string) error { return os.WriteFile(file, []byte(change(lines)), 0o600) }
	}
	for name, test := range map[string]struct {
		change      func(file string, lines []string) error
		environment []string
		tier        string
		status      int
		words       string
	}{
		"a last line":     {change(func(lines []string) string { return strings.Join(lines, "") + "# a note" }), environment(fake), "5", 1, "a last line that is not a race"},
		"another line":    {change(func(lines []string) string { return strings.Join(lines, "") + "{}\n" }), environment(fake), "5", 1, "a line that is not a race"},
		"a text":          {replace("dear diary"), environment(fake), "5", 1, "a last line that is not a race"},
		"an object":       {replace(`{"races":[]}`), environment(fake), "5", 1, "a last line that is not a race"},
		"UTF-16":          {replace("{\x00\"\x00_\x00"), environment(fake), "5", 1, "zeros in its first line"},
		"newest first":    {change(func(lines []string) string { slices.Reverse(lines); return strings.Repeat(strings.Join(lines, ""), 30) }), environment(fake), "5", 1, "other races at its begin"},
		"another begin":   {change(func(lines []string) string { return "x\n" + strings.Repeat(strings.Join(lines, ""), 30) }), environment(fake), "5", 1, "other races at its begin"},
		"another service": {nil, environment(other), "5", 2, "belongs to " + fake.URL},
		"another tier":    {nil, environment(fake), "3", 2, "is about tier 5, not 3"},
		"a damaged lock":  {func(file string, _ []string) error { return os.WriteFile(file+".lock", []byte(" {"), 0o600) }, environment(fake), "5", 1, ".lock is damaged"},
		"a folder":        {func(file string, _ []string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) }, environment(fake), "5", 2, "is not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, lines := newResults(t, fake)
			if test.change != nil {
				if err := test.change(file, lines); err != nil {
					t.Fatal(err)
				}
			}
			before, _ := os.ReadFile(file)
			got := run(t, test.environment, "results", "-o", file, "--tier", test.tier)
			after, _ := os.ReadFile(file)
			if got.status != test.status || !strings.Contains(got.stderr, test.words) || strings.Count(got.stderr, "\n") != 1 || string(after) != string(before) {
				t.Errorf("%d bytes became %d: %+v", len(before), len(after), got)
			}
		})
	}
}

// Whatever of the last lines is on the disk, the next run makes the file whole.
func TestAFileThatIsCutAtAnyByteContinuesThere(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	file, lines := newResults(t, fake)
	whole := strings.Join(lines, "")
	lock := []byte(" " + `{"service":"` + fake.URL + `","tier":5,"since":"2025-05-30T00:00:00Z"}`)
	last := len(whole) - len(lines[len(lines)-1])
	for cut := last; cut <= len(whole); cut++ {
		for _, tail := range []string{"", "\x00", strings.Repeat("\x00", 5000), "\x00\x00" + lines[0]} {
			if err := os.WriteFile(file, []byte(whole[:cut]+tail), 0o600); err != nil {
				t.Fatal(err)
			}
			opened, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			f := &outFile{file: opened}
			err = errors.Join(f.read(time.Now()), opened.Close())
			if want := strings.LastIndexByte(whole[:cut], '\n') + 1; err != nil || f.size != int64(want) || len(f.has) != strings.Count(whole[:cut], "\n") {
				t.Fatalf("%d bytes and %.10q: %v, %+v", cut, tail, err, f)
			}
		}
	}
	for _, cut := range []int{0, 1, len(lines[0]) - 1, len(lines[0]), len(whole) / 2, last - 1, last, last + 200, len(whole) - 1} { // end to end
		if err := errors.Join(os.WriteFile(file, []byte(whole[:cut]), 0o600), os.WriteFile(file+".lock", lock, 0o600)); err != nil {
			t.Fatal(err)
		}
		got := run(t, environment(fake), "results", "--since", "2025-05-30", "-o", file)
		if text, _ := os.ReadFile(file); got.status != 0 || string(text) != whole {
			t.Errorf("%d of %d bytes became %d: %+v", cut, len(whole), len(text), got)
		}
	}
}

// A file of an older version continues, and what was beside it is ignored.
func TestAFileOfAnOlderVersionContinues(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	file, lines := newResults(t, fake)
	err := errors.Join(os.WriteFile(file, []byte(strings.Join(lines[:9], "")), 0o600), os.WriteFile(file+".lock", nil, 0o600), os.WriteFile(file+".position", []byte("{}"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, environment(fake), "results", "-o", file)
	ids := racesIn(t, file)
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); got.status != 0 || n < len(lines) || n != len(racesIn(t, file)) {
		t.Errorf("%d of %d races: %+v", n, len(lines), got)
	}
	if !strings.Contains(got.stderr, ".position is of an older version and ignored") || !strings.Contains(got.stderr, "it is taken for tier 5 of "+fake.URL) {
		t.Errorf("%s", got.stderr)
	}
	if again := run(t, environment(fake), "results", "-o", file, "--tier", "3"); again.status != 2 {
		t.Errorf("%+v", again)
	}
}

// The file has more than is read of it at once.
func TestOfALongFileTheTailIsRead(t *testing.T) {
	t.Parallel()
	file, start := filepath.Join(t.TempDir(), "f"), time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	var text strings.Builder
	for i := range 4000 { // 3 MB, one race a second, and the last one late
		if i == 3999 {
			i = 100
		}
		at := start.Add(time.Duration(i) * time.Second)
		fmt.Fprintf(&text, `{"main_race_id":%d,"start_time":%d,"info":{"name":"%700d"}}`+"\n", i+1, at.UnixMilli(), i)
	}
	for hours := range 3 {
		fmt.Fprintf(&text, `{"main_race_id":%d,"start_time":%d}`+"\n", 9000+hours, start.Add(time.Duration(hours)*time.Hour).UnixMilli())
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openOut(&program{stderr: io.Discard}, file, origin{Service: "s", Tier: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if want := start.Add(2 * time.Hour); !f.newest.Equal(want) || !f.has[raceKey{4000 - 1, start.Add(3998 * time.Second).UnixMilli()}] || f.size != int64(text.Len()) {
		t.Errorf("%v, %d races, %d bytes", f.newest, len(f.has), f.size)
	}
}
