package pace

import (
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

// TestWhoGoesFirst: by priority, and within one in order.
func TestWhoGoesFirst(t *testing.T) {
	l := NewRoutes(nil)
	join := func(p Priority) *Waiter { return join(l, "GET /", p) }
	walk, poll, read, write, second := join(Walk), join(Poll), join(Read), join(Write), join(Write)
	for i, want := range []*Waiter{write, second, read, poll, walk} {
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

func TestAProbeThatHungDoesNotEndALaterBackoff(t *testing.T) {
	e, start := NewRoutes(func() float64 { return 0 }), time.Now()
	send := func(after time.Duration) *Waiter {
		waiter := join(e, "GET /", Read)
		if next, _ := e.Next(start.Add(after)); next != waiter {
			t.Fatalf("nothing is sent after %v", after)
		}
		e.Send(start.Add(after), waiter)
		return waiter
	}
	e.Report(start, send(0), Refused, Hold{})
	hung := send(time.Second)
	e.Report(start.Add(7*time.Second), send(7*time.Second), Refused, Hold{})
	e.Report(start.Add(7*time.Second), hung, Accepted, Hold{})
	early := join(e, "GET /", Read)
	if next, at := e.Next(start.Add(7 * time.Second)); next != nil {
		t.Error("a request is sent before the backoff of the last probe ends")
	} else if next, _ := e.Next(at); next != early {
		t.Error("no request is sent after it")
	}
}

// Only the route that announced it waits, and what a walk leaves is others'.
func TestAnAnnouncedLimitIsThatOfItsRoute(t *testing.T) {
	now, e := simStart, NewRoutes(func() float64 { return 0.5 })
	answer := func(left int) {
		w, _ := e.Next(now)
		e.Send(now, w)
		e.Report(now, w, Accepted, announced(60, left, time.Hour))
	}
	join(e, "a", Walk)
	answer(5)
	walk := join(e, "a", Walk)
	if w, at := e.Next(now); w != nil || !at.Equal(now.Add(time.Hour)) {
		t.Errorf("the walk goes on with a twelfth left: %v, %v", w, at)
	}
	join(e, "a", Read)
	answer(0)
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
