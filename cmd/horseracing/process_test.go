package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestAClosedPipeIsQuiet(t *testing.T) {
	t.Parallel()
	cmd := prepare(t, nil, "--demo", "results") // 2,000 races: more than a pipe holds
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !json.Valid([]byte(line)) {
		t.Errorf("%q, %v", line, err)
	}
	stdout.Close()
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v, %s", err, &stderr)
	}
}

func TestASignalEndsEveryLongCommandWithItsStatus(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside there")
	}
	t.Parallel()
	fake := newFake(t, horseracingtest.WithLatency(time.Hour))
	for signal, want := range map[os.Signal]exitCode{os.Interrupt: {status: 130, code: "interrupted"}, syscall.SIGTERM: {status: 143, code: "terminated"}} {
		for _, args := range []string{"open", "watch", "results", "results --follow", "horse 1 2", "race 1 --json"} {
			before := fake.RequestCount()
			cmd := prepare(t, environment(fake), strings.Fields(args)...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, func() bool { return fake.RequestCount() > before })
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			said := strings.Contains(stderr.String(), `"code":"`+want.code+`"`)
			if status := cmd.ProcessState.ExitCode(); status != want.status || said != strings.Contains(args, "--json") || !said && stderr.Len() > 0 {
				t.Errorf("%s, %v: status %d, %s", args, signal, status, &stderr)
			}
		}
	}
}

// waitFor waits for another process, which may have ended.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("it did not happen within a minute")
		}
	}
}

func TestWatchPrintsEachChangeOnALine(t *testing.T) {
	t.Parallel()
	fake := newFake(t, horseracingtest.WithSchedule(0))
	race := horseracing.Race{MainRaceID: 7, StartTime: horseracing.NewTimestamp(fake.Now().Add(time.Hour))}
	fake.AddRaces(race)
	_, stdout := start(t, environment(fake), "watch", "--interval", "1s")
	lines := bufio.NewScanner(stdout)
	expect := func(kind string, participants int, what ...string) {
		t.Helper()
		var got struct {
			Kind    string
			Race    horseracing.Race
			Time    time.Time
			Changed []string
		}
		if !lines.Scan() {
			t.Fatalf("no line about %s", kind)
		}
		if err := json.Unmarshal(lines.Bytes(), &got); err != nil || got.Kind != kind || got.Race.MainRaceID != 7 || len(got.Race.Participants) != participants || !slices.Equal(got.Changed, what) || time.Since(got.Time) > time.Minute {
			t.Errorf("%s, %v; want %s", lines.Text(), err, kind)
		}
	}
	expect("opened", 0)
	race.Participants = []horseracing.RaceParticipant{{Number: 8}}
	fake.AddRaces(race)
	expect("updated", 1, "horse 8 entered")
	fake.RemoveRaces(7)
	expect("closed", 1)
}

func TestWatchNewLeavesOutWhatIsOpenAtTheStart(t *testing.T) {
	t.Parallel()
	fake := newFake(t, horseracingtest.WithSchedule(0))
	fake.Inject(horseracingtest.Fault{Status: http.StatusInternalServerError, Times: 4}) // the service is down at the start
	at := horseracing.NewTimestamp(fake.Now().Add(time.Hour))
	fake.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: at})
	_, stdout := start(t, environment(fake), "watch", "--new", "--interval", "1s")
	waitFor(t, func() bool { return fake.RequestCount() >= 7 })
	fake.AddRaces(horseracing.Race{MainRaceID: 8, StartTime: at})
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), `{"kind":"opened","race":`) || !strings.Contains(lines.Text(), `"main_race_id":8,`) {
		t.Errorf("%s", lines.Text())
	}
}

