package pace

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// However long requests and responses take, and in whatever order they come: of a service
// with windows, which says what is left, no more is requested than what is in flight when it
// says that nothing is, a walk leaves a twelfth, and each request is sent.
func TestAnAnnouncedLimitIsHeeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := simStart
		e := NewRoutes(func() float64 { return 0.5 }, time.Second, time.Minute)
		limit := rapid.IntRange(1, 30).Draw(t, "limit")
		slots := rapid.IntRange(1, 4).Draw(t, "slots")
		isWalk := rapid.Bool().Draw(t, "all are of a walk")
		width := time.Duration(rapid.IntRange(5, 60).Draw(t, "width")) * time.Second
		taken := map[time.Time]int{} // by the beginning of the window
		type flight struct {
			waiter            *Waiter
			arrives, responds time.Time
			left              int
			reset             time.Duration
			handled           bool
		}
		var flying []*flight
		waiting := rapid.IntRange(1, 100).Draw(t, "requests")
		for range waiting {
			priority := Walk
			if !isWalk {
				priority = Priority(rapid.IntRange(int(Write), int(Walk)).Draw(t, "priority"))
			}
			join(e, priority)
		}
		most := limit + slots - 1
		if isWalk {
			most -= limit / 12
		}
		trip := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(1, 800).Draw(t, "ms")) * time.Millisecond
		})
		for steps := 0; waiting > 0 || len(flying) > 0; steps++ {
			if steps > 100_000 {
				t.Fatalf("%d requests wait for ever", waiting)
			}
			waiter, at := e.Next(now)
			if waiter != nil && len(flying) < slots {
				waiting--
				e.Send(now, waiter)
				arrives := now.Add(trip.Draw(t, "there"))
				flying = append(flying, &flight{waiter: waiter, arrives: arrives, responds: arrives.Add(trip.Draw(t, "back"))})
				continue
			}
			next := at
			if waiter != nil { // it is sent when a response is there
				next = time.Time{}
			}
			for _, f := range flying {
				if !f.handled {
					next = earlier(next, f.arrives)
				} else {
					next = earlier(next, f.responds)
				}
			}
			now = later(now, next)
			for i, f := range flying {
				if !f.handled && !now.Before(f.arrives) {
					window := f.arrives.Truncate(width)
					if taken[window]++; taken[window] > most {
						t.Fatalf("%d requests in a window of %d", taken[window], limit)
					}
					f.handled, f.left = true, max(0, limit-taken[window])
					f.reset = (window.Add(width).Sub(f.arrives) + time.Second - 1).Truncate(time.Second)
					break
				}
				if f.handled && !now.Before(f.responds) {
					e.Report(now, f.waiter, Accepted, announced(limit, f.left, f.reset))
					flying = append(flying[:i], flying[i+1:]...)
					break
				}
			}
		}
	})
}

// Only the route that announced it waits, and what a walk leaves is others'.
func TestAnAnnouncedLimitIsThatOfItsRoute(t *testing.T) {
	now, e := simStart, NewRoutes(func() float64 { return 0.5 }, time.Second, time.Minute)
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
