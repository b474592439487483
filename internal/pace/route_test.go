package pace

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// caller sends requests for several routes through one pace, in a simulated
// world. allow is the service.
type caller struct {
	*world
	pace  *Routes
	allow func(route string) (ok bool, retryAfter time.Duration)
	calls map[*Waiter]func(sent time.Time, ok bool)
	wake  time.Time

	unavailable    bool // it refuses with 503
	sent, accepted map[string]int
}

func newCaller(seed uint64, allow func(w *world, route string) (bool, time.Duration)) *caller {
	w := newWorld(seed)
	return &caller{
		world: w, pace: newPace(w.random.Float64), allow: func(route string) (bool, time.Duration) { return allow(w, route) },
		calls: map[*Waiter]func(time.Time, bool){}, sent: map[string]int{}, accepted: map[string]int{},
	}
}

// call makes one attempt, and calls done with its outcome.
func (c *caller) call(priority Priority, route string, done func(sent time.Time, ok bool)) {
	t := NewWaiter(priority, route)
	t.Once = priority == Write
	c.calls[&t] = done
	c.pace.Join(&t)
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
		c.pace.Send(c.now, t)
		c.send(t, c.now)
	}
}

func (c *caller) send(t *Waiter, sent time.Time) {
	c.sent[t.routeName]++
	ok, retryAfter := c.allow(t.routeName)
	c.after(20*time.Millisecond, func() {
		outcome := Refused
		if c.unavailable {
			outcome = Unavailable
		}
		if ok {
			outcome = Accepted
			c.accepted[t.routeName]++
		}
		c.pace.Report(c.now, t, outcome, holds(retryAfter))
		done := c.calls[t]
		delete(c.calls, t)
		done(sent, ok)
		c.pump()
	})
}

// every calls the route at each interval, unless the last call is still in
// progress. It returns how many calls succeeded, and the longest time until
// one was sent.
func (c *caller) every(interval time.Duration, priority Priority, route string) (succeeded *int, latest *time.Duration) {
	succeeded, latest = new(int), new(time.Duration)
	busy := false
	var tick func()
	tick = func() {
		c.after(interval, tick)
		if busy {
			return
		}
		busy = true
		begun := c.now
		c.call(priority, route, func(sent time.Time, ok bool) {
			busy = false
			*latest = max(*latest, sent.Sub(begun))
			if ok {
				*succeeded++
			}
		})
	}
	c.after(time.Duration(c.random.Int64N(int64(interval))), tick)
	return succeeded, latest
}

// walk keeps 16 requests of the route waiting or in flight.
func (c *caller) walk(route string) {
	for range 16 {
		var next func(time.Time, bool)
		next = func(time.Time, bool) { c.call(Walk, route, next) }
		next(c.now, true)
	}
}

// TestABadRouteStopsNobody: beside a route that is always refused, or in all but
// a few requests, the others are called as if it were not there.
func TestABadRouteStopsNobody(t *testing.T) {
	const length = 2 * time.Hour
	tenSeconds := newBucket(0.1, 1)
	for name, bad := range map[string]func(now time.Time) (bool, time.Duration){
		"429":                   func(time.Time) (bool, time.Duration) { return false, 0 },
		"429, Retry-After 1":    func(time.Time) (bool, time.Duration) { return false, time.Second },
		"503, Retry-After 60":   func(time.Time) (bool, time.Duration) { return false, time.Minute },
		"503, Retry-After 3600": func(time.Time) (bool, time.Duration) { return false, time.Hour },
		"one in ten seconds":    func(now time.Time) (bool, time.Duration) { ok, _ := tenSeconds.admit(now); return ok, 0 },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCaller(1, func(w *world, route string) (bool, time.Duration) {
				if route == "bad" {
					return bad(w.now)
				}
				return true, 0
			})
			reads, _ := c.every(time.Second, Read, "good")
			registrations, latest := c.every(time.Minute, Write, "register")
			c.every(time.Second, Read, "bad")
			c.run(simStart.Add(length))
			t.Logf("%d reads, %d registrations, the latest after %v; %d requests of the bad route", *reads, *registrations, *latest, c.sent["bad"])
			if want := int(length.Seconds() * 0.95); *reads < want {
				t.Errorf("%d reads, want %d", *reads, want)
			}
			if *registrations < int(length.Minutes())-1 || *latest > 2*time.Second {
				t.Errorf("%d registrations in two hours, the latest sent after %v", *registrations, *latest)
			}
		})
	}
}

