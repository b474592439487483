package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
	"github.com/horseracing-go/horseracing/ledger"
)

// asBot makes the test binary a bot. Its value has the ledger, the service, its key, the
// owner's key and two horses.
const asBot = "HORSERACING_LEDGER_BOT"

const feesAllowed, botRaces = 10, 10 // by the budget of the bots

func TestMain(m *testing.M) {
	if args := os.Getenv(asBot); args != "" {
		if err := runBot(args); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runBot registers two horses for all races, in any order. It ends after a signal, once it knows what
// became of the registration that is under way.
func runBot(args string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var path, url, apiKey string
	var userKey horseracing.UserKey
	var horses [2]horseracing.HorseNumber
	if _, err := fmt.Sscan(args, &path, &url, &apiKey, &userKey, &horses[0], &horses[1]); err != nil {
		return err
	}
	client, err := horseracing.NewClient(url, apiKey)
	if err != nil {
		return err
	}
	l, err := ledger.Open(path, client, ledger.WithBudget(tokens(10*feesAllowed)))
	if err != nil {
		return err
	}
	for _, i := range rand.Perm(2 * botRaces) {
		r := horseracing.Registration{Horse: horses[i%2], Race: horseracing.RaceID(1 + i/2), UserKey: userKey}
		_, err := l.Register(ctx, r, tokens(10))
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !errors.Is(err, ledger.ErrBudget) && !errors.Is(err, ledger.ErrEntered) && !errors.Is(err, ledger.ErrUnsettled) && !errors.Is(err, horseracing.ErrOutcomeUnknown) {
			return err
		}
		if i%5 == 0 {
			if err := l.Settle(ctx); err != nil && !errors.Is(err, horseracing.ErrOutcomeUnknown) {
				return err
			}
		}
	}
	return nil
}

func TestEightProcessesThatAreKilledPayEachPairOnceWithinTheBudget(t *testing.T) {
	for run := range double.Worlds(5, 500, 5) {
		t.Run(fmt.Sprint(run), func(t *testing.T) { playProcesses(t, uint64(run), os.Kill) })
	}
}

func TestEightProcessesThatAreAskedToEndKnowEachOutcome(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it has no such signal")
	}
	for run := range double.Worlds(3, 300, 3) {
		t.Run(fmt.Sprint(run), func(t *testing.T) { playProcesses(t, uint64(run), syscall.SIGTERM) })
	}
}

// playProcesses lets eight bots share a ledger while some of them get a signal at random instants.
// Responses are lost unless that signal leaves time to wait for them. The way to the service repeats
// each registration and caches what is read.
func playProcesses(t *testing.T, run uint64, end os.Signal) {
	random := rand.New(rand.NewPCG(3, run))
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0), horseracingtest.WithSeed(random.Uint64()))
	defer fake.Close()
	gateway := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", strings.TrimPrefix(fake.URL, "http://")
		},
		Transport: &double.Gateway{Next: http.DefaultTransport}, ErrorLog: log.New(io.Discard, "", 0),
	})
	defer gateway.Close()
	addRaces(fake, 1, botRaces)
	if end == os.Kill {
		injectLosses(fake)
	}
	fake.Inject(horseracingtest.Fault{Path: registerPath, Probability: 0.7, Delay: 50 * time.Millisecond})
	path := filepath.Join(t.TempDir(), "l")
	args := fmt.Sprintln(path, gateway.URL, fake.APIKey, string(fake.UserKey(0)), fake.Horses(0)[0], fake.Horses(0)[1])
	var bots sync.WaitGroup
	start := func() *os.Process {
		var stderr bytes.Buffer
		command := exec.Command(os.Args[0])
		command.Env, command.Stderr = append(os.Environ(), asBot+"="+args), &stderr
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		bots.Go(func() {
			if err := command.Wait(); stderr.Len() > 0 {
				t.Errorf("%v: %s", err, &stderr)
			}
		})
		return command.Process
	}
	processes := make([]*os.Process, 8)
	for i := range processes {
		processes[i] = start()
	}
	written := ""
	expectWritten := func() {
		data, _ := os.ReadFile(path)
		if !strings.HasPrefix(string(data), written) {
			t.Errorf("a line is lost of\n%s\nthere is\n%s", written, data)
		}
		written = string(data[:bytes.LastIndexByte(data, '\n')+1])
	}
	for range 8 {
		time.Sleep(time.Duration(random.IntN(80)) * time.Millisecond)
		i := random.IntN(len(processes))
		expectWritten()
		_ = processes[i].Signal(end) // it may have ended
		processes[i] = start()
	}
	bots.Wait()
	expectWritten()
	fake.ClearFaults()
	client, err := horseracing.NewClient(gateway.URL, fake.APIKey)
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, path, client)
	if used := l.Paid(time.Time{}); !used.Equal(tokens(10 * feesAllowed)) { // there are more races
		t.Errorf("%s of the budget are used", used)
	}
	if _, held := ledger.Sum(l.Entries(), time.Time{}); end != os.Kill && !held.IsZero() {
		t.Errorf("%s may be paid, in %s", held, read(t, path))
	}
	fake.Advance(3 * time.Hour)
	if err := l.Settle(t.Context()); err != nil {
		t.Error(err)
	}
	expectHonest(t, fake, l, feesAllowed)
}

// A call in another process holds the lock.
func TestALockIsWaitedForAndTheOutcomeWaitsLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, path, l := newLedger(t, 3)
		other := flock.New(path + ".lock")
		holdFor := func(d time.Duration) {
			if locked, err := other.TryLock(); !locked {
				t.Error(err)
			}
			time.AfterFunc(d, func() { other.Unlock() })
		}
		register := func(race int, timeout time.Duration, want error, takes time.Duration) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			began := time.Now()
			_, err := l.Register(ctx, registration(fake, race), tokens(10))
			if took := time.Since(began).Round(time.Second); !errors.Is(err, want) || took != takes {
				t.Errorf("race %d after %v: %v", race, took, err)
			}
		}
		holdFor(11 * time.Second)
		open(t, path, fake.Client()) // needs no lock
		register(1, time.Minute, ledger.ErrInUse, 5*time.Second)
		register(1, 2*time.Second, context.DeadlineExceeded, 2*time.Second)
		register(1, time.Minute, nil, 4*time.Second)
		fake.Handle("POST "+registerPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
			holdFor(10 * time.Minute) // the lock is free while a registration is sent
			return horseracingtest.Response{}, false
		})
		register(2, time.Minute, nil, 10*time.Minute)
		if posts(fake) != 2 {
			t.Errorf("%d sent", posts(fake))
		}
		lose(t, fake, l, lostRequest, 3)
		time.Sleep(3 * time.Hour)
		holdFor(time.Minute)
		if err := l.Settle(t.Context()); !undecided(t, err)[0].RetryAt.Equal(time.Now().Add(time.Minute)) || !errors.Is(err, ledger.ErrInUse) {
			t.Errorf("Settle: %v", err)
		}
		time.Sleep(time.Minute)
	})
}
