package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/programtest"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// deep is set for the tests that take minutes.
var deep = os.Getenv("HORSERACING_DEEP") != ""

// What ends the program under test as kill -9 does: a time, and bytes in a file. It
// writes its process id to a file, so that the test can kill it at a request.
const killedAfter, killedAtBytes, pidFile = "KILLED_AFTER", "KILLED_AT_BYTES", "PID_FILE"

func killWhenDue() {
	if path := os.Getenv(pidFile); path != "" {
		if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			panic(err)
		}
	}
	if bytes, err := strconv.Atoi(os.Getenv(killedAtBytes)); err == nil {
		killAtBytes(bytes)
	}
	if d, err := time.ParseDuration(os.Getenv(killedAfter)); err == nil {
		time.AfterFunc(d, func() {
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill()
			}
		})
	}
}

// Each game kills the bot a few times, at a request (before or after it took effect)
// or within a write of the ledger, while responses are lost or requests arrive late,
// and starts it again each time; a last run settles when the races are over.
func TestWhereverItIsKilledNothingIsPaidTwiceOrForgotten(t *testing.T) {
	t.Parallel()
	games := 10
	if deep {
		games = 110
	}
	var kills atomic.Int64
	t.Run("games", func(t *testing.T) {
		for i := range games {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				kills.Add(playKilled(t, rand.New(rand.NewPCG(1, uint64(i)))))
			})
		}
	})
	t.Logf("killed %d times", kills.Load())
	if kills.Load() < int64(2*games) {
		t.Errorf("killed %d times in %d games", kills.Load(), games)
	}
}

func playKilled(t *testing.T, random *rand.Rand) (kills int64) {
	fake := newFake(t)
	addRaces(t, fake, horseracing.RaceParticipant{Number: 9999}) // without others a race proves nothing
	dir := t.TempDir()
	path := filepath.Join(dir, "l")
	var killAt atomic.Int64 // the request; counted down
	var isLost atomic.Bool  // whether that request takes no effect
	kill := func(horseracingtest.Request) (horseracingtest.Response, bool) {
		if killAt.Add(-1) != 0 {
			return horseracingtest.Response{}, false
		}
		if text, err := os.ReadFile(filepath.Join(dir, "pid")); err == nil {
			if pid, err := strconv.Atoi(string(text)); err == nil {
				if process, err := os.FindProcess(pid); err == nil {
					_ = process.Kill()
				}
			}
		}
		time.Sleep(5 * time.Millisecond) // until it is dead
		return horseracingtest.Response{Status: http.StatusServiceUnavailable}, isLost.Load()
	}
	fake.Handle("/api/v1/races/{id}", kill)
	fake.Handle("/api/v1/horses/{number}", kill)

	args := []string{"-ledger", path, "-horse", "1", "-horse", "2", "-at-once", "3", "-budget", "4", "-yes"}
	for range 3 {
		if random.IntN(2) == 0 {
			faults := []horseracingtest.Fault{{ResetBefore: true}, {ResetAfter: true}, {TakesEffectAfter: 10 * time.Minute}, {CutBody: 3}, {Status: http.StatusBadGateway}}
			fault := faults[random.IntN(len(faults))]
			fault.Method, fault.Path, fault.Skip = http.MethodPost, registerPath, random.IntN(2)
			fake.Inject(fault)
		}
		environment := append(programtest.Environment(fake), pidFile+"="+filepath.Join(dir, "pid"), killedAfter+"=1s")
		if random.IntN(2) == 0 && canKillAtBytes {
			size := 0
			if info, err := os.Stat(path); err == nil {
				size = int(info.Size())
			}
			environment = append(environment, killedAtBytes+"="+strconv.Itoa(size+random.IntN(500)))
		} else {
			killAt.Store(1 + random.Int64N(9))
			isLost.Store(random.IntN(2) == 0)
		}
		r := programtest.Run(t, environment, args...)
		killAt.Store(0)
		if r.Status == -1 {
			kills++
		} else if r.Status != 0 {
			t.Fatalf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
		}
	}
	fake.ClearFaults()
	fake.Advance(3 * time.Hour)
	if r := programtest.Run(t, programtest.Environment(fake), args...); r.Status != 0 {
		t.Fatalf("the last run: status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
	expectHonest(t, fake, path)
	if n := len(fake.Registrations()); n > 4 {
		t.Errorf("%d paid of a budget for 4", n)
	}
	posts := map[string]int{}
	for _, r := range fake.Requests() {
		if r.Method == http.MethodPost {
			if posts[string(r.Body)]++; posts[string(r.Body)] > 1 && len(r.Body) > 0 {
				t.Errorf("sent again: %s", r.Body)
			}
		}
	}
	return kills
}
