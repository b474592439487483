package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func linesOf(t *testing.T, file string) []string {
	t.Helper()
	return slices.Collect(strings.Lines(string(double.Must(os.ReadFile(file)))))
}

// newResults returns a file of -o, which was empty, with the races of a fake since 30 May.
func newResults(t *testing.T, fake *horseracingtest.Server) (file string, lines []string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "results.jsonl")
	writeFile(t, file, "")
	return file, added(t, fake, file, "--since", "2025-05-30")
}

// added runs the program with -o, requires that it says how many races it adds to the file, and
// returns the lines of the file.
func added(t *testing.T, fake *horseracingtest.Server, file string, args ...string) []string {
	t.Helper()
	before, _ := os.ReadFile(file) // if it exists
	got := run(t, environment(fake), append([]string{"results", "-o", file}, args...)...)
	lines := linesOf(t, file)
	n := len(lines) - strings.Count(string(before), "\n")
	double.Equal(t, "what is printed", result{stderr: fmt.Sprintf("horseracing results: races added to %s: %d\n", file, n)}, got)
	return lines
}

func TestAFileHasEachRaceOnceWhateverKillsTheProgram(t *testing.T) {
	t.Parallel()
	kills := double.Worlds(20, 200, 5)
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
		double.NoError(t, cmd.Start())
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
	diff := cmp.Diff(want, got)
	double.FailIf(t, diff != "" || len(want) < 2000, "the file differs from the %d races of the service (-want +got): %.2000s", len(want), diff)
}

func TestAFileGetsWhatIsNewAndNothingElse(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	file, before := newResults(t, fake)
	fake.Advance(6 * time.Hour)
	after := added(t, fake, file, "--tier", "5", "--since", "2025-06-01")
	double.Equal(t, "the races before", before, after[:len(before)])
	double.Equal(t, "there is news", true, len(before) < len(after))
	double.Equal(t, "without news", after, added(t, fake, file))
	ofWindows := "\ufeff" + strings.ReplaceAll(strings.Join(after, ""), "\n", "\r\n")
	writeFile(t, file+".windows", ofWindows)
	double.Equal(t, "the status for a file of Windows", 0, run(t, environment(fake), "results", "-o", file+".windows").status)
	double.Equal(t, "the file of Windows", ofWindows, strings.Join(linesOf(t, file+".windows"), ""))
	double.NoError(t, os.Remove(file))
	double.Equal(t, "after it was removed", after, added(t, fake, file, "--since", "2025-05-30"))
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
		double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
			fake.Inject(test.fault)
			var stderr strings.Builder
			p := &program{name: "horseracing results", interactive: true, attended: true, stderr: &stderr, reported: time.Now()}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			o := listingFlags(&cobra.Command{}, "race")
			o.out, o.follow = filepath.Join(t.TempDir(), "f"), test.follow
			s := &service{Client: fake.Client()}
			double.NoError(t, o.resolve(ctx, p, s))
			err := p.keepResults(ctx, s, o)
			lines := strings.Split(strings.ReplaceAll(stderr.String(), o.out, "f"), "\n")
			last := lines[len(lines)-2]
			double.FailIf(t, err == nil || !strings.HasPrefix(last, "horseracing results: "+want) || test.isSlow != strings.HasPrefix(lines[0], "horseracing results: 1 race, at "), "%v: %q", err, lines)
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
		double.NoError(t, rotate(file))
		fake.Advance(6 * time.Hour)
		if err := cmd.Wait(); err == nil || !strings.Contains(stderr.String(), "was changed by something else") {
			t.Errorf("%s: %v, %s", name, err, stderr)
		}
		text, _ := os.ReadFile(file) // if it exists
		double.Equal(t, name+": what was written after that", "", string(text))
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
		double.FailIf(t, got.status != test.status || !strings.Contains(got.stderr, test.words) || strings.Count(got.stderr, "\n") != 1 || after != test.text, "%s: %d bytes became %d: %+v", name, len(test.text), len(after), got)
	}
}

