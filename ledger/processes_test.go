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
	"net/url"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

// asBot makes the test binary a bot. Its value has the ledger, the service, its key, the
// owner's key and two horses.
const asBot = "HORSERACING_LEDGER_BOT"

const feesAllowed, botRaces = 10, 10 // by the budget of the bots

func TestMain(m *testing.M) {
	if args := os.Getenv(asBot); args != "" {
		runBot(args)
		return
	}
	os.Exit(m.Run())
}

// runBot registers two horses for all races, in any order.
func runBot(args string) {
	ctx := context.Background()
	var database, address, apiKey string
	var userKey horseracing.UserKey
	var horses [2]horseracing.HorseNumber
	double.Must(fmt.Sscan(args, &database, &address, &apiKey, &userKey, &horses[0], &horses[1]))
	client := double.Must(horseracing.NewClient(address, apiKey))
	db := dial(database)
	l := double.Must(ledger.Open(ctx, db, client, ledger.WithBudget(tokens(10*feesAllowed))))
	defer db.Close()
	for _, i := range rand.Perm(2 * botRaces) {
		_, err := l.Register(ctx, horseracing.Registration{Horse: horses[i%2], Race: horseracing.RaceID(1 + i/2), UserKey: userKey}, tokens(10))
		expectAny(err, ledger.ErrBudget, ledger.ErrEntered, ledger.ErrUnsettled, horseracing.ErrOutcomeUnknown)
		if i%5 == 0 {
			expectAny(l.Settle(ctx), horseracing.ErrOutcomeUnknown)
		}
	}
}

// expectAny prints an error and ends the process, unless the error is nil or one of those expected.
func expectAny(err error, expected ...error) {
	if err != nil && !slices.ContainsFunc(expected, func(target error) bool { return errors.Is(err, target) }) {
		log.Fatal(err)
	}
}

func TestTenProcessesThatAreKilledPayEachPairOnceWithinTheBudget(t *testing.T) {
	kills := 0
	for run := 0; kills < double.Worlds(40, 600, 15); run++ {
		t.Run(fmt.Sprint(run), func(t *testing.T) { kills += playProcesses(t, uint64(run)) })
	}
	t.Logf("%d running processes were killed", kills)
}

// playProcesses lets ten bots share a ledger while some of them are killed at random instants. It returns how many
// were running then. Responses are lost, and the way to the service repeats each registration and caches what is read.
func playProcesses(t *testing.T, run uint64) int {
	random := rand.New(rand.NewPCG(3, run))
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0), horseracingtest.WithSeed(random.Uint64()))
	defer fake.Close()
	address := double.Must(url.Parse(fake.URL))
	gateway := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(address) },
		Transport: &double.Gateway{Next: http.DefaultTransport}, ErrorLog: log.New(io.Discard, "", 0),
	})
	defer gateway.Close()
	addRaces(fake, 1, botRaces)
	injectLosses(fake)
	fake.Inject(horseracingtest.Fault{Path: registerPath, Probability: 0.7, Delay: 50 * time.Millisecond})
	database := newAddress(t)
	db := connect(t, database)
	client := double.Must(horseracing.NewClient(gateway.URL, fake.APIKey))
	double.NoError(t, ledger.Create(t.Context(), db, client))
	args := fmt.Sprintln(database, gateway.URL, fake.APIKey, string(fake.UserKey(0)), fake.Horses(0)[0], fake.Horses(0)[1])
	var bots sync.WaitGroup
	var killed atomic.Int32
	start := func() *os.Process {
		var stderr bytes.Buffer
		command := exec.Command(os.Args[0])
		command.Env, command.Stderr = append(os.Environ(), asBot+"="+args), &stderr
		double.NoError(t, command.Start())
		bots.Go(func() {
			_ = command.Wait() // it may be killed
			if command.ProcessState.ExitCode() < 0 {
				killed.Add(1)
			}
			double.Equal(t, "printed", "", stderr.String())
		})
		return command.Process
	}
	processes := make([]*os.Process, 10)
	for i := range processes {
		processes[i] = start()
	}
	written := map[string]bool{}
	expectWritten := func() { // no entry is lost
		now := map[string]bool{}
		for _, e := range read(t, db) {
			now[fmt.Sprint(e.Horse, e.Race)] = true
		}
		for p := range written {
			double.Equal(t, p+" is there", true, now[p])
		}
		written = now
	}
	for range 10 {
		time.Sleep(time.Duration(random.IntN(80)) * time.Millisecond)
		i := random.IntN(len(processes))
		expectWritten()
		_ = processes[i].Kill() // it may have ended
		processes[i] = start()
	}
	bots.Wait()
	expectWritten()
	fake.ClearFaults()
	l := open(db, client)
	double.Equal(t, "used", tokens(10*feesAllowed), double.Must(l.Paid(t.Context(), time.Time{}))) // there are more races
	fake.Advance(3 * time.Hour)
	expectError(t, nil, l.Settle(t.Context()))
	expectHonest(t, fake, l, feesAllowed)
	return int(killed.Load())
}

