package simulation_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/ledger"
)

var errKilled = errors.New("the process was killed")

// process is one life of a program. It has a client of its own, and may be killed at
// any request and any write: nothing of it reaches the service or a store from then on.
type process struct {
	*world
	name   string
	client *horseracing.Client
	limit  time.Duration      // of a wait for a success or an error
	kill   context.CancelFunc // ends what is left of it
	random *rand.Rand         // of the program

	mu    sync.Mutex
	fate  *rand.Rand
	odds  int // of being killed at a step
	dead  atomic.Bool
	db    atomic.Pointer[sql.DB] // of its ledger
	moved time.Time              // when it last had a success or an error
}

// run runs a program again and again, each time after a pause, until the day ends.
func (w *world) run(name string, pause time.Duration, program func(context.Context, *process)) {
	w.names++
	random, fate := rand.New(rand.NewPCG(w.seed, 100+w.names)), rand.New(rand.NewPCG(w.seed, 200+w.names))
	w.programs.Go(func() {
		for time.Now().Before(w.end) {
			ctx, cancel := context.WithDeadline(context.Background(), w.end)
			p := &process{
				world: w, name: name, kill: cancel, random: random, fate: fate, moved: time.Now(),
				odds:  []int{10, 100, 1000}[random.IntN(3)],
				limit: 245 * time.Minute, // three hours in which everything is refused, a Retry-After of an hour from their end, and the retries
			}
			log := slog.New(slog.NewJSONHandler(p, &slog.HandlerOptions{Level: slog.LevelDebug}))
			p.client = w.fake.Client(double.Wrap(p.send), horseracing.WithLogger(log), horseracing.WithHTTPClient(&http.Client{Transport: w.way}))
			program(ctx, p)
			cancel()
			time.Sleep(min(pause/2+time.Duration(random.Int64N(int64(pause))), time.Until(w.end)))
		}
	})
}

// survives reports whether the process is alive after a step at which it may be killed.
func (p *process) survives() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.dead.Load() && time.Now().Before(p.calm) && p.fate.IntN(p.odds) == 0 {
		p.dead.Store(true)
		if db := p.db.Load(); db != nil {
			_ = db.Close() // a process that is killed writes nothing any more
		}
		p.kill()
		p.kills.Add(1)
	}
	return !p.dead.Load()
}

// send sends a request, unless the process is killed before. It may be killed after the
// response, too.
func (p *process) send(next http.RoundTripper, req *http.Request) (*http.Response, error) {
	if !p.survives() {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, errKilled
	}
	resp, err := next.RoundTrip(req)
	if err == nil && req.URL.Path == double.ResultsPath {
		err = double.Rewrite(resp, p.spoiled)
	}
	if !p.survives() {
		if err == nil {
			resp.Body.Close()
		}
		return nil, errKilled
	}
	if err == nil && resp.StatusCode < 300 {
		p.moves()
	}
	return resp, err
}

// write makes a change to a store: all of it, or nothing.
func (p *process) write(change func()) {
	if p.survives() {
		change()
		p.survives()
	}
}

// moves notes a success or an error, after a wait that was not too long.
func (p *process) moves() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	wait := now.Sub(p.moved)
	double.FailIf(p.t, wait > p.limit && !p.dead.Load() && now.Before(p.end), "at %v %s had waited %v for a success or an error", now, p.name, wait)
	p.moved = now
}

// Write takes a line of the log, which must show no key.
func (p *process) Write(line []byte) (int, error) {
	p.hides("the log of "+p.name, string(line))
	return len(line), nil
}

// fail notes an error that the program got.
func (p *process) fail(err error) {
	if err == nil {
		return
	}
	double.FailIf(p.t, errors.Is(err, horseracing.ErrInvalidArgument) || errors.Is(err, horseracing.ErrBodyIgnored) || errors.Is(err, ledger.ErrInUse), "%s: %v", p.name, err)
	p.hides(p.name, err.Error())
	p.moves()
}

