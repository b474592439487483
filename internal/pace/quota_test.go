package pace

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// However long requests and responses take, and in whatever order they come: a service
// with windows, which says what is left, refuses none, and each request is sent.
func TestAnAnnouncedQuotaIsNeverExceeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := simStart
		e := NewRoutes(func() float64 { return 0.5 }, time.Second, time.Minute)
		limit := rapid.IntRange(1, 30).Draw(t, "limit")
		width := time.Duration(rapid.IntRange(1, 60).Draw(t, "width")) * time.Second
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
			join(e, Priority(rapid.IntRange(int(Write), int(Walk)).Draw(t, "priority")))
		}
		trip := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(1, 800).Draw(t, "ms")) * time.Millisecond
		})
		first := true // nothing is known before the first response
		for steps := 0; waiting > 0 || len(flying) > 0; steps++ {
			if steps > 100_000 {
				t.Fatalf("%d requests wait for ever", waiting)
			}
			waiter, at := e.Next(now)
			if waiter != nil && (!first || len(flying) < limit) {
				waiting--
				e.Send(now, waiter)
				arrives := now.Add(trip.Draw(t, "there"))
				flying = append(flying, &flight{waiter: waiter, arrives: arrives, responds: arrives.Add(trip.Draw(t, "back"))})
				continue
			}
			next := at
			if waiter != nil { // it may be sent when the first response is there
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
					if taken[window]++; taken[window] > limit {
						t.Fatalf("%d requests in a window of %d", taken[window], limit)
					}
					f.handled, f.left = true, limit-taken[window]
					f.reset = (window.Add(width).Sub(f.arrives) + time.Second - 1).Truncate(time.Second)
					break
				}
				if f.handled && !now.Before(f.responds) {
					e.Announce(now, f.waiter, limit, f.left, f.reset)
					e.Report(now, f.waiter, Accepted, 0)
					flying = append(flying[:i], flying[i+1:]...)
					first = false
					break
				}
			}
		}
	})
}

func TestAQuotaThatIsNoLongerAnnouncedEnds(t *testing.T) {
	now, e := simStart, NewRoutes(func() float64 { return 0.5 }, time.Second, time.Minute)
	send := func() *Waiter {
		waiter, _ := e.Next(now)
		if waiter != nil {
			e.Send(now, waiter)
		}
		return waiter
	}
	for range 6 {
		join(e, Read)
	}
	first := send()
	e.Announce(now, first, 1, 0, 10*time.Second)
	e.Report(now, first, Accepted, 0)
	if waiter, at := e.Next(now); waiter != nil || !at.Equal(now.Add(10*time.Second)) || !e.State(now).Until.Equal(at) {
		t.Errorf("%v at %v, state %+v", waiter, at, e.State(now))
	}
	now = now.Add(10 * time.Second)
	probe := send()
	if more := send(); probe == nil || more != nil {
		t.Errorf("after the quota: %v, %v, want one request at a time", probe, more)
	}
	if _, at := e.Next(now); !at.Equal(now.Add(hungAfter)) {
		t.Errorf("behind a request that hangs the next one is sent at %v", at)
	}
	e.Report(now, probe, Unclear, 0) // a broken connection announces nothing
	probe = send()
	if more := send(); probe == nil || more != nil {
		t.Errorf("after a broken connection: %v, %v, want one request at a time", probe, more)
	}
	e.Report(now, probe, Accepted, 0)
	if first, second := send(), send(); first == nil || second == nil {
		t.Error("a quota that is no longer announced holds requests")
	}
}
