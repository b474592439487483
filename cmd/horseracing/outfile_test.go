package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

func linesOf(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(strings.Lines(string(text)))
}

// newResults returns a file of -o, which was empty, with the races of a fake since 30 May.
func newResults(t *testing.T, fake *horseracingtest.Server) (file string, lines []string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "results.jsonl")
	writeFile(t, file, "")
	got := run(t, environment(fake), "results", "--since", "2025-05-30", "-o", file)
	lines = linesOf(t, file)
	want := fmt.Sprintf("horseracing results: races added to %s: %d\n", file, len(lines))
	if len(lines) == 0 || got != (result{stderr: want}) {
		t.Fatalf("%d races, %+v", len(lines), got)
	}
	return file, lines
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
	expect(t, environment(fake), result{stderr: "races added"}, append(args, "4")...)
	got, want := linesOf(t, file), slices.Collect(strings.Lines(run(t, environment(fake), "results").stdout))
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 2000 {
		t.Errorf("the file differs from the %d races of the service (-want +got): %.2000s", len(want), diff)
	}
}

func TestAFileGetsWhatIsNewAndNothingElse(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	file, before := newResults(t, fake)
	if err := os.Symlink(file, file+".link"); err != nil {
		t.Skip(err)
	}
	fake.Advance(6 * time.Hour)
	got := run(t, environment(fake), "results", "--tier", "5", "--since", "1d", "-o", file+".link")
	after := linesOf(t, file)
	if got.status != 0 || got.stdout != "" || len(after) <= len(before) || !slices.Equal(after[:len(before)], before) {
		t.Errorf("%d races before, %d after, %+v", len(before), len(after), got)
	}
	again := run(t, environment(fake), "results", "-o", file)
	if again.status != 0 || again.stdout != "" || !strings.HasSuffix(again.stderr, ": 0\n") || !slices.Equal(linesOf(t, file), after) {
		t.Errorf("without news: %+v", again)
	}
	ofWindows := "\ufeff" + strings.ReplaceAll(strings.Join(after, ""), "\n", "\r\n")
	writeFile(t, file+".windows", ofWindows)
	got = run(t, environment(fake), "results", "-o", file+".windows")
	if text := strings.Join(linesOf(t, file+".windows"), ""); got.status != 0 || text != ofWindows {
		t.Errorf("of Windows: %d bytes, want %d: %+v", len(text), len(ofWindows), got)
	}
	if os.Remove(file); run(t, environment(fake), "results", "--since", "2025-05-30", "-o", file).status != 0 || !slices.Equal(linesOf(t, file), after) {
		t.Errorf("after it was removed: %d races, want %d", len(linesOf(t, file)), len(after))
	}
}

// A first run that reads nothing leaves -since to the next one.
func TestAFirstRunThatFailedFixesNoSince(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	wrong := append(environment(fake), "HORSERACING_API_KEY=wrong")
	races := strings.Count(run(t, environment(fake), "results", "--since", "2025-05-20").stdout, "\n")
	for _, flag := range []string{"-o", "--cursor"} {
		file := filepath.Join(t.TempDir(), "file")
		expect(t, wrong, result{status: 4, stderr: "the API key"}, "results", "--since", "2025-05-31", flag, file)
		got := run(t, environment(fake), "results", "--since", "2025-05-20", flag, file)
		if n := strings.Count(got.stdout, "\n") + len(linesOf(t, file)); got.status != 0 || n < races {
			t.Errorf("%s: %d of %d races, %s", flag, n, races, got.stderr)
		}
	}
}

// Rows go to the file, so that progress goes to the terminal, whatever standard output is.
func TestAFileThatEndsEarlySaysWhatToDo(t *testing.T) {
	for want, test := range map[string]struct {
		follow, isSlow bool // slow enough to show progress
		fault          horseracingtest.Fault
	}{
		"not all races were read yet: the same command line continues": {isSlow: true, fault: horseracingtest.Fault{Delay: time.Second, Times: -1}},
		"stopped: the same command line continues":                     {follow: true, fault: horseracingtest.Fault{Delay: time.Millisecond, Times: -1}},
		"nothing was written to f yet":                                 {fault: horseracingtest.Fault{Delay: time.Hour, Times: -1}},
		"races added to f: ":                                           {fault: horseracingtest.Fault{Status: 401, Skip: 150, Times: -1}}, // and no more
	} {
		synctest.Test(t, func(t *testing.T) {
			fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now))
			defer fake.Close()
			fake.Inject(test.fault)
			var stderr strings.Builder
			p := &program{name: "horseracing results", interactive: true, attended: true, stderr: &stderr, reported: time.Now()}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			o := listingFlags(&cobra.Command{}, "race")
			o.out, o.follow = filepath.Join(t.TempDir(), "f"), test.follow
			s := &service{Client: fake.Client()}
			if err := o.resolve(ctx, p, s); err != nil {
				t.Fatal(err)
			}
			err := p.keepResults(ctx, s, o)
			lines := strings.Split(strings.ReplaceAll(stderr.String(), o.out, "f"), "\n")
			last := lines[len(lines)-2]
			if err == nil || !strings.HasPrefix(last, "horseracing results: "+want) || test.isSlow != strings.HasPrefix(lines[0], "horseracing results: 1 race, at ") {
				t.Errorf("%v: %q", err, lines)
			}
		})
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
		fake := newFake(t)
		file, _ := newResults(t, fake)
		before := fake.RequestCount()
		cmd, _, stderr := start(t, environment(fake), "results", "--follow", "--interval", "20ms", "-o", file)
		waitFor(t, func() bool { return fake.RequestCount() > before })
		if err := rotate(file); err != nil {
			t.Fatal(err)
		}
		fake.Advance(6 * time.Hour)
		if err := cmd.Wait(); err == nil || !strings.Contains(stderr.String(), "was changed by something else") {
			t.Errorf("%s: %v, %s", name, err, stderr)
		}
		if text, _ := os.ReadFile(file); len(text) > 0 {
			t.Errorf("%s: %d bytes were written after that", name, len(text))
		}
	}
}