// A transaction of another process is in the way.
func TestALockIsWaitedForAndTheOutcomeWaitsLonger(t *testing.T) {
	if isPostgres {
		t.Skip("a virtual clock stands while a server is waited for")
	}
	synctest.Test(t, func(t *testing.T) {
		fake, address := newFake(t, 4), newAddress(t)
		db, other := connect(t, address), connect(t, address)
		double.NoError(t, ledger.Create(t.Context(), db, fake.Client()))
		l := open(db, fake.Client())
		holdFor := func(d time.Duration) {
			tx := double.Must(other.Begin())
			double.Must(tx.Exec(`UPDATE horseracing_ledger SET writes = writes + 1`))
			time.AfterFunc(d, func() { _ = tx.Commit() })
		}
		expect := func(race int, timeout time.Duration, want error, takes time.Duration) {
			t.Helper()
			began := time.Now()
			_, err := l.Register(double.Within(t, timeout), registration(fake, race), tokens(10))
			expectError(t, want, err)
			double.Equal(t, "says that nothing was sent", want == ledger.ErrInUse, errors.Is(err, ledger.ErrInUse))
			double.Equal(t, fmt.Sprint("time of race ", race), takes, time.Since(began).Round(time.Second))
		}
		holdFor(11 * time.Second)
		open(db, fake.Client()) // needs no lock
		expect(1, time.Minute, ledger.ErrInUse, 5*time.Second)
		expect(1, 2*time.Second, context.DeadlineExceeded, 2*time.Second)
		expect(1, time.Minute, nil, 4*time.Second)
		hold := 16 * time.Second
		fake.Handle("POST "+registerPath, func(horseracingtest.Request) (horseracingtest.Response, bool) {
			if hold > 0 {
				holdFor(hold) // the lock is free while a registration is sent
			}
			return horseracingtest.Response{}, false
		})
		expect(2, time.Minute, nil, 16*time.Second)
		expectSent(t, fake, 2)
		hold = time.Minute
		expect(3, time.Second, ledger.ErrUnrecorded, 21*time.Second)
		hold = 0
		time.Sleep(time.Minute)
		expectSent(t, fake, 3)
		double.NoError(t, l.Settle(t.Context()))
		lose(t, fake, l, lostRequest, 4)
		time.Sleep(3 * time.Hour)
		holdFor(time.Minute)
		err := l.Settle(t.Context())
		expectError(t, horseracing.ErrOutcomeUnknown, err, "the ledger is in use")
		double.Equal(t, "says that nothing was sent", false, errors.Is(err, ledger.ErrInUse)) // which was, earlier
		double.Equal(t, "time of another call", time.Now().Add(time.Minute), undecided(t, err)[0].RetryAt)
		time.Sleep(time.Minute)
	})
}