// TestSharedLimits: routes behind one common limit use it together.
func TestSharedLimits(t *testing.T) {
	inTenSeconds := func() limit { return &window{most: 60, length: 10 * time.Second} }
	for _, test := range []struct {
		name       string
		limit      func() limit
		retryAfter bool
		perSecond  float64
	}{
		{"5 a second", func() limit { return newBucket(5, 10) }, false, 5},
		{"2 a second, no bursts", func() limit { return newBucket(2, 1) }, false, 2},
		{"60 in 10 s", inTenSeconds, false, 6},
		{"60 in 10 s, Retry-After", inTenSeconds, true, 6},
	} {
		for _, walks := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s, %d walks", test.name, walks), func(t *testing.T) {
				limit := test.limit()
				c := newCaller(1, func(w *world, _ string) (bool, time.Duration) {
					ok, left := limit.admit(w.now)
					if ok || !test.retryAfter {
						return ok, 0
					}
					return false, roundedUp(left)
				})
				c.walk("walk")
				latest := new(time.Duration)
				if walks == 2 {
					c.walk("another walk")
				} else {
					c.every(15*time.Second, Poll, "open")
					c.every(3*time.Second, Read, "horse")
					_, latest = c.every(time.Minute, Write, "register")
				}
				c.run(simStart.Add(time.Minute))
				clear(c.sent)
				clear(c.accepted)
				*latest = 0
				c.run(simStart.Add(21 * time.Minute))
				sent, accepted := 0, 0
				for route := range c.sent {
					sent, accepted = sent+c.sent[route], accepted+c.accepted[route]
				}
				share, refused := float64(accepted)/(test.perSecond*1200), 1-float64(accepted)/float64(sent)
				t.Logf("%.1f %% of the limit, %.1f %% refused; accepted: %v; the latest registration was sent after %v", 100*share, 100*refused, c.accepted, *latest)
				if share < 0.84 || refused > 0.04 {
					t.Errorf("%.1f %% of the limit, %.1f %% refused", 100*share, 100*refused)
				}
			})
		}
	}
}

// TestARouteLimitBehindACommonOneStarvesNobody: a walk of a route with a limit of its
// own and a walk of another one leave single reads and registrations their turn.
func TestARouteLimitBehindACommonOneStarvesNobody(t *testing.T) {
	simulates(t)
	for _, retryAfter := range []bool{false, true} {
		registrations, reads := 0, 0
		for seed := range uint64(8) {
			common, own := newBucket(5, 1), newBucket(2, 1)
			c := newCaller(seed, func(w *world, route string) (bool, time.Duration) {
				ok, left := true, time.Duration(0)
				if route == "limited walk" {
					ok, left = own.admit(w.now)
				}
				if ok {
					ok, left = common.admit(w.now)
				}
				if ok || !retryAfter {
					return ok, 0
				}
				return false, roundedUp(left)
			})
			c.walk("limited walk")
			c.walk("another walk")
			c.every(3*time.Second, Read, "horse")
			c.every(20*time.Second, Write, "register")
			c.run(simStart.Add(20 * time.Minute))
			registrations, reads = registrations+c.accepted["register"], reads+c.accepted["horse"]
		}
		t.Logf("Retry-After %v: %d of 480 attempts to register accepted, %d of 3,200 reads", retryAfter, registrations, reads)
		if registrations < 340 || reads < 2000 {
			t.Errorf("Retry-After %v: %d of 480 attempts to register accepted, %d of 3,200 reads", retryAfter, registrations, reads)
		}
	}
}

// TestNoRequestOfARouteIsSentBeforeItsRetryAfter, whoever else is refused.
func TestNoRequestOfARouteIsSentBeforeItsRetryAfter(t *testing.T) {
	simulates(t)
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 3))
		named := map[string]time.Time{}
		c := newCaller(seed, func(w *world, route string) (bool, time.Duration) {
			if w.now.Before(named[route]) {
				t.Errorf("seed %d: %s is requested %v before its Retry-After ends", seed, route, named[route].Sub(w.now))
			}
			if random.IntN(4) > 0 {
				return true, 0
			}
			retryAfter := time.Duration(random.IntN(3)) * 10 * time.Second
			w.after(20*time.Millisecond, func() { named[route] = w.now.Add(retryAfter) })
			return false, retryAfter
		})
		for i, route := range []string{"a", "b", "c"} {
			c.every(time.Duration(1+i)*700*time.Millisecond, Priority(i), route)
		}
		c.run(simStart.Add(time.Hour))
	}
}