// rest lets a program do nothing for a while.
func (p *process) rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved = time.Now()
}

// key distinguishes the entries of a listing: two heats have one id.
type key struct {
	id    string
	start int64
}

func raceKey(race *horseracing.Race) key {
	return key{fmt.Sprint(race.MainRaceID), race.StartTime.UnixMilli()}
}

// store is what a program has of a listing: how often it read each entry, what it was
// told instead, and where it continues.
type store struct {
	name    string
	tier    horseracing.TierID
	since   time.Time // no entry may start before it
	from    time.Time // entries that start at it or later,
	before  time.Time // and before this, have to be there
	times   map[key]int
	orders  int // races with a final order
	without int // races without one, after others had it
	holes   []error
	cursor  horseracing.Cursor
}

func (w *world) newStore(name string, random *rand.Rand) *store {
	since, tier := w.fake.Now().Add(-time.Duration(random.Int64N(int64(40*day)))), horseracing.TierID(random.IntN(6)) // zero is Omega
	return &store{name: name, tier: tier, since: since, from: since, times: map[key]int{}}
}

// add stores a race or an error together with the cursor after it.
func (s *store) add(race *horseracing.Race, err error, cursor horseracing.Cursor) {
	if race != nil {
		s.times[raceKey(race)]++
		if race.Finished() {
			s.orders++
		} else if s.orders > 0 {
			s.without++
		}
	}
	if isHole(err) {
		s.holes = append(s.holes, err)
	}
	s.cursor = cursor
}

// crawl reads the results again and again, newest first, into a new store each time.
func (w *world) crawl() (finished *[]*store) {
	var s *store
	finished = new([]*store)
	w.run("crawl", 5*time.Minute, func(ctx context.Context, p *process) {
		for ctx.Err() == nil {
			if s == nil {
				s = w.newStore(fmt.Sprintf("crawl %d", len(*finished)+1), p.random)
				s.before = w.fake.Now().Add(-published)
			}
			query := horseracing.ResultsQuery{Tier: s.tier, Since: s.since, Resume: s.cursor, Concurrency: 1 + p.random.IntN(4)}
			pager, whole := p.client.Races.Results(query), true
			for race, err := range pager.All(ctx) {
				whole = whole && err == nil
				p.fail(err)
				p.write(func() { s.add(race, err, pager.Cursor()) })
			}
			if whole && ctx.Err() == nil {
				p.write(func() { *finished, s = append(*finished, s), nil })
			}
			p.rest(ctx, time.Minute+time.Duration(p.random.Int64N(int64(time.Hour))))
		}
	})
	return finished
}

const interval = 5 * time.Minute // between the polls

// follow follows the results, or catches up with them every ten minutes.
func (w *world) follow(name string, catchUp bool) *store {
	random := rand.New(rand.NewPCG(w.seed, 2))
	s := w.newStore(name, random)
	s.before = w.clock(w.end.Add(-published - 20*time.Minute))
	pause := interval
	if catchUp {
		pause = 10 * time.Minute
		if random.IntN(3) == 0 { // it begins now, at the end of its first poll
			s.since = time.Time{}
		}
	}
	w.run(name, pause, func(ctx context.Context, p *process) {
		f := p.client.Races.Follow(horseracing.FollowQuery{Tier: s.tier, Since: s.since, Resume: s.cursor, Interval: interval, Concurrency: 1 + p.random.IntN(4)})
		loop, whole := f.All, true
		if catchUp {
			loop = f.CatchUp
		}
		for race, err := range loop(ctx) {
			whole = whole && err == nil
			p.fail(err)
			p.write(func() { s.add(race, err, f.Cursor()) })
		}
		if whole && s.since.IsZero() && ctx.Err() == nil {
			p.write(func() { s.from, s.since, s.cursor = w.fake.Now(), w.fake.Now().Add(-published), f.Cursor() })
		}
	})
	return s
}