// However the service reads its document, and whatever is lost: nothing is paid twice or
// beyond a budget, what is paid is Entered or Unknown, and Settle ends.
func TestNothingIsPaidTwiceOrBeyondABudgetUnderAnyReading(t *testing.T) {
	const affordable = 8
	for round := range double.Worlds(1, 10, 1) {
		for _, reading := range double.Readings() {
			double.RunBubble(t, reading.Name, func(t *testing.T, fake *horseracingtest.Server) {
				random := rand.New(rand.NewPCG(7, uint64(round)))
				way := fake.HTTPClient()
				if random.IntN(2) == 0 {
					way = &http.Client{Transport: &double.Gateway{Next: way.Transport}}
				}
				client := fake.Client(horseracing.WithRetry(horseracing.Retry{Max: 1}), horseracing.WithHTTPClient(way))
				db := create(t, client)
				for day := range double.Worlds(4, 4, 2) { // on each other races
					addRaces(fake, 10*day+1, 10*day+4)
					injectLosses(fake)
					fake.Inject(
						horseracingtest.Fault{Path: registerPath, Probability: 0.1, Status: 429}, horseracingtest.Fault{Path: registerPath, Probability: 0.1, Delay: time.Minute},
						horseracingtest.Fault{Path: "/api/v1/races/", Method: "GET", Probability: 0.1, Status: 503},
					)
					for range double.Worlds(16, 16, 8) {
						l := open(db, client, ledger.WithBudget(tokens(10*affordable)))
						r := registration(fake, 10*day+1+random.IntN(4))
						r.Horse = fake.Horses(0)[random.IntN(2)]
						_, _ = client.Races.Get(t.Context(), r.Race) // a cache may have it from now on
						if _, err := l.Register(t.Context(), r, tokens(10)); errors.Is(err, horseracing.ErrOutcomeUnknown) {
							_ = l.Settle(t.Context())
						}
						time.Sleep(time.Duration(random.IntN(3)) * time.Minute)
						expectHonest(t, fake, l, affordable)
					}
					fake.ClearFaults()
					l := open(db, client)
					for range 5 { // until nothing is undecided
						undecided, ok := errors.AsType[*horseracing.UndecidedError](l.Settle(t.Context()))
						if !ok || undecided.RetryAt.IsZero() {
							break
						}
						time.Sleep(time.Until(undecided.RetryAt))
					}
					expectHonest(t, fake, l, affordable)
				}
			}, horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0), horseracingtest.WithSeed(uint64(round)), horseracingtest.WithReadings(reading.Readings))
		}
	}
}

// injectLosses makes registrations fail in each way that leaves open what was paid.
func injectLosses(fake *horseracingtest.Server) {
	for _, fault := range []horseracingtest.Fault{{ResetBefore: true}, {ResetAfter: true}, {CutBody: 3}, {Status: 503}, {TakesEffectAfter: 30 * time.Minute}} {
		fault.Path, fault.Probability = registerPath, 0.1
		fake.Inject(fault)
	}
}

// expectHonest fails the test unless each pair was paid at most once, within the budget, and the
// ledger counts all that was paid and nothing else.
func expectHonest(t *testing.T, fake *horseracingtest.Server, l *ledger.Ledger, affordable int) {
	t.Helper()
	paid := map[string]int{} // times
	for _, r := range fake.Registrations() {
		paid[fmt.Sprint(r.Horse, r.Race)]++
	}
	double.Equal(t, "is within the budget", true, len(fake.Registrations()) <= affordable)
	times := map[ledger.State][2]int{ledger.Entered: {1, 1}, ledger.Unknown: {0, 1}, ledger.Sending: {0, 1}} // at least and at most
	for _, e := range entries(l) {
		p := fmt.Sprint(e.Horse, e.Race)
		if n := paid[p]; n < times[e.State][0] || n > times[e.State][1] {
			t.Errorf("%s is %s, and was paid %d times", p, e.State, n)
		}
		delete(paid, p)
	}
	double.Equal(t, "paid without an entry", map[string]int{}, paid)
}
