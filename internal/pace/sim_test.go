package pace

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sort"
	"time"
)

// A discrete-event simulation: services with limits, and clients that keep a
// number of requests in flight. Time is simulated, so that hours take
// milliseconds, and every run of a seed is the same.

// world is the clock and what happens next, in order.
type world struct {
	now    time.Time
	events []event
	random *rand.Rand
}

type event struct {
	at time.Time
	do func()
}

var simStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newWorld(seed uint64) *world {
	return &world{now: simStart, random: rand.New(rand.NewPCG(seed, 7))}
}

func (w *world) at(t time.Time, do func()) {
	i := sort.Search(len(w.events), func(i int) bool { return w.events[i].at.After(t) })
	w.events = slices.Insert(w.events, i, event{t, do})
}

func (w *world) after(d time.Duration, do func()) { w.at(w.now.Add(d), do) }

func (w *world) run(until time.Time) {
	for len(w.events) > 0 && !w.events[0].at.After(until) {
		e := w.events[0]
		w.events = w.events[1:]
		w.now = e.at
		e.do()
	}
	w.now = until
}

// limit returns whether a request that arrives now is accepted, and otherwise after what time
// one would be.
type limit func(now time.Time) (bool, time.Duration)

func none(time.Time) (bool, time.Duration)  { return true, 0 }
func never(time.Time) (bool, time.Duration) { return false, 0 }

// newBucket refills at a rate that may change at some times after the start.
func newBucket(rate, burst float64, changes ...change) limit {
	tokens, last := burst, simStart
	return func(now time.Time) (bool, time.Duration) {
		for len(changes) > 0 && !now.Before(simStart.Add(changes[0].at)) {
			rate, changes = changes[0].rate, changes[1:]
		}
		tokens, last = min(burst, tokens+rate*now.Sub(last).Seconds()), now
		if tokens >= 1-1e-9 {
			tokens--
			return true, 0
		}
		return false, seconds((1 - tokens) / rate)
	}
}

type change struct {
	at   time.Duration
	rate float64
}

// newWindow accepts so many requests in each window, or if it slides in any such time.
func newWindow(most int, length time.Duration, slides bool) limit {
	var window []time.Time
	return func(now time.Time) (bool, time.Duration) {
		for len(window) > 0 && now.Sub(window[0]) >= length {
			window = window[1:]
		}
		if len(window) >= most {
			return false, window[0].Add(length).Sub(now)
		}
		began := now
		if !slides {
			began = now.Truncate(length)
		}
		window = append(window, began)
		return true, 0
	}
}

// both holds two limits at once. What the second refuses has used up what the first gave.
func both(a, b limit) limit {
	return func(now time.Time) (bool, time.Duration) {
		if ok, wait := a(now); !ok {
			return ok, wait
		}
		return b(now)
	}
}

// atRandom refuses a share of all requests besides those beyond a limit.
func atRandom(share float64, seed uint64, l limit) limit {
	random := rand.New(rand.NewPCG(seed, 9))
	return func(now time.Time) (bool, time.Duration) {
		if random.Float64() < share {
			return false, time.Second
		}
		return l(now)
	}
}

// service accepts or refuses, 1 ms after a request was sent, and works for 18 to 20 ms, or
// as long as work says.
type service struct {
	limit      limit
	inFlight   int // requests that it works on at once, if it refuses others
	work       func(*rand.Rand) time.Duration
	retryAfter func(time.Duration) time.Duration // the Retry-After of a refusal; nil: none
	refusal    Signal                            // Refused unless it is given

	busy, served, refused int
}

func between(a, b time.Duration) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return a + time.Duration(r.Int64N(int64(b-a))) }
}

func exact(d time.Duration) time.Duration { return d }

func always(d time.Duration) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return d }
}

func roundedUp(d time.Duration) time.Duration { // as the header is
	return max((d + time.Second - 1).Truncate(time.Second), time.Second)
}

