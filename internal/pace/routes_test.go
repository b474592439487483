package pace

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func join(e *Routes, route string, priority Priority) *Waiter {
	w := NewWaiter(priority, route)
	w.Patient = priority == Walk
	e.Join(&w)
	return &w
}

// TestRetryAfterAndRateAreKeptForAnySequenceOfResponses: whatever a service does, no
// request of a route is sent before its Retry-After is over, none faster than the rate that
// the engine reports, except a single call after probeInterval, and every one that
// waits is sent in the end.
func TestRetryAfterAndRateAreKeptForAnySequenceOfResponses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, jitter := simStart, rapid.Float64Range(0, 0.999).Draw(t, "jitter")
		e := NewRoutes(func() float64 { return jitter })
		var flying, waiting []*Waiter
		var last *Waiter
		var lastSpeed float64
		wasProbe := false
		retryAt := map[string]time.Time{}
		pump := func() (at time.Time) {
			for {
				waiter, at := e.Next(now)
				if waiter == nil {
					return at
				}
				if now.Before(retryAt[waiter.routeName]) {
					t.Fatalf("a request is sent at %v, before %v", now, retryAt[waiter.routeName])
				}
				isProbe := e.common.backingOff
				e.Send(now, waiter)
				speed := e.State(now).PerSecond
				if last != nil && lastSpeed > 0 && speed > 0 && !isProbe && !wasProbe {
					if gap := now.Sub(last.sent).Seconds(); gap < min(0.97/max(lastSpeed, speed), probeInterval.Seconds()) {
						t.Fatalf("%.4f s after another, at %.2f and %.2f a second", gap, lastSpeed, speed)
					}
				}
				last, lastSpeed, wasProbe = waiter, speed, isProbe
				flying = append(flying, waiter)
				waiting = without(waiting, waiter)
			}
		}
		report := func(waiter *Waiter, outcome Outcome, retryAfter time.Duration) {
			retryAt[waiter.routeName] = later(retryAt[waiter.routeName], now.Add(retryAfter))
			e.Report(now, waiter, outcome, holds(retryAfter))
			flying = without(flying, waiter)
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1, 2:
				for range rapid.IntRange(1, 5).Draw(t, "requests") {
					route := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "route")
					waiting = append(waiting, join(e, route, Priority(rapid.IntRange(int(Write), int(Walk)).Draw(t, "priority"))))
				}
			case 3, 4, 5, 6:
				if len(flying) > 0 {
					waiter := rapid.SampledFrom(flying).Draw(t, "response to")
					outcome := Outcome(rapid.IntRange(0, 2).Draw(t, "outcome"))
					retryAfter := time.Duration(rapid.SampledFrom([]int64{0, 0, 0, 1, 50, 1000, 7000}).Draw(t, "retry-after")) * time.Millisecond
					report(waiter, outcome, retryAfter)
				}
			case 7:
				if len(waiting) > 0 {
					waiter := rapid.SampledFrom(waiting).Draw(t, "abandoned")
					e.Leave(waiter)
					waiting = without(waiting, waiter)
				}
			default:
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(2*time.Second)).Draw(t, "time")))
			}
			pump()
			if e.State(now).Waiting != len(waiting) {
				t.Fatalf("%d wait, and the engine has %d", len(waiting), e.State(now).Waiting)
			}
		}
		// From here on everything is accepted.
		for range 100_000 {
			at := pump()
			if len(flying) > 0 {
				now = now.Add(10 * time.Millisecond)
				report(flying[0], Accepted, 0)
				continue
			}
			if len(waiting) == 0 {
				return
			}
			if !at.After(now) {
				t.Fatalf("%d wait, none is in flight, and the engine returns no time to go on", len(waiting))
			}
			if at.Sub(now) > 5*time.Minute {
				t.Fatalf("the next is sent in %v", at.Sub(now))
			}
			now = at
		}
		t.Fatalf("%d still wait", len(waiting))
	})
}

func without(all []*Waiter, w *Waiter) []*Waiter {
	return slices.DeleteFunc(all, func(other *Waiter) bool { return other == w })
}

// TestWhoGoesFirst: by priority, and within one in order, whatever the routes.
func TestWhoGoesFirst(t *testing.T) {
	l := NewRoutes(nil)
	walk, poll, read := join(l, "a", Walk), join(l, "b", Poll), join(l, "a", Read)
	writes := []*Waiter{join(l, "c", Write), join(l, "b", Write), join(l, "a", Write), join(l, "d", Write), join(l, "c", Write)}
	for i, want := range append(writes, read, poll, walk) {
		if got, _ := l.Next(simStart); got != want {
			t.Fatalf("%d. is of priority %d, want %d", i, got.priority, want.priority)
		}
		l.Leave(want)
	}
}