func TestAFileIsForOneProcess(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"-o", "--cursor"} {
		fake, file := newFake(t), filepath.Join(t.TempDir(), "results") // the process of the other flag still sends requests
		before := fake.RequestCount()
		start(t, environment(fake), "results", "--since", "2025-05-31", "--follow", flag, file)
		waitFor(t, func() bool { return fake.RequestCount() > before })
		expect(t, environment(fake), result{status: 1, stderr: "is in use by another process"}, "results", flag, file)
	}
}

func TestAFileThatDoesNotFitIsNotTouched(t *testing.T) {
	t.Parallel()
	fake, other := newFake(t), newFake(t)
	_, lines := newResults(t, fake)
	whole := strings.Join(lines, "")
	for name, test := range map[string]struct {
		text, lock  string
		environment []string
		tier        string
		status      int
		words       string
	}{
		"a last line":     {whole + "# a note", "", environment(fake), "5", 1, "a last line that is not a race"},
		"another line":    {whole + "{}\n", "", environment(fake), "5", 1, "a line that is not a race"},
		"an object":       {`{"races":[]}`, "", environment(fake), "5", 1, "a last line that is not a race"},
		"UTF-16":          {"{\x00\"\x00_\x00", "", environment(fake), "5", 1, "zeros in its first line"},
		"emptied":         {"", "", environment(fake), "5", 1, "has 0 bytes of races, but "},
		"cut by lines":    {lines[0], "", environment(fake), "5", 1, " were written: restore the file"},
		"marked UTF-16":   {"\xff\xfe{\x00", "", environment(fake), "5", 1, "the text is UTF-16"},
		"another service": {whole, "", environment(other), "5", 2, "belongs to " + fake.URL},
		"another tier":    {whole, "", environment(fake), "3", 2, "is about tier 5, not 3"},
		"a damaged lock":  {whole, " {", environment(fake), "5", 1, ".lock is damaged"},
	} {
		file, _ := newResults(t, fake)
		writeFile(t, file, test.text)
		if test.lock != "" {
			writeFile(t, file+".lock", test.lock)
		}
		got := run(t, test.environment, "results", "-o", file, "--tier", test.tier)
		after := strings.Join(linesOf(t, file), "")
		if got.status != test.status || !strings.Contains(got.stderr, test.words) || strings.Count(got.stderr, "\n") != 1 || after != test.text {
			t.Errorf("%s: %d bytes became %d: %+v", name, len(test.text), len(after), got)
		}
	}
}

// Whatever of the last lines is on the disk, the next run makes the file whole, also one of an
// older version, whose lock file is empty.
func TestAFileThatIsCutAtAnyByteContinuesThere(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	file, lines := newResults(t, fake)
	whole, first := strings.Join(lines, ""), len(lines[0])
	last := len(whole) - len(lines[len(lines)-1])
	for cut := last; cut <= len(whole); cut++ {
		for _, tail := range []string{"", "\x00", strings.Repeat("\x00", 5000), "\x00\x00" + lines[0]} {
			writeFile(t, file, whole[:cut]+tail)
			opened, err := os.Open(file)
			f := &outFile{file: opened}
			err = errors.Join(err, f.read(time.Now()), opened.Close())
			want := strings.LastIndexByte(whole[:cut], '\n') + 1
			if err != nil || f.size != int64(want) || len(f.has) != strings.Count(whole[:cut], "\n") {
				t.Fatalf("%d bytes and %.10q: %v, %+v", cut, tail, err, f)
			}
		}
	}
	for _, lock := range []string{` {"service":"` + fake.URL + `","tier":5,"since":"2025-05-30T00:00:00Z"}`, ""} {
		for _, cut := range []int{0, 1, first - 1, first, len(whole) / 2, last, last + 200, len(whole) - 1} { // end to end
			writeFile(t, file, whole[:cut])
			writeFile(t, file+".lock", lock)
			got := run(t, environment(fake), "results", "--since", "2025-05-30", "-o", file)
			if got.status != 0 || strings.Join(linesOf(t, file), "") != whole {
				t.Errorf("%d of %d bytes: %+v", cut, len(whole), got)
			}
			if strings.Contains(got.stderr, "it is taken for tier 5 of "+fake.URL) != (lock == "" && cut >= first) {
				t.Errorf("%d bytes, lock %q: %s", cut, lock, got.stderr)
			}
		}
	}
	expect(t, environment(fake), result{status: 2, stderr: "is about tier 5, not 3"}, "results", "-o", file, "--tier", "3")
}