func TestAFileThatLostRacesGetsThemAgain(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	_, lines := newResults(t, fake)
	whole := strings.Join(lines, "")
	for name, text := range map[string]string{
		"emptied": "", "cut by lines": lines[0] + lines[1], "cut in a line": whole[:len(whole)/2], "zeros": strings.Repeat("\x00", len(whole)),
		"zeros after a line": lines[0] + strings.Repeat("\x00", len(whole)-len(lines[0])), "a line is removed": strings.Join(lines[1:], ""),
	} {
		file, _ := newResults(t, fake)
		writeFile(t, file, text)
		got := run(t, environment(fake), "results", "-o", file)
		after := linesOf(t, file)
		slices.Sort(after)
		double.Equal(t, name+": the races", slices.Sorted(slices.Values(lines)), after)
		double.FailIf(t, got.status != 0 || strings.Count(got.stderr, "what is missing is fetched again") != 1, "%s: %+v", name, got)
		double.FailIf(t, strings.Contains(run(t, environment(fake), "results", "-o", file).stderr, "missing"), "%s: the next run, too", name)
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
			name := fmt.Sprintf("%d of %d bytes, lock %q: ", cut, len(whole), lock)
			double.Equal(t, name+"the status", 0, got.status)
			double.Equal(t, name+"the file", whole, strings.Join(linesOf(t, file), ""))
			double.Equal(t, name+"it says whose file it is", lock == "" && cut >= first, strings.Contains(got.stderr, "it is taken for tier 5 of "+fake.URL))
		}
	}
	expect(t, environment(fake), result{status: 2, stderr: "is about tier 5, not 3"}, "results", "-o", file, "--tier", "3")
}

// The file of --cursor may be a link, and have any mode; it may be one that another program
// wrote on Windows.
func TestAPositionKeepsItsLinkAndItsMode(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	file := filepath.Join(t.TempDir(), "file")
	link := file + ".link"
	read := func(cursor string, more ...string) result {
		return run(t, environment(fake), append([]string{"results", "--since", "2025-05-30", "--cursor", cursor}, more...)...)
	}
	read(file, "-n", "3")
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	double.NoError(t, os.Chmod(file, 0o604))
	rest, again := read(link), read(file)
	info, err := os.Lstat(link)
	if rest.status != 0 || rest.stdout == "" || again != (result{}) || err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%v; %d bytes, then %+v", info.Mode(), len(rest.stdout), again)
	}
	if err := exec.Command("mount", "--bind", file, file).Run(); err == nil { // as a container mounts a file: only root may
		defer exec.Command("umount", file).Run()
		fake.Advance(6 * time.Hour)
		if more, again := read(file), read(file); more.status != 0 || more.stdout == "" || again != (result{}) {
			t.Errorf("a mount: %d bytes, %s, then %+v", len(more.stdout), more.stderr, again)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o604 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
}

func TestAFileSystemWithoutLocksIsNamed(t *testing.T) {
	for _, err := range []error{syscall.ENOLCK, syscall.ENOSYS, syscall.ENOTSUP} {
		if text := lockError("/mnt/f", &os.PathError{Op: "flock", Path: "/mnt/f.lock", Err: err}).Error(); !strings.Contains(text, "/mnt/f: its file system has no locks; put the file on a local disk") {
			t.Error(text)
		}
	}
	double.Equal(t, "another error is not changed", true, lockError("/mnt/f", os.ErrPermission) == os.ErrPermission)
}

func TestTheTextOfACursorIsAPosition(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	file := filepath.Join(t.TempDir(), "file")
	writeFile(t, file, "") // it was never written, unlike in the transcript
	var printed []string
	var first struct{ Cursor string }
	for range 2 {
		printed = append(printed, run(t, environment(fake), "results", "--since", "2025-05-30", "--cursor", file, "-n", "1").stdout)
		if first.Cursor == "" {
			double.NoError(t, json.Unmarshal(double.Must(os.ReadFile(file)), &first))
		}
	}
	transcript(t, fake, "cursor", map[string]string{
		"CURSOR": first.Cursor, "WINDOWS": "\ufeff" + first.Cursor + "\r\n", "UTF16": "\xff\xfeh\x00", "SECOND": strings.TrimSpace(printed[1]),
	})
}