// TestOneProbeAtATime: a while after a refusal, however high a rate was learned, one request
// is sent, and the others wait for what comes of it; one that hangs does not stop them for ever.
func TestOneProbeAtATime(t *testing.T) {
	e, now := NewRoutes(func() float64 { return 0.5 }), simStart
	for range 3 {
		join(e, "GET /", Walk)
	}
	first, _ := e.Next(now)
	e.common.rate, first.route.rate = 1e29, 1e29
	e.Send(now, first)
	e.Report(now, first, Refused, Hold{})
	wait := minWait * 9 / 10
	for range 12 { // the backoff grows, up to its limit
		_, at := e.Next(now)
		if at.Sub(now) < wait {
			t.Fatalf("a backoff of %v after one of %v", at.Sub(now), wait)
		}
		wait, now = at.Sub(now)*8/10, at
		probe, _ := e.Next(now)
		e.Send(now, probe)
		if second, _ := e.Next(now); second != nil {
			t.Fatal("two probes at once")
		}
		e.Report(now, probe, Refused, Hold{})
		join(e, "GET /", Walk)
	}
	if wait > 2*probeInterval {
		t.Fatalf("the backoff is %v", wait)
	}
	_, at := e.Next(now)
	probe, _ := e.Next(at)
	e.Send(at, probe)
	if _, again := e.Next(at); again.Sub(at) != probeInterval {
		t.Fatalf("a probe that hangs stops the others for %v", again.Sub(at))
	}
}

// Only the route that announced it waits, and what a walk leaves is others'.
func TestAnAnnouncedLimitIsThatOfItsRoute(t *testing.T) {
	now, e := simStart, NewRoutes(func() float64 { return 0.5 })
	accept := func(left int) {
		w, _ := e.Next(now)
		e.Send(now, w)
		e.Report(now, w, Accepted, announced(60, left, time.Hour))
	}
	join(e, "a", Walk)
	accept(5)
	walk := join(e, "a", Walk)
	if w, at := e.Next(now); w != nil || !at.Equal(now.Add(time.Hour)) {
		t.Errorf("the walk goes on with a twelfth left: %v, %v", w, at)
	}
	join(e, "a", Read)
	accept(0)
	read, other := join(e, "a", Read), join(e, "b", Read)
	if w, _ := e.Next(now); w != other {
		t.Errorf("%+v goes first, not the other route's", w)
	}
	e.Leave(other)
	if w, at := e.Next(now); w != nil || !at.Equal(now.Add(time.Hour)) || !e.State(now).Until.Equal(at) {
		t.Errorf("%v at %v, state %+v", w, at, e.State(now))
	}
	if w, _ := e.Next(now.Add(time.Hour)); w != read {
		t.Errorf("%v after the reset", w)
	}
	e.Leave(read)
	if w, _ := e.Next(now.Add(time.Hour)); w != walk {
		t.Errorf("%v after the reset", w)
	}
}

// announced is the hold of a response that announces what is left of a limit.
func announced(limit, left int, reset time.Duration) (hold Hold) {
	if left == 0 {
		hold.Route = reset
	}
	if left <= limit/12 {
		hold.Walks = reset
	}
	return hold
}

func TestAWalkIsServedWhileSingleCallsMeetSome503s(t *testing.T) {
	c := newWorld(1).newCaller(&service{limit: atRandom(0.3, 1, none), unavailable: true})
	c.every(time.Second, Read, "races")
	c.walk("races", 1)
	c.run(simStart.Add(time.Hour))
	if c.served < 10000 {
		t.Errorf("%d calls and pages in an hour", c.served)
	}
}

func TestSingleCallsThatDoNotWaitForTheirTurnHoldNoWalkUpAfterwards(t *testing.T) {
	three, lifted := newWindow(3, time.Minute, false), simStart.Add(time.Hour)
	c := newWorld(1).newCaller(&service{limit: func(now time.Time) (bool, time.Duration) {
		if now.Before(lifted) {
			return three(now)
		}
		return true, 0
	}})
	c.every(100*time.Millisecond, Read, "horse")
	c.run(lifted.Add(10 * time.Minute))
	c.isQuiet = true
	c.walk("page", 1)
	c.run(lifted.Add(15 * time.Minute))
	if c.accepted["page"] < 5 {
		t.Errorf("%d pages in five minutes without a limit", c.accepted["page"])
	}
}

