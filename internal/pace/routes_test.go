package pace

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// caller sends requests of several routes through one pace, in a simulated world.
type caller struct {
	*world
	pace    *Routes
	respond func(route string, report func(Outcome, time.Duration)) // it is the service
	calls   map[*Waiter]func(sent time.Time)
	wake    time.Time

	sent, accepted map[string]int
}

func (w *world) newCaller(respond func(string, func(Outcome, time.Duration))) *caller {
	return &caller{
		world: w, pace: NewRoutes(w.random.Float64), respond: respond,
		calls: map[*Waiter]func(time.Time){}, sent: map[string]int{}, accepted: map[string]int{},
	}
}

// newCaller returns a caller of a service that takes 20 ms for each request, and accepts
// those that allow does.
func newCaller(seed uint64, allow func(w *world, route string) (bool, time.Duration)) *caller {
	w := newWorld(seed)
	return w.newCaller(func(route string, report func(Outcome, time.Duration)) {
		outcome := Refused
		ok, retryAfter := allow(w, route)
		if ok {
			outcome = Accepted
		}
		w.after(20*time.Millisecond, func() { report(outcome, retryAfter) })
	})
}

// call makes one attempt, and calls done with the time at which it was sent.
func (c *caller) call(priority Priority, route string, done func(sent time.Time)) {
	t := NewWaiter(priority, route)
	t.Once, t.Patient = priority == Write, priority == Walk
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
	c.respond(t.routeName, func(outcome Outcome, retryAfter time.Duration) {
		if outcome == Accepted {
			c.accepted[t.routeName]++
		}
		c.pace.Report(c.now, t, outcome, holds(retryAfter))
		done := c.calls[t]
		delete(c.calls, t)
		done(sent)
		c.pump()
	})
}

// every calls the route at each interval, unless the last call is still in progress. It
// returns the longest time until one was sent.
func (c *caller) every(interval time.Duration, priority Priority, route string) (latest *time.Duration) {
	latest = new(time.Duration)
	isBusy := false
	var tick func()
	tick = func() {
		c.after(interval, tick)
		if isBusy {
			return
		}
		isBusy = true
		begun := c.now
		c.call(priority, route, func(sent time.Time) {
			isBusy = false
			*latest = max(*latest, sent.Sub(begun))
		})
	}
	c.after(time.Duration(c.random.Int64N(int64(interval))), tick)
	return latest
}

// walk keeps so many requests of the route waiting or in flight.
func (c *caller) walk(route string, workers int) {
	for range workers {
		var next func(time.Time)
		next = func(time.Time) { c.call(Walk, route, next) }
		next(c.now)
	}
}

// TestABadRouteCostsNoReadOfAnother: beside a route that is always refused, or in all but a
// few requests, reads and registrations are sent as if it were not there, whether single
// calls or a walk request it.
func TestABadRouteCostsNoReadOfAnother(t *testing.T) {
	const length = 2 * time.Hour
	for name, bad := range map[string]func() always{
		"429":                   func() always { return func(time.Time) (bool, time.Duration) { return false, 0 } },
		"429, Retry-After 1":    func() always { return func(time.Time) (bool, time.Duration) { return false, time.Second } },
		"503, Retry-After 60":   func() always { return func(time.Time) (bool, time.Duration) { return false, time.Minute } },
		"503, Retry-After 3600": func() always { return func(time.Time) (bool, time.Duration) { return false, time.Hour } },
		"one in ten seconds":    func() always { return silent(newBucket(0.1, 1)) },
		"a hundred an hour":     func() always { return silent(newWindow(100, time.Hour, false)) },
	} {
		for _, workers := range []int{0, 4} {
			for _, interval := range []time.Duration{time.Second, time.Minute} {
				t.Run(fmt.Sprintf("%s, %d walk, a read each %v", name, workers, interval), func(t *testing.T) {
					limit := bad()
					c := newCaller(1, func(w *world, route string) (bool, time.Duration) {
						if route == "bad" {
							return limit(w.now)
						}
						return true, 0
					})
					latestRead, latest := c.every(interval, Read, "good"), c.every(time.Minute, Write, "register")
					if c.every(time.Second, Read, "bad"); workers > 0 {
						c.walk("bad", workers)
					}
					c.run(simStart.Add(length))
					t.Logf("%d reads, the latest after %v, %d registrations, the latest after %v; %d requests of the bad route", c.accepted["good"], *latestRead, c.accepted["register"], *latest, c.sent["bad"])
					if want := int(float64(length/interval) * 0.95); c.accepted["good"] < want {
						t.Errorf("%d reads, want %d", c.accepted["good"], want)
					}
					if c.accepted["register"] < int(length.Minutes())-1 || *latest > 5*time.Second {
						t.Errorf("%d registrations in two hours, the latest sent after %v", c.accepted["register"], *latest)
					}
				})
			}
		}
	}
}

