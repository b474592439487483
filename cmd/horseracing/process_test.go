package main

import (
	"bufio"
	"context"
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
	"time"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestAClosedPipeIsQuiet(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := start(t, nil, "results", "--demo") // 2,000 races: more than a pipe holds
	line, err := bufio.NewReader(stdout).ReadString('\n')
	double.FailIf(t, err != nil || !json.Valid([]byte(line)), "%q, %v", line, err)
	stdout.Close()
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v, %s", err, stderr)
	}
}

func TestNothingOfAResponseIsLogged(t *testing.T) {
	t.Parallel()
	url := double.Echoing(t, "[]", "the-api-key the-user-key")
	for range 5 { // net/http does not always notice
		double.Equal(t, "what is printed", result{}, run(t, variables(url, "the-api-key", "the-user-key"), "owned", "--json"))
	}
}

func TestASignalEndsEveryLongCommandWithItsStatus(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside there")
	}
	t.Parallel()
	fake := newFake(t, horseracingtest.WithLatency(time.Hour))
	for signal, want := range map[os.Signal]exitCode{os.Interrupt: {130, "interrupted"}, syscall.SIGTERM: {143, "terminated"}, syscall.Signal(1): {129, "terminated"}} {
		for _, args := range []string{"open", "watch", "results", "results --follow", "horse 1 2", "race 1 --json"} {
			before := fake.RequestCount()
			cmd, _, stderr := start(t, environment(fake), strings.Fields(args)...)
			waitFor(t, func() bool { return fake.RequestCount() > before })
			double.NoError(t, cmd.Process.Signal(signal))
			_ = cmd.Wait()
			said := strings.Contains(stderr.String(), `"code":"`+want.code+`","message":"it was `+want.code+`"`)
			status, isJSON := cmd.ProcessState.ExitCode(), strings.Contains(args, "--json")
			double.FailIf(t, status != want.status || said != isJSON || !said && stderr.Len() > 0, "%s, %v: status %d, %s", args, signal, status, stderr)
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
	fake, _, _ := newRegistration(t)
	fake.Inject(horseracingtest.Fault{Status: http.StatusNotFound}) // the first poll fails
	_, stdout, _ := start(t, environment(fake), "watch", "--new", "--interval", "1s")
	waitFor(t, func() bool { return fake.RequestCount() >= 3 }) // what was open before is not new
	lines := bufio.NewScanner(stdout)
	race, joined := openRace(fake, 10), openRace(fake, 10)
	joined.Participants = []horseracing.RaceParticipant{{Number: 8}}
	double.Transcript(t, "testdata/watch.txt", func(step string) string {
		switch step {
		case "a race opens":
			fake.AddRaces(race)
		case "a horse is entered":
			fake.AddRaces(joined)
		case "the race closes":
			fake.RemoveRaces(10)
		}
		lines.Scan()
		return lines.Text()
	})
	_, all, _ := start(t, environment(fake), "watch")
	if line, err := bufio.NewReader(all).ReadString('\n'); !strings.HasPrefix(line, `{"kind":"opened","race":`) {
		t.Errorf("%s, %v", line, err)
	}
}

func TestADeadAddressIsSaidWithinTwoSecondsByEveryCommand(t *testing.T) {
	t.Parallel()
	dead := variables("http://127.0.0.1:1", "the-app-key", "the-users-key")
	for _, command := range []string{
		"open", "results", "results --follow", "results -o FILE", "race 1", "horse 1", "owned", "breeding", "tournaments", "tournaments --finished", "tiers",
		"catalogue", "missions 1", "watch", "doctor", "call GET /api/v1/missions", "register --horse 1 --race 1 --ledger FILE",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(strings.ReplaceAll(command, "FILE", filepath.Join(t.TempDir(), "file")))
			expect(t, dead, result{status: 5, stderr: "connection refused"}, append(args, "--timeout", "2s")...)
		})
	}
}

// The last cause is named beside the time that is over.
func TestAnEndByTimeoutNamesTheLastCause(t *testing.T) {
	t.Parallel()
	fake := newFake(t)
	fake.Inject(horseracingtest.Fault{Status: 503, Times: -1})
	got := run(t, environment(fake), "results", "--timeout", "2s")
	lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
	last := lines[len(lines)-1]
	double.FailIf(t, got.status != 5 || !strings.Contains(last, "--timeout 2s: ") || !strings.Contains(last, "503"), "%+v", got)
	double.FailIf(t, !strings.Contains(lines[0], "horseracing: retry") || !strings.Contains(lines[0], "status=503"), "%s", lines[0])
}