// TestABadRouteCostsNoReadOfAnother: beside a route that is always refused, or in all but a
// few requests, reads and registrations are sent as if it were not there, whether single
// calls or a walk request it.
func TestABadRouteCostsNoReadOfAnother(t *testing.T) {
	const length = 2 * time.Hour
	refusal := func(uint64) limit { return never }
	for name, bad := range map[string]struct {
		limit      func(uint64) limit
		retryAfter time.Duration
	}{
		"refused":            {refusal, 0},
		"Retry-After 1":      {refusal, time.Second},
		"Retry-After 60":     {refusal, time.Minute},
		"Retry-After 3600":   {refusal, time.Hour},
		"one in ten seconds": {bucket(0.1, 1), 0},
		"a hundred an hour":  {window(100, time.Hour, false), 0},
	} {
		for _, workers := range []int{0, 4} {
			for _, interval := range []time.Duration{time.Second, time.Minute} {
				t.Run(fmt.Sprintf("%s, %d walk, a read each %v", name, workers, interval), func(t *testing.T) {
					retryAfter := func(time.Duration) time.Duration { return bad.retryAfter }
					c := newWorld(1).newCaller(&service{limit: bad.limit(1), only: "bad", retryAfter: retryAfter})
					c.every(interval, Read, "good")
					latest := c.every(time.Minute, Write, "register")
					if c.every(time.Second, Read, "bad"); workers > 0 {
						c.walk("bad", workers)
					}
					c.run(simStart.Add(length))
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

// TestRoutesShareALimit: routes behind a common limit use 84 % of it together, 5 % at most
// are refused, and nobody waits long for a crawl: each of twenty registrations is sent
// within two seconds.
func TestRoutesShareALimit(t *testing.T) {
	for name, test := range map[string]struct {
		limit      limit
		retryAfter func(time.Duration) time.Duration
		perSecond  float64
	}{
		"5 a second":              {newBucket(5, 10), nil, 5},
		"50 a second":             {newBucket(50, 10), nil, 50},
		"2 a second, no bursts":   {newBucket(2, 1), nil, 2},
		"60 in 10 s":              {newWindow(60, 10*time.Second, false), nil, 6},
		"60 in 10 s, Retry-After": {newWindow(60, 10*time.Second, false), roundedUp, 6},
	} {
		t.Run(name, func(t *testing.T) {
			c := newWorld(1).newCaller(&service{limit: test.limit, retryAfter: test.retryAfter})
			c.walk("walk", 16)
			c.every(15*time.Second, Poll, "open")
			c.every(3*time.Second, Read, "horse")
			latest := c.every(time.Minute, Write, "register")
			c.run(simStart.Add(time.Minute))
			c.served, c.refused, *latest = 0, 0, 0
			c.run(simStart.Add(21 * time.Minute))
			share := float64(c.served) / (test.perSecond * 1200)
			if share < 0.84 || c.refusedShare() > 0.05 || *latest > 2*time.Second {
				t.Errorf("%.1f %% of the limit, %.1f %% refused; the latest registration was sent after %v", 100*share, 100*c.refusedShare(), *latest)
			}
		})
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
				waiter := join(p, route, Read)
				p.Send(now, waiter)
				return waiter
			}
			late := send(simStart, "horse") // its response comes after the refusal, and shows nothing
			p.Report(simStart, send(simStart, "open"), test.refusal, holds(30*time.Second))
			p.Report(simStart, late, Accepted, Hold{})
			join(p, "register", Write).Once = true
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
		for behind, test := range map[string]struct {
			limit     func(uint64) limit
			perSecond float64
		}{"no limit": {unlimited, 1 / 0.02}, "20 a second": {bucket(20, 10), 20}} {
			for _, length := range []time.Duration{3 * time.Minute, time.Hour, 10 * time.Hour} {
				for _, from := range []time.Duration{170 * time.Millisecond, 30 * time.Second} {
					if from > time.Second && !deep {
						continue
					}
					t.Run(fmt.Sprintf("%s for %v after %v, %s", name, length, from, behind), func(t *testing.T) {
						limit, began, end := test.limit(1), simStart.Add(from), simStart.Add(from+length)
						c := newWorld(1).crawl(&service{unavailable: refusal.unavailable, retryAfter: exact, limit: func(now time.Time) (bool, time.Duration) {
							if now.Before(began) || !now.Before(end) {
								ok, _ := limit(now)
								return ok, 0
							}
							return false, refusal.retryAfter
						}}, 1)
						c.run(began)
						known := c.served
						back := end
						if refusal.retryAfter > 0 { // at the end of the last Retry-After
							back = began.Add((length + refusal.retryAfter - 1).Truncate(refusal.retryAfter))
						}
						c.run(back.Add(time.Minute))
						if c.served <= known+2 {
							t.Error("no page within a minute")
						}
						c.run(back.Add(5 * time.Minute))
						before := c.served
						c.run(back.Add(330 * time.Second))
						if got := float64(c.served-before) / 30; got < 0.85*test.perSecond {
							t.Errorf("%.1f a second five minutes later, want %v", got, test.perSecond)
						}
					})
				}
			}
		}
	}
}

// TestALongRetryAfterAgainAndAgainDoesNotSlowAWalk: if few requests were accepted since the
// last one, they show no rate. A page would be sent after hours.
func TestALongRetryAfterAgainAndAgainDoesNotSlowAWalk(t *testing.T) {
	for _, accepted := range []int{1, 5, 19} { // before each of three refusals
		arrived := 0
		c := newWorld(1).crawl(&service{retryAfter: exact, limit: func(time.Time) (bool, time.Duration) {
			arrived++
			return arrived > 3*(accepted+1) || arrived%(accepted+1) != 0, time.Hour
		}}, 1)
		c.run(simStart.Add(3*time.Hour + time.Minute))
		before := c.served
		c.run(c.now.Add(time.Minute))
		if got := c.served - before; got < 2000 {
			t.Errorf("after %d pages and a refusal, three times: %d pages a minute", accepted, got)
		}
	}
}