// silent is a limit that names no time.
func silent(l always) always {
	return func(now time.Time) (bool, time.Duration) { ok, _ := l(now); return ok, 0 }
}

// TestRoutesShareALimit: routes behind a common limit use 84 % of it together, 5 % at most
// are refused, and nobody waits long for a crawl: each of twenty registrations is sent
// within two seconds.
func TestRoutesShareALimit(t *testing.T) {
	for name, test := range map[string]struct {
		limit     always
		perSecond float64
	}{
		"5 a second":              {silent(newBucket(5, 10)), 5},
		"50 a second":             {silent(newBucket(50, 10)), 50},
		"2 a second, no bursts":   {silent(newBucket(2, 1)), 2},
		"60 in 10 s":              {silent(newWindow(60, 10*time.Second, false)), 6},
		"60 in 10 s, Retry-After": {newWindow(60, 10*time.Second, false), 6},
	} {
		for _, walks := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s, %d walks", name, walks), func(t *testing.T) {
				limit := test.limit
				c := newCaller(1, func(w *world, _ string) (bool, time.Duration) {
					ok, left := limit(w.now.Add(time.Duration(walks) * time.Hour))
					if ok || left == 0 {
						return ok, 0
					}
					return false, roundedUp(left)
				})
				c.walk("walk", 16)
				latest := new(time.Duration)
				if walks == 2 {
					c.walk("another walk", 16)
				} else {
					c.every(15*time.Second, Poll, "open")
					c.every(3*time.Second, Read, "horse")
					latest = c.every(time.Minute, Write, "register")
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
				if share < 0.84 || refused > 0.05 || *latest > 2*time.Second {
					t.Errorf("%.1f %% of the limit, %.1f %% refused; the latest registration was sent after %v", 100*share, 100*refused, *latest)
				}
			})
		}
	}
}

// TestNoRequestOfARouteIsSentBeforeItsRetryAfter, whoever else is refused.
func TestNoRequestOfARouteIsSentBeforeItsRetryAfter(t *testing.T) {
	for seed := range uint64(5) {
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

// TestARegistrationIsNotTheProbeOfA503 of another route: refused, its outcome would be
// unknown. It waits until that Retry-After ends or another route is accepted.
func TestARegistrationIsNotTheProbeOfA503(t *testing.T) {
	for name, test := range map[string]struct {
		refusal  Outcome
		accepted string        // a route that is requested then, if any
		sent     time.Duration // after the refusal
	}{
		"until the end of the Retry-After":       {Unavailable, "", 30 * time.Second},
		"until another route is accepted":        {Unavailable, "horse", 2 * time.Second}, // one request a second is known to be accepted
		"after a 429 it is a probe as any other": {Refused, "", time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewRoutes(func() float64 { return 0 })
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

// TestACrawlIsBackAfterAnOutage: its first page comes within a minute of the end of an outage
// or of its last Retry-After, and within five minutes it is as fast as before, however long
// everything was refused.
func TestACrawlIsBackAfterAnOutage(t *testing.T) {
	for name, refusal := range map[string]struct {
		unavailable bool
		retryAfter  time.Duration
	}{
		"429": {}, "503": {unavailable: true}, "429, Retry-After 60": {retryAfter: time.Minute}, "503, Retry-After 1": {true, time.Second}, "429, Retry-After 3600": {retryAfter: time.Hour},
	} {
		for behind, limit := range map[string]func() always{"no limit": func() always { return none }, "20 a second": func() always { return silent(newBucket(20, 10)) }} {
			for _, length := range []time.Duration{3 * time.Minute, time.Hour, 10 * time.Hour} {
				for _, from := range []time.Duration{170 * time.Millisecond, 30 * time.Second} {
					if from > time.Second && !deep {
						continue
					}
					t.Run(fmt.Sprintf("%s for %v after %v, %s", name, length, from, behind), func(t *testing.T) {
						w := newWorld(1)
						svc := &service{limit: outage(from, from+length, refusal.retryAfter, limit()), unavailable: refusal.unavailable}
						svc.retryAfter = func(d time.Duration) time.Duration { return d }
						tally := w.crawl(svc, 1)
						w.run(simStart.Add(from))
						known, end := tally.accepted, from+length
						if refusal.retryAfter > 0 {
							end = from + (length + refusal.retryAfter - 1).Truncate(refusal.retryAfter) // of the last Retry-After
						}
						w.run(simStart.Add(end + time.Minute))
						if tally.accepted <= known+2 {
							t.Error("no page within a minute")
						}
						w.run(simStart.Add(end + 5*time.Minute))
						before := tally.accepted
						w.run(simStart.Add(end + 330*time.Second))
						best := 20.0
						if behind == "no limit" {
							best = 1 / 0.02
						}
						if got := float64(tally.accepted-before) / 30; got < 0.85*best {
							t.Errorf("%.1f a second five minutes later, want %v", got, best)
						}
					})
				}
			}
		}
	}
}
