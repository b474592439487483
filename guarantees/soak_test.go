package guarantees_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// countedConn counts connections that are open. A body that is not closed
// keeps its connection open, even where the idle ones are closed.
type countedConn struct {
	net.Conn
	once sync.Once
	open *atomic.Int64
}

func (c *countedConn) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

// TestSoak makes 3,200 calls, or 20,000 at full size, 16 at a time, while something breaks on the way
// of every eighth. No read is lost unless it was cut twice, no registration is lost or made twice, and
// nothing is left behind: no goroutine, no connection, and so no body.
func TestSoak(t *testing.T) {
	const workers, registrationsEach = 16, 40
	callsEach := 200
	if full {
		callsEach = 1250
	}
	before := runtime.NumGoroutine()
	server := horseracingtest.NewServer(horseracingtest.WithHistory(200), horseracingtest.WithSchedule(0), horseracingtest.WithRequestLog(1))
	start := horseracing.NewTimestamp(server.Now().Add(time.Hour))
	for id := range workers * registrationsEach {
		server.AddRaces(horseracing.Race{
			ID: fmt.Sprint("soak-", id), MainRaceID: soakRace(id), StartTime: start, RegistrationDeadline: start,
			Places: 12, Status: horseracing.RaceStatusInProgress,
		})
	}
	var open atomic.Int64
	pool := &http.Transport{MaxIdleConnsPerHost: workers, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		open.Add(1)
		return &countedConn{Conn: conn, open: &open}, nil
	}}
	c, err := horseracing.NewClient(server.URL, server.APIKey, horseracing.WithHTTPClient(&http.Client{Transport: pool}),
		horseracing.WithAttemptTimeout(time.Second),
		horseracing.WithRetry(horseracing.Retry{Max: 12, MinWait: time.Millisecond, MaxWait: 4 * time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	faults := []horseracingtest.Fault{
		{Status: 500}, {Status: 502, Body: "<html>bad gateway</html>"}, {Status: 503}, {Status: 504}, {Status: 408},
		{ResetBefore: true}, {ResetAfter: true}, {CutBody: 1}, {CutBody: 20}, {Delay: 10 * time.Millisecond}, {Drip: 10 * time.Microsecond},
	}

	var work sync.WaitGroup
	var cutTwice atomic.Int64
	for worker := range workers {
		work.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 0))
			user := worker % server.NumUsers()
			horse := server.Horses(user)[worker/server.NumUsers()]
			registered := 0
			for call := range callsEach {
				if random.IntN(8) == 0 {
					server.Inject(faults[random.IntN(len(faults))])
				}
				var err error
				switch {
				case call%(callsEach/registrationsEach) == 0 && registered < registrationsEach:
					err = registerSurely(t.Context(), c, horseracing.Registration{
						Horse: horse, Race: soakRace(worker*registrationsEach + registered), UserKey: server.UserKey(user),
					})
					registered++
				case call%3 == 0:
					err = soakHorse(t.Context(), c, horse)
				case call%3 == 1:
					var horses []horseracing.Horse
					if horses, err = c.Horses.Owned(t.Context(), server.UserKey(user)); err == nil && len(horses) != len(server.Horses(user)) {
						err = fmt.Errorf("%d horses of %d", len(horses), len(server.Horses(user)))
					}
				default:
					var races []horseracing.Race
					if races, err = c.Races.Results(horseracing.ResultsQuery{}).Take(t.Context(), 5); err == nil && len(races) != 5 {
						err = fmt.Errorf("%d races of 5", len(races))
					}
				}
				if errors.Is(err, io.ErrUnexpectedEOF) {
					cutTwice.Add(1)
				} else if err != nil {
					t.Errorf("worker %d, call %d: %v", worker, call, err)
				}
			}
		})
	}
	work.Wait()
	if n := int(cutTwice.Load()); n > workers*callsEach/100 {
		t.Errorf("%d reads of %d were cut twice", n, workers*callsEach)
	}

	times := map[string]int{}
	for _, r := range server.Registrations() {
		times[fmt.Sprintf("horse %d in race %d", r.Horse, r.Race)]++
	}
	if len(times) != workers*registrationsEach {
		t.Errorf("%d registrations, want %d", len(times), workers*registrationsEach)
	}
	for what, n := range times {
		if n != 1 {
			t.Errorf("%s: registered %d times", what, n)
		}
	}
	t.Logf("%d requests for %d calls", server.RequestCount(), workers*callsEach)

	pool.CloseIdleConnections()
	server.Close()
	eventually(t, func() string {
		if n := open.Load(); n != 0 {
			return fmt.Sprintf("%d connections are open", n)
		}
		if n := runtime.NumGoroutine(); n > before {
			return fmt.Sprintf("%d goroutines, %d before", n, before)
		}
		return ""
	})
}

