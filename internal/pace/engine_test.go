package pace

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func join(e *Routes, priority Priority) *Waiter {
	t := NewWaiter(priority, "GET /")
	e.Join(&t)
	return &t
}

// TestAnySequenceOfResponses holds what is true whatever a service does: no
// request is sent before a Retry-After is over, none faster than the rate that
// the engine reports, except a single call after probeInterval, and every one that
// waits is sent in the end.
func TestAnySequenceOfResponses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, jitter := simStart, rapid.Float64Range(0, 0.999).Draw(t, "jitter")
		e := NewRoutes(func() float64 { return jitter })
		var flying, waiting []*Waiter
		var last *Waiter
		var lastSpeed float64
		wasProbe := false
		var retryAt time.Time
		pump := func() (at time.Time) {
			for {
				waiter, at := e.Next(now)
				if waiter == nil {
					return at
				}
				if now.Before(retryAt) {
					t.Fatalf("a request is sent at %v, before %v", now, retryAt)
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
			if until := now.Add(retryAfter); outcome == Refused && until.After(retryAt) {
				retryAt = until
			}
			e.Report(now, waiter, outcome, holds(retryAfter))
			flying = without(flying, waiter)
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1, 2:
				for range rapid.IntRange(1, 5).Draw(t, "requests") {
					waiting = append(waiting, join(e, Priority(rapid.IntRange(int(Write), int(Walk)).Draw(t, "priority"))))
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

func without(all []*Waiter, t *Waiter) []*Waiter {
	for i := range all {
		if all[i] == t {
			return append(all[:i:i], all[i+1:]...)
		}
	}
	return all
}

// TestWhoGoesFirst: by priority, and within one in order.
func TestWhoGoesFirst(t *testing.T) {
	l := NewRoutes(nil)
	join := func(r Priority) *Waiter { return join(l, r) }
	walk, poll, read, write, second := join(Walk), join(Poll), join(Read), join(Write), join(Write)
	for i, want := range []*Waiter{write, second, read, poll, walk} {
		if got, _ := l.Next(simStart); got != want {
			t.Fatalf("%d. is of priority %d, want %d", i, got.priority, want.priority)
		}
		l.Leave(want)
	}
}

// TestOneProbeAtATime: after a refusal one request is sent, and the others
// wait for what comes of it; one that hangs does not stop them for ever.
func TestOneProbeAtATime(t *testing.T) {
	e, now := NewRoutes(func() float64 { return 0.5 }), simStart
	for range 3 {
		join(e, Walk)
	}
	first, _ := e.Next(now)
	e.Send(now, first)
	e.Report(now, first, Refused, Hold{})
	var wait time.Duration
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
		join(e, Walk)
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
		waiter := join(e, Read)
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
	early := join(e, Read)
	if next, at := e.Next(start.Add(7 * time.Second)); next != nil {
		t.Error("a request is sent before the backoff of the last probe ends")
	} else if next, _ := e.Next(at); next != early {
		t.Error("no request is sent after it")
	}
}

// TestABackoffIsNeverZero, however high a rate was learned.
func TestABackoffIsNeverZero(t *testing.T) {
	p, now := NewRoutes(func() float64 { return 0 }), simStart
	for i := range 100 {
		waiter := join(p, Walk)
		if i == 0 {
			p.common.rate, waiter.route.rate = 1e29, 1e29
		}
		p.Send(now, waiter)
		p.Report(now, waiter, Refused, Hold{})
		join(p, Walk)
		next, at := p.Next(now)
		if next != nil || at.Sub(now) < minWait*9/10 {
			t.Fatalf("probe %d is sent after %v", i, at.Sub(now))
		}
		now = at
	}
}

// Only the route that announced it waits, and what a walk leaves is others'.
func TestAnAnnouncedLimitIsThatOfItsRoute(t *testing.T) {
	now, e := simStart, NewRoutes(func() float64 { return 0.5 })
	add := func(route string, priority Priority) *Waiter {
		w := NewWaiter(priority, route)
		e.Join(&w)
		return &w
	}
	answer := func(left int) {
		w, _ := e.Next(now)
		e.Send(now, w)
		e.Report(now, w, Accepted, announced(60, left, time.Hour))
	}
	add("a", Walk)
	answer(5)
	walk := add("a", Walk)
	if w, at := e.Next(now); w != nil || !at.Equal(now.Add(time.Hour)) {
		t.Errorf("the walk goes on with a twelfth left: %v, %v", w, at)
	}
	add("a", Read)
	answer(0)
	read, other := add("a", Read), add("b", Read)
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

// play lets single calls and the pages of a walk go for a while, and returns how many pages
// were sent. A call comes each callEvery, unless one waits; zero is none. Each response comes
// at once.
func play(e *Routes, from time.Time, lasts, callEvery time.Duration, walks bool, respond func(now time.Time) Outcome) (pages int) {
	const step = 100 * time.Millisecond
	var call, page *Waiter
	for after := time.Duration(0); after < lasts; after += step {
		now := from.Add(after)
		if call == nil && callEvery > 0 && after%callEvery == 0 {
			call = join(e, Read)
		}
		if page == nil && walks {
			page = join(e, Walk)
			page.Patient = true
		}
		for next, _ := e.Next(now); next != nil; next, _ = e.Next(now) {
			e.Send(now, next)
			e.Report(now, next, respond(now), Hold{})
			if next == call {
				call = nil
				continue
			}
			page = nil
			pages++
		}
	}
	for _, waiter := range []*Waiter{call, page} {
		if waiter != nil {
			e.Leave(waiter)
		}
	}
	return pages
}

func TestAWalkIsServedWhileSingleCallsMeetSome503s(t *testing.T) {
	e := NewRoutes(func() float64 { return 0.5 })
	random := rand.New(rand.NewPCG(1, 1))
	pages := play(e, simStart, time.Hour, time.Second, true, func(time.Time) Outcome {
		if random.IntN(10) < 3 {
			return Unavailable
		}
		return Accepted
	})
	if pages < 5000 {
		t.Errorf("%d pages in an hour", pages)
	}
}

func TestSingleCallsThatDoNotWaitForTheirTurnHoldNoWalkUpAfterwards(t *testing.T) {
	e := NewRoutes(func() float64 { return 0.5 })
	window, left := simStart, 3
	play(e, simStart, time.Hour, 100*time.Millisecond, false, func(now time.Time) Outcome { // three a minute
		if now.Sub(window) >= time.Minute {
			window, left = now, 3
		}
		if left--; left < 0 {
			return Refused
		}
		return Accepted
	})
	accept := func(time.Time) Outcome { return Accepted }
	play(e, simStart.Add(time.Hour), 10*time.Minute, 100*time.Millisecond, false, accept)
	if pages := play(e, simStart.Add(70*time.Minute), 5*time.Minute, 0, true, accept); pages < 5 {
		t.Errorf("%d pages in five minutes without a limit", pages)
	}
}