// respond handles a request that is sent now.
func (s *service) respond(w *world, report func(Signal, time.Duration)) {
	w.after(time.Millisecond, func() {
		ok, wait := s.inFlight == 0 || s.busy < s.inFlight, time.Duration(0)
		if ok {
			ok, wait = s.limit(w.now)
		}
		if !ok {
			retryAfter := time.Duration(0)
			if s.retryAfter != nil {
				retryAfter = s.retryAfter(wait)
			}
			w.after(time.Millisecond, func() {
				s.refused++
				report(cmp.Or(s.refusal, Refused), retryAfter)
			})
			return
		}
		s.busy++
		work := s.work
		if work == nil {
			work = between(18*time.Millisecond, 20*time.Millisecond)
		}
		w.after(work(w.random), func() {
			s.busy--
			s.served++
			report(Accepted, 0)
		})
	})
}

// serves returns how many requests are accepted in the time that follows.
func (c *caller) serves(length time.Duration) int {
	before := c.served
	c.run(c.now.Add(length))
	return c.served - before
}

func (s *service) refusedShare() float64 { return float64(s.refused) / float64(s.served+s.refused) }

// caller sends requests of several routes to a service through one pace.
type caller struct {
	*world
	*service
	pace     *Routes
	calls    map[*Waiter]func(sent time.Time)
	wake     time.Time
	accepted map[string]int
}

func (w *world) newCaller(svc *service) *caller {
	return &caller{
		world: w, service: svc, pace: NewRoutes(w.random.Float64),
		calls: map[*Waiter]func(time.Time){}, accepted: map[string]int{},
	}
}

// crawl keeps workers requests of a walk going through a pace of its own.
func (w *world) crawl(svc *service, workers int) *caller {
	c := w.newCaller(svc)
	w.after(time.Duration(w.random.Int64N(int64(100*time.Millisecond))), func() { c.walk("walk", workers) })
	return c
}

// call makes one attempt, and calls done with the time at which it was sent.
func (c *caller) call(priority Priority, route string, done func(sent time.Time)) {
	t := &Waiter{Kind: Kind{route, priority, priority == Walks, 0}}
	c.calls[t] = done
	c.pace.Join(c.now, t)
	c.pump()
}

func (c *caller) pump() {
	for {
		t, at := c.pace.Next(c.now)
		if t == nil {
			if !at.IsZero() && (!c.wake.After(c.now) || at.Before(c.wake)) {
				c.wake = at
				c.at(at, c.pump)
			}
			return
		}
		sent := c.now
		c.pace.Send(sent, t)
		c.respond(c.world, func(outcome Signal, retryAfter time.Duration) {
			if outcome == Accepted {
				c.accepted[t.Route]++
			}
			c.pace.Report(c.now, t, outcome, holds(retryAfter))
			done := c.calls[t]
			delete(c.calls, t)
			done(sent)
			c.pump()
		})
	}
}

// every calls the route at each interval, or later if the last call takes longer. It returns the
// longest time until one was sent.
func (c *caller) every(interval time.Duration, priority Priority, route string) (latest *time.Duration) {
	latest = new(time.Duration)
	var tick func()
	tick = func() {
		begun := c.now
		c.call(priority, route, func(sent time.Time) {
			*latest = max(*latest, sent.Sub(begun))
			c.at(later(c.now, begun.Add(interval)), tick)
		})
	}
	c.after(time.Duration(c.random.Int64N(int64(interval))), tick)
	return latest
}

// walk keeps so many requests of the route waiting or in flight.
func (c *caller) walk(route string, workers int) {
	for range workers {
		var next func(time.Time)
		next = func(time.Time) { c.call(Walks, route, next) }
		next(c.now)
	}
}

// holds is the hold of a Retry-After.
func holds(retryAfter time.Duration) Hold { return Hold{Route: retryAfter, Walks: retryAfter} }
