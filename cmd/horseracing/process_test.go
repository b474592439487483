package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestAClosedPipeIsQuiet(t *testing.T) {
	t.Parallel()
	cmd := prepare(t, nil, "results", "--demo") // 2,000 races: more than a pipe holds
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
	fake.Inject(horseracingtest.Fault{Status: http.StatusNotFound}) // the first poll fails
	at := horseracing.NewTimestamp(fake.Now().Add(time.Hour))
	fake.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: at})
	_, stdout := start(t, environment(fake), "watch", "--new", "--interval", "1s")
	waitFor(t, func() bool { return fake.RequestCount() >= 3 })
	fake.AddRaces(horseracing.Race{MainRaceID: 8, StartTime: at})
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), `{"kind":"opened","race":`) || !strings.Contains(lines.Text(), `"main_race_id":8,`) {
		t.Errorf("%s", lines.Text())
	}
}

// A program that is killed while it prints a line, or that cannot print it, prints it again
// and loses none; a reader that stores the cursor of its last line gets each line once.
func TestThePositionIsWrittenAfterTheLinesThatItCovers(t *testing.T) {
	for _, follow := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "place")
			fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now))
			defer fake.Close()
			s := &service{Client: fake.Client()}
			args := []string{"--since", "7d", "--cursor", file, fmt.Sprintf("--follow=%t", follow)}
			var lines []string
			var positions [][]byte // as each line was printed
			print := func(at []byte, most int, more ...string) error {
				lines, positions = nil, nil
				err := os.RemoveAll(file)
				if at != nil {
					err = os.WriteFile(file, at, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				p := &program{stderr: io.Discard, stdout: writer(func(line []byte) error {
					time.Sleep(2 * saveInterval)
					position, err := os.ReadFile(file)
					if errors.Is(err, fs.ErrNotExist) { // before the first line is printed
						err = nil
					}
					if lines, positions = append(lines, string(line)), append(positions, position); len(lines) == most {
						err = syscall.ENOSPC
					}
					return err
				})}
				c := &cobra.Command{}
				o := listingFlags(c, "race")
				if err := c.ParseFlags(slices.Concat(args, more)); err != nil {
					t.Fatal(err)
				}
				return printFinished(t.Context(), p, s, o, listed[horseracing.Race]{start: func(r *horseracing.Race) time.Time { return r.StartTime.Time }, follow: s.Races.Follow})
			}
			if err := print(nil, 20); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("on a full disk: %v", err)
			}
			want, places := lines, positions
			places[19], _ = os.ReadFile(file)
			for _, i := range []int{0, 1, 10, 19} { // killed, or full
				if err := print(places[i], 0, "-n", "1"); err != nil || !slices.Equal(lines, want[i:i+1]) {
					t.Errorf("after %d lines: %v, %q, want %q", i, err, lines, want[i])
				}
			}
			if err := print(places[0], 0, "-n", "12", "--with-cursor"); err != nil {
				t.Fatal(err)
			}
			for i, line := range lines {
				var l struct {
					Race   json.RawMessage
					Cursor string
				}
				if err := json.Unmarshal([]byte(line), &l); err != nil || string(l.Race)+"\n" != want[i] {
					t.Errorf("%q, %v; want %q", line, err, want[i])
				}
				if err := print([]byte(l.Cursor), 0, "-n", "1"); err != nil || lines[0] != want[i+1] {
					t.Errorf("after the cursor of line %d: %v, %q, want %q", i, err, lines, want[i+1])
				}
			}
		})
	}
}

func TestTheCursorIsBoundToATierAndKeepsTheSinceOfTheFirstRun(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	query := []string{"results", "--tier", "2", "--since", "2025-05-25"}
	want := run(t, environment(fake), query...)
	lines := slices.Collect(strings.Lines(want.stdout))
	slices.Reverse(lines)
	want.stdout = strings.Join(lines, "")
	file := filepath.Join(t.TempDir(), "place")
	got := run(t, environment(fake), append(query, "-n", "7", "--cursor", file)...)
	rest := run(t, environment(fake), "results", "--tier", "2", "--since", "1d", "--cursor", file)
	got.stdout += rest.stdout
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" || strings.Count(want.stdout, "\n") < 9 {
		t.Errorf("%s", diff)
	}
	if again := run(t, environment(fake), append(query, "--cursor", file)...); again != (result{}) {
		t.Errorf("after the end: %+v", again)
	}
	other := run(t, environment(fake), "results", "--cursor", file, "--tier", "3")
	if other.status != 2 || other.stdout != "" || !strings.Contains(other.stderr, "tier 2, not 3") {
		t.Errorf("with another tier: %+v", other)
	}
}