// killedRuns runs the program again and again, and kills it every so many lines,
// until it has been killed ten times. The last run is killed once a line is the last of
// all. Before a new run it calls restart with the last line.
func killedRuns(t *testing.T, lines int, environment, args []string, isLast func(line string) bool, restart func(line string)) (all []string) {
	t.Helper()
	for kills := 0; ; kills++ {
		cmd, stdout := start(t, environment, args...)
		ended := false
		for left := lines/2 + rand.IntN(lines); ; left-- {
			line, err := stdout.ReadString('\n')
			if err == io.EOF {
				break // a last line that was torn is dropped, as every reader of lines does
			}
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, line)
			ended = ended || isLast(line)
			if left == 0 && kills < 10 || ended {
				_ = cmd.Process.Kill() // it may have ended by itself
			}
		}
		_ = cmd.Wait()
		if ended {
			if kills < 10 {
				t.Errorf("it was killed %d times", kills)
			}
			return all
		}
		restart(all[len(all)-1])
	}
}

// Killed at any line, the program loses none if it keeps the cursor; if its reader
// stores the cursor of each line, it repeats none either. With HORSERACING_DEEP there
// are as many races as a year can have.
func TestAKilledProgramContinuesWithoutALoss(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts the program fifty times")
	}
	t.Parallel()
	races, lines, since := 1500, 50, "2024-01-01"
	if os.Getenv("HORSERACING_DEEP") != "" {
		races, lines, since = 365*24*12, 8000, "1970-01-01"
	}
	fake := newFake(t, horseracingtest.WithHistory(races), horseracingtest.WithLatency(time.Millisecond/2))
	for name, args := range map[string][]string{
		"results": {"results", "--since", since, "--concurrency", "1"},
		"follow":  {"results", "--follow", "--since", since},
	} {
		want := slices.Collect(strings.Lines(run(t, environment(fake), append(args, "--cursor", filepath.Join(t.TempDir(), "whole"), "-n", fmt.Sprint(races))...).stdout))
		if len(want) != races {
			t.Fatalf("%d lines", len(want))
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := killedRuns(t, lines, environment(fake), append(args, "--cursor", filepath.Join(t.TempDir(), "place")),
				func(line string) bool { return line == want[races-1] }, func(string) {})
			if lines > 1000 && len(got) > races*5/4 { // shorter runs may end before the cursor is saved
				t.Errorf("%d lines in 11 runs, %d in one: the cursor saves nothing", len(got), races)
			}
			seen := map[string]bool{}
			got = slices.DeleteFunc(got, func(line string) bool {
				again := seen[line]
				seen[line] = true
				return again
			})
			if diff := cmp.Diff(want, got[:min(len(got), races)]); diff != "" {
				t.Errorf("%d different lines, want %d: %.2000s", len(got), races, diff)
			}
		})
		t.Run(name+" with the cursor of each line", func(t *testing.T) {
			t.Parallel()
			parse := func(text string) (race, cursor string) {
				var l struct {
					Race   json.RawMessage
					Cursor string
				}
				if err := json.Unmarshal([]byte(text), &l); err != nil {
					t.Fatal(err)
				}
				return string(l.Race) + "\n", l.Cursor
			}
			file := filepath.Join(t.TempDir(), "place")
			got := killedRuns(t, lines, environment(fake), append(args, "--with-cursor", "--cursor", file),
				func(line string) bool { race, _ := parse(line); return race == want[races-1] },
				func(line string) {
					_, cursor := parse(line)
					if err := os.WriteFile(file, []byte(cursor), 0o600); err != nil {
						t.Fatal(err)
					}
				})
			for i := range got {
				got[i], _ = parse(got[i])
			}
			if diff := cmp.Diff(want, got[:min(len(got), races)]); diff != "" {
				t.Errorf("%d lines, want %d: %.2000s", len(got), races, diff)
			}
		})
	}
}

func TestTheCursorCoversNoLineThatCouldNotBeWritten(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no device that is always full")
	}
	defer full.Close()
	fake := newFake(t, horseracingtest.WithHistory(15))
	file := filepath.Join(t.TempDir(), "place")
	cmd := prepare(t, environment(fake), "results", "--json", "--cursor", file)
	cmd.Stdout = full
	if err := cmd.Run(); err == nil {
		t.Error("it wrote to a device that is full")
	}
	if got := run(t, environment(fake), "results", "--cursor", file); strings.Count(got.stdout, "\n") != 15 {
		t.Errorf("then it printed %+v", got)
	}
}