// TestARegistrationIsNotTheTrialOfA503 of another route: refused, its outcome would be
// unknown. It waits until that Retry-After ends or another route is accepted.
func TestARegistrationIsNotTheTrialOfA503(t *testing.T) {
	for name, test := range map[string]struct {
		refusal  Outcome
		accepted string        // a route that is requested then, if any
		sent     time.Duration // after the refusal
	}{
		"until the end of the Retry-After":       {Unavailable, "", 30 * time.Second},
		"until another route is accepted":        {Unavailable, "horse", 2 * time.Second}, // one request a second is known to be accepted
		"after a 429 it is a trial as any other": {Refused, "", time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPace(func() float64 { return 0 })
			send := func(now time.Time, route string) *Waiter {
				waiter := NewWaiter(Read, route)
				p.Join(&waiter)
				p.Send(now, &waiter)
				return &waiter
			}
			late := send(simStart, "horse") // its response comes after the refusal, and shows nothing
			p.Report(simStart, send(simStart, "open"), test.refusal, holds(30*time.Second))
			p.Report(simStart, late, Accepted, Hold{})
			registration := NewWaiter(Write, "register")
			registration.Once = true
			p.Join(&registration)
			for after := time.Duration(0); after <= time.Minute; after += time.Second {
				if now := simStart.Add(after); after == time.Second && test.accepted != "" {
					p.Report(now, send(now, test.accepted), Accepted, Hold{})
				}
				if next, _ := p.Next(simStart.Add(after)); next != nil {
					if after != test.sent {
						t.Errorf("sent after %v, want %v", after, test.sent)
					}
					return
				}
			}
			t.Error("it is not sent")
		})
	}
}

// TestRegistrationsBehindA503 of a limit beside a crawl: few are refused.
func TestRegistrationsBehindA503(t *testing.T) {
	sent, accepted := 0, 0
	for seed := range uint64(4) {
		limit := &window{most: 60, length: time.Minute}
		c := newCaller(seed, func(w *world, _ string) (bool, time.Duration) {
			ok, left := limit.admit(w.now)
			return ok, roundedUp(left)
		})
		c.unavailable = true
		c.walk("walk")
		c.every(20*time.Second, Write, "register")
		c.run(simStart.Add(2 * time.Hour))
		sent, accepted = sent+c.sent["register"], accepted+c.accepted["register"]
	}
	if refused := sent - accepted; sent < 1000 || refused > sent/50 {
		t.Errorf("%d of %d registrations are refused", refused, sent)
	}
}

// TestA503WithoutRetryAfterIsALimitOfTheRate, as a server that limits requests sends it,
// and it stops no single call.
func TestA503WithoutRetryAfterIsALimitOfTheRate(t *testing.T) {
	simulates(t)
	for _, rate := range []float64{5, 50} {
		for seed := range uint64(4) {
			w, tally := newWorld(seed), &tally{}
			svc := scenario{limit: func() limit { return newBucket(rate, 10) }}.service()
			svc.unavailable = true
			w.crawl(newPace(w.random.Float64), svc, 16, tally)
			w.run(simStart.Add(10 * time.Minute))
			share, refused := tally.perSecond(0, 10*time.Minute)/rate, float64(tally.refused)/float64(tally.accepted+tally.refused)
			if share < 0.9 || refused > 0.04 {
				t.Errorf("%v a second, seed %d: %.0f %% are used, %.1f %% refused", rate, seed, 100*share, 100*refused)
			}
		}
	}
}

// TestAnOutageTeachesNothing: while all is refused with 503, single calls are sent at
// once, and a walk is back within a backoff.
func TestAnOutageTeachesNothing(t *testing.T) {
	simulates(t)
	for seed := range uint64(4) {
		w, tally := newWorld(seed), &tally{}
		from, to := time.Minute, 6*time.Minute
		svc := scenario{limit: func() limit { return &outage{from: simStart.Add(from), to: simStart.Add(to)} }}.service()
		svc.unavailable = true
		p := newPace(w.random.Float64)
		w.crawl(p, svc, 16, tally)
		w.run(simStart.Add(to - time.Second))
		single := NewWaiter(Read, "GET /horse")
		p.Join(&single)
		if next, at := p.Next(w.now); next != &single {
			t.Errorf("seed %d: a single call waits for %v", seed, at.Sub(w.now))
		}
		p.Leave(&single)
		w.run(simStart.Add(to + time.Minute))
		before, after := tally.perSecond(0, from), tally.perSecond(to+7*time.Second, to+time.Minute)
		if tally.refused > 100 || after < 0.98*before {
			t.Errorf("seed %d: %d refused; %.0f a second before, %.0f after", seed, tally.refused, before, after)
		}
	}
}

// outage refuses everything for a time.
type outage struct {
	none
	from, to time.Time
}

func (l *outage) admit(now time.Time) (bool, time.Duration) {
	return now.Before(l.from) || !now.Before(l.to), 0
}