// A restart reports what happened meanwhile, once, with the command of --exec too, which may fail.
func TestWatchWithStateRepeatsAndLosesNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside there")
	}
	t.Parallel()
	fake, dir := newFake(t, horseracingtest.WithSchedule(0)), t.TempDir()
	race := func(id horseracing.RaceID, fee int64) horseracing.Race {
		r := openRace(fake, id)
		r.EntryFee = horseracing.NewBigInt(fee)
		return r
	}
	// watch returns the changes that a run prints, until it has polled twice after change.
	watch := func(change func(), args ...string) (printed, stderr string) {
		polls := fake.RequestCount()
		cmd, stdout, said := start(t, environment(fake), append(args, "--interval", "1s", "--state", dir+"/state", "--max-fee", "3")...)
		waitFor(t, func() bool { return fake.RequestCount() >= polls+2 })
		change()
		polls = fake.RequestCount()
		waitFor(t, func() bool { return fake.RequestCount() >= polls+3 })
		double.NoError(t, cmd.Process.Signal(os.Interrupt))
		text, err := io.ReadAll(stdout)
		_ = cmd.Wait()
		double.NoError(t, err)
		return string(text), said.String()
	}
	jq := []string{"watch", "--jq", `"\(.kind) \(.race.main_race_id)"`}
	fake.AddRaces(race(1, 1e18), race(2, 9e18))
	printed, _ := watch(func() { fake.AddRaces(race(3, 1e18), race(4, 9e18)) }, append(jq, "--new")...)
	double.Equal(t, "new ones that fit", "opened 3\n", printed)
	joined := race(3, 1e18)
	joined.Participants = []horseracing.RaceParticipant{{Number: 8}}
	fake.AddRaces(joined, race(5, 1e18))
	fake.RemoveRaces(1)
	printed, said := watch(func() {}, append(jq, "--exec", "cat >>"+dir+"/seen; exit 3")...)
	double.Equal(t, "meanwhile", []string{"", "closed 1", "opened 5", "updated 3"}, slices.Sorted(strings.SplitSeq(printed, "\n")))
	double.Equal(t, "failures", 3, strings.Count(said, "--exec failed for race "))
	seen := linesOf(t, dir+"/seen")
	double.FailIf(t, len(seen) != 3 || !strings.HasPrefix(seen[0], `{"kind":"closed","race":{`), "%q", seen)
	printed, _ = watch(func() {}, jq...)
	double.Equal(t, "the next run", "", printed)
	writeFile(t, dir+"/state", "{")
	expect(t, environment(fake), result{status: 1, stderr: "was not written by --state, or is damaged"}, "watch", "--state", dir+"/state")

	double.NoError(t, os.Remove(dir+"/state"))
	fake.RemoveRaces(2, 3, 4, 5)
	_, _ = watch(func() {}, append(jq, "--new")...) // no race is open
	fake.AddRaces(race(6, 1e18))
	printed, _ = watch(func() {}, append(jq, "--new")...)
	double.Equal(t, "opened since a run without races", "opened 6\n", printed)
}

// A program that is killed while it prints a line, or that cannot print it, prints it again
// and loses none.
func TestThePositionIsWrittenAfterTheLinesThatItCovers(t *testing.T) {
	for _, follow := range []bool{false, true} {
		double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
			file := filepath.Join(t.TempDir(), "place")
			s := &service{Client: fake.Client()}
			args := []string{"--since", "7d", "--cursor", file, fmt.Sprintf("--follow=%t", follow)}
			var lines []string
			var positions [][]byte // as each line was printed
			print := func(at []byte, most int, more ...string) error {
				lines, positions = nil, nil
				os.Remove(file)
				if at != nil {
					writeFile(t, file, string(at))
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
				v := newView(p, c, p.raceLayout(nil))
				double.NoError(t, c.ParseFlags(slices.Concat(args, more)))
				double.NoError(t, o.resolve(t.Context(), p, s))
				return printFinished(t.Context(), p, s, o, listed[horseracing.Race]{view: v, start: func(r *horseracing.Race) time.Time { return r.StartTime.Time }, follow: s.Races.Follow})
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
		})
	}
}

// What was sent before the time was over is awaited, and may be paid or refused.
func TestTheOutcomeOfARegistrationCountsAfterTheTimeout(t *testing.T) {
	expired := errors.Join(errExpired, unpaid(horseracing.ErrOutcomeUnknown))
	if end := exitCodeOf(t.Context(), expired); end != outcomeOpen || new(program).explain(expired) == errExpired.Error() {
		t.Errorf("%+v, %s", end, new(program).explain(expired))
	}
	p, c := &program{timeout: time.Nanosecond, demo: true}, new(cobra.Command)
	c.SetContext(t.Context())
	refused := p.withService(c, nil, func(ctx context.Context, _ *service, _ []string) error {
		<-ctx.Done()
		return unpaid(&horseracing.APIError{StatusCode: http.StatusConflict})
	})
	if end := exitCodeOf(t.Context(), refused); end != notRegistered || errors.Is(refused, errExpired) {
		t.Errorf("a refusal: %+v, %v", end, refused)
	}
}