// A history has no end, memory has: what a walk keeps of the races it handed
// out does not grow with them.
func TestALongWalkKeepsNothingOfWhatItYielded(t *testing.T) {
	unlessShort(t)
	const races, early = longHistory, longHistory / 10
	for name, walk := range map[string]func(*horseracing.Client) *horseracing.Pager[horseracing.Race]{
		"by time, one at a time": func(c *horseracing.Client) *horseracing.Pager[horseracing.Race] {
			return c.Races.Results(horseracing.ResultsQuery{})
		},
		"by time, four at once": func(c *horseracing.Client) *horseracing.Pager[horseracing.Race] {
			return c.Races.Results(horseracing.ResultsQuery{Concurrency: 4})
		},
		"by offset": func(c *horseracing.Client) *horseracing.Pager[horseracing.Race] {
			return c.Races.ResultsV1(horseracing.OffsetQuery{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, service, &http.Client{Transport: tripFunc(longListing)})
			pager, n := walk(c), 0
			var before uint64
			for _, err := range pager.All(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				switch n++; n {
				case early:
					before = liveHeap()
				case races - early:
					if grown := int64(liveHeap() - before); grown > 1<<20 {
						t.Errorf("%d KiB more are held after %d races than after %d", grown>>10, n, early)
					}
				}
			}
			if n != races {
				t.Errorf("%d races of %d", n, races)
			}
			if cursor := pager.Cursor().String(); len(cursor) > 500 {
				t.Errorf("a cursor of %d bytes", len(cursor))
			}
		})
	}
}

// longHistory is how many races longListing holds, three a minute.
const longHistory = 100_000

// longListing serves both listings of finished races.
func longListing(req *http.Request) (*http.Response, error) {
	const oldest = 1_600_000_000_000
	var body struct {
		From   *int64 `json:"start_time_from"`
		Offset int64
	}
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		return nil, err
	}
	shown := longHistory - body.Offset // race n, counted from the oldest, starts in minute n/3
	if body.From != nil {
		minutes := (*body.From - oldest + 59_999) / 60_000
		shown = min(3*minutes-1, longHistory)
	}
	var page []string
	for n := shown; n > max(0, shown-10); n-- {
		page = append(page, fmt.Sprintf(`{"main_race_id":%d,"start_time":%d}`, n, oldest+n/3*60_000))
	}
	return respond(200, "["+strings.Join(page, ",")+"]")(req)
}

// Concurrency is how many requests are in flight, no more, and reading ahead
// has its bound: 32 pages for each of them in the range that is read, and as
// many below it.
func TestAWalkKeepsToItsConcurrencyAndItsBound(t *testing.T) {
	for _, concurrency := range []int{1, 4, 8} {
		synctest.Test(t, func(t *testing.T) {
			var inFlight, most, shown atomic.Int64
			var listed sync.Map // the races that were returned
			c := connect(t, service, &http.Client{Transport: tripFunc(func(req *http.Request) (*http.Response, error) {
				defer inFlight.Add(-1)
				if n := inFlight.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(time.Millisecond)
				resp, err := longListing(req)
				if err != nil {
					return nil, err
				}
				text, _ := io.ReadAll(resp.Body)
				var page []horseracing.Race
				if err := json.Unmarshal(text, &page); err != nil {
					return nil, err
				}
				for _, race := range page {
					if _, again := listed.LoadOrStore(race.MainRaceID, true); !again {
						shown.Add(1)
					}
				}
				return respond(200, string(text))(req)
			})})
			n, ahead := 0, int64(0)
			for _, err := range c.Races.Results(horseracing.ResultsQuery{Concurrency: concurrency}).All(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n == longHistory/5 {
					break
				}
				ahead = max(ahead, shown.Load()-int64(n))
				time.Sleep(5 * time.Millisecond) // slower than the service
			}
			if most.Load() != int64(concurrency) {
				t.Errorf("%d requests in flight, want %d", most.Load(), concurrency)
			}
			if bound := int64(10 * (2*32*concurrency + concurrency)); ahead > bound {
				t.Errorf("at %d: read up to %d races ahead, want at most %d", concurrency, ahead, bound)
			}
		})
	}
}

// Follow hands out a past of any length oldest first, but holds a small part of it.
func TestFollowHoldsLittleOfALongPast(t *testing.T) {
	c := connect(t, service, &http.Client{Transport: tripFunc(longListing)})
	before, races := liveHeap(), 0
	for race, err := range c.Races.Follow(horseracing.FollowQuery{Since: time.UnixMilli(1)}).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if races++; race.MainRaceID != horseracing.RaceID(races) {
			t.Fatalf("race %d came as number %d", race.MainRaceID, races)
		}
		if races == 1 || races == 5000 {
			if held := int64(liveHeap() - before); held > 2<<20 {
				t.Errorf("%d KiB are held at race %d of %d", held>>10, races, longHistory)
			}
		}
		if races == 5000 {
			break
		}
	}
}

func liveHeap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers held
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func soakRace(i int) horseracing.RaceID { return horseracing.RaceID(5_000_000 + i) }

func soakHorse(ctx context.Context, c *horseracing.Client, number horseracing.HorseNumber) error {
	horse, err := c.Horses.Get(ctx, number)
	if err == nil && horse.Number != number {
		err = fmt.Errorf("requested horse %d, got %d", number, horse.Number)
	}
	return err
}

// registerSurely is what a careful program does about an unknown outcome: it reads
// the race before it registers again.
func registerSurely(ctx context.Context, c *horseracing.Client, r horseracing.Registration) error {
	for {
		_, err := c.Races.Register(ctx, r)
		if !errors.Is(err, horseracing.ErrOutcomeUnknown) {
			return err
		}
		race, err := c.Races.Get(ctx, r.Race)
		for errors.Is(err, io.ErrUnexpectedEOF) {
			race, err = c.Races.Get(ctx, r.Race)
		}
		if err != nil || race.Has(r.Horse) {
			return err
		}
	}
}

// eventually waits until nothing is left to complain about.
func eventually(t *testing.T, complaint func() string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		switch problem := complaint(); {
		case problem == "":
			return
		case time.Now().After(deadline):
			t.Error(problem)
			return
		}
	}
}