func TestTheCursorIsBoundToTiersAndKeepsTheSinceOfTheFirstRun(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	query := []string{"results", "--tier", "2,5", "--since", "2025-05-25"}
	want := run(t, environment(fake), query...)
	lines := slices.Collect(strings.Lines(want.stdout))
	slices.Reverse(lines)
	want.stdout = strings.Join(lines, "")
	file := filepath.Join(t.TempDir(), "place")
	got := run(t, environment(fake), append(query, "-n", "7", "--cursor", file)...)
	rest := run(t, environment(fake), "results", "--tier", "5,2", "--since", "1d", "--cursor", file)
	got.stdout += rest.stdout
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" || strings.Count(want.stdout, "\n") < 20 {
		t.Errorf("%s", diff)
	}
	if again := run(t, environment(fake), append(query, "--cursor", file)...); again != (result{}) {
		t.Errorf("after the end: %+v", again)
	}
	other := run(t, environment(fake), "results", "--cursor", file, "--tier", "3")
	if other.status != 1 || other.stdout != "" || !strings.Contains(other.stderr, "tiers") {
		t.Errorf("with another tier: %+v", other)
	}
}

func TestFollowingHasAPositionBeforeItsFirstLine(t *testing.T) {
	t.Parallel()
	fake := newFake(t, horseracingtest.WithHistory(10), horseracingtest.WithClock(time.Now))
	file := filepath.Join(t.TempDir(), "place")
	args := []string{"results", "--follow", "--since", "1h", "--interval", "20ms", "--cursor", file}
	first, _ := start(t, environment(fake), args...)
	waitFor(t, func() bool { text, err := os.ReadFile(file); return err == nil && len(text) > 0 })
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	fake.AddRaces(horseracing.Race{MainRaceID: 900_001, StartTime: horseracing.NewTimestamp(fake.Now().Add(-time.Minute)), FinalOrder: []int{0}, Participants: []horseracing.RaceParticipant{{Number: 1}}})
	got := run(t, environment(fake), append(args, "-n", "1")...)
	if got.status != 0 || !strings.Contains(got.stdout, `"main_race_id":900001,`) {
		t.Errorf("started again after a kill before the first line: %+v", got)
	}
}

// Tournaments are followed as races are, from the file on, each once.
func TestTournamentsAreFollowedFromAPosition(t *testing.T) {
	t.Parallel()
	fake := newFake(t, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	add := func(id string, ago time.Duration) {
		fake.AddTournaments(horseracing.Tournament{ID: horseracing.TournamentID(id), StartTime: horseracing.NewTimestamp(fake.Now().Add(-ago)), Status: 2})
	}
	file := filepath.Join(t.TempDir(), "place")
	args := []string{"tournaments", "--finished", "--json", "--cursor", file}
	add("a", 3*time.Hour)
	add("c", time.Hour)
	printed := ""
	for _, more := range [][]string{{"-n", "1"}, nil, {"--follow", "-n", "1", "--interval", "20ms", "--with-cursor"}, nil} {
		if len(more) > 2 {
			add("b", 2*time.Hour) // it finished late
		}
		got := run(t, environment(fake), append(args, more...)...)
		if got.status != 0 {
			t.Fatalf("%v: %+v", more, got)
		}
		for line := range strings.Lines(got.stdout) {
			var read struct {
				ID         string                 `json:"_id"`
				Tournament horseracing.Tournament `json:"tournament"`
				Cursor     horseracing.Cursor     `json:"cursor"`
			}
			if err := json.Unmarshal([]byte(line), &read); err != nil || read.Cursor.IsZero() != (len(more) <= 2) {
				t.Errorf("%s: %v", line, err)
			}
			printed += read.ID + string(read.Tournament.ID)
		}
	}
	if printed != "acb" {
		t.Errorf("printed %q, want a, c, b", printed)
	}
	races := run(t, environment(fake), "results", "--cursor", file)
	if races.status == 0 || !strings.Contains(races.stderr, "another listing") {
		t.Errorf("races go on from tournaments: %+v", races)
	}
}