// isHole reports whether an error is that of a part of a listing.
func isHole(err error) bool {
	_, isTie := errors.AsType[*horseracing.TieOverflowError](err)
	decode, isDecode := errors.AsType[*horseracing.DecodeError](err)
	return isTie || isDecode && decode.ID != ""
}

// watch watches the open races, and notes those that it saw.
func (w *world) watch() (seen map[key]bool) {
	seen = map[key]bool{}
	w.run("watch", interval, func(ctx context.Context, p *process) {
		for snapshot, err := range p.client.Races.Watch(ctx, horseracing.WatchQuery{Interval: interval}) {
			p.fail(err)
			p.write(func() {
				for i := range snapshot.Races {
					seen[raceKey(&snapshot.Races[i])] = true
				}
			})
		}
	})
	return seen
}

// bot is a program that registers a user's horses, with a ledger.
type bot struct {
	t             *testing.T
	user          int
	path          string
	total, perDay horseracing.BigInt
}

func (b *bot) open(client *horseracing.Client) (*sql.DB, *ledger.Ledger) {
	db := double.Must(sql.Open("sqlite", "file:"+b.path+"?mode=rwc&_pragma=busy_timeout(5000)&_pragma=synchronous(off)")) // no process is really killed
	if _, err := os.Stat(b.path); err != nil {
		double.NoError(b.t, ledger.Create(b.t.Context(), db, client))
	}
	return db, double.Must(ledger.Open(b.t.Context(), db, client, ledger.WithBudget(b.total), ledger.WithDailyBudget(b.perDay, time.UTC)))
}

// register runs a bot. Every five minutes it registers a few of its horses, some of them
// at the same time, and finds out what became of them.
func (w *world) register(user int) *bot {
	random := rand.New(rand.NewPCG(w.seed, uint64(10+user)))
	tokens := func(least, most int) horseracing.BigInt {
		n, _ := horseracing.ParseUnits(fmt.Sprint(least+random.IntN(most)), 18)
		return n
	}
	b := &bot{t: w.t, user: user, path: fmt.Sprintf("%s/%d.ledger", w.dir, user), total: tokens(1000, 30_000), perDay: tokens(500, 20_000)}
	w.run(fmt.Sprint("bot ", user), interval, func(ctx context.Context, p *process) {
		p.limit = 5 * time.Minute
		db, l := b.open(p.client)
		defer db.Close()
		p.db.Store(db)
		horses := w.fake.Horses(b.user)
		for ctx.Err() == nil {
			races, err := p.client.Races.Open(ctx)
			p.fail(err)
			var sending sync.WaitGroup
			for range min(3, len(races)) {
				race, horse := races[p.random.IntN(len(races))], horses[p.random.IntN(len(horses))]
				for _, heat := range races { // which of them is entered is not known
					if heat.MainRaceID == race.MainRaceID && heat.EntryFee.Cmp(race.EntryFee) > 0 {
						race = heat
					}
				}
				asked := time.Now().Add(time.Duration(1 + p.random.Int64N(int64(time.Second)))) // to end, at times under way
				sending.Go(func() {
					ctx, stop := context.WithDeadline(ctx, asked)
					defer stop()
					_, err := l.Register(ctx, horseracing.Registration{Horse: horse, Race: race.MainRaceID, UserKey: w.fake.UserKey(b.user)}, race.EntryFee)
					double.FailIf(p.t, errors.Is(err, horseracing.ErrOutcomeUnknown) && time.Now().Equal(asked) && !p.dead.Load(), "%s did not wait for a response: %v", p.name, err)
					p.fail(err)
				})
			}
			sending.Wait()
			settling, stop := context.WithTimeout(ctx, 3*time.Minute)
			p.fail(l.Settle(settling))
			stop()
			p.rest(ctx, interval)
		}
	})
	return b
}
