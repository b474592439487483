package pace

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestARequestLetGoAsItsContextEndsIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 100 { // Enter may see either end of the wait first
			g := NewScheduler(nil)
			first, _ := enter(t.Context(), g, Reads, time.Hour)
			g.Report(first, Refused, holds(time.Second))
			ctx, cancel := context.WithCancel(t.Context())
			var group sync.WaitGroup
			group.Go(func() {
				if w, err := enter(ctx, g, Reads, time.Hour); err == nil {
					g.Report(w, Accepted, Hold{})
				}
			})
			time.Sleep(time.Second / 2)
			g.update(func(now time.Time) {
				w := g.routes.queues[0].waiters[0]
				cancel()
				g.routes.Send(now, w)
				g.end(now, w, nil)
			})
			group.Wait()
			if b := g.routes.common.backoff; b != nil {
				equal(t, "the probe in flight", time.Time{}, b.probe)
			}
		}
	})
}

// enter waits for a turn, at most for so long; zero is as long as the context.
func enter(ctx context.Context, g *Scheduler, priority Priority, most time.Duration) (*Waiter, error) {
	w := &Waiter{Kind: Kind{"GET /", priority, most == 0, most}}
	return w, g.Enter(ctx, w, func() {})
}

type limiterFunc func() error

func (f limiterFunc) Wait(context.Context) error { return f() }

func TestALimiterThatFailsGrantsNothing(t *testing.T) {
	waits := 0
	g := NewScheduler(limiterFunc(func() error { waits++; return errors.New("down") }))
	for range 2 {
		_, err := enter(t.Context(), g, Reads, time.Hour)
		equal(t, "the error", "waiting for the limiter: down", fmt.Sprint(err))
	}
	equal(t, "waits", 2, waits)
}

// TestALimiterIsUsedToTheFullAndNotExceeded, though one Wait at a time is under way. The wait
// for it does not count for MaxWait, not even if that is used up.
func TestALimiterIsUsedToTheFullAndNotExceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewScheduler(limiterFunc(func() error { time.Sleep(10 * time.Millisecond); return nil }))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var group sync.WaitGroup
		var sent atomic.Int64
		for range 32 {
			group.Go(func() {
				for {
					waiter := &Waiter{Kind: Kind{"GET /", Walks, false, time.Nanosecond}, waited: time.Nanosecond}
					if g.Enter(ctx, waiter, func() {}) != nil {
						return
					}
					equal(t, "the wait that counts", time.Nanosecond, waiter.waited)
					sent.Add(1)
					time.Sleep(20 * time.Millisecond)
					g.Report(waiter, Accepted, Hold{})
				}
			})
		}
		group.Wait()
		within(t, "requests in a minute", 5940, sent.Load(), 6001)
	})
}

// TestACallWaitsForMaxWaitInAll, whatever holds it, and its error says what did. At once it
// fails only if it would have to wait for longer.
func TestACallWaitsForMaxWaitInAll(t *testing.T) {
	const maxWait = 15 * time.Second
	for name, test := range map[string]struct {
		outcome Signal
		hold    Hold
		others  int // calls that wait too, and of which one a second is accepted
		took    time.Duration
		want    ExpiredError
	}{
		"everything is refused":     {Refused, Hold{}, 0, maxWait, ExpiredError{"the service refuses requests", 0, 429}},
		"a short Retry-After":       {Refused, holds(6 * time.Second), 0, 12 * time.Second, ExpiredError{"the service refuses requests", 6 * time.Second, 429}},
		"a long Retry-After":        {Unavailable, holds(time.Minute), 0, 0, ExpiredError{"the service refuses requests", time.Minute, 503}},
		"an announced limit":        {Accepted, holds(time.Minute), 0, 0, ExpiredError{"the limit that the service announces is used up", time.Minute, 429}},
		"others are sent before it": {Accepted, Hold{}, 40, maxWait, ExpiredError{"26 requests wait, of which the service accepts 1 a second", 0, 429}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewScheduler(nil)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				var group sync.WaitGroup
				defer group.Wait()
				if test.others > 0 { // what was learned earlier
					g.routes.common.limit = &curve{epoch: time.Now(), base: 1 / beta, k: 1e6}
				}
				first, _ := enter(ctx, g, Reads, time.Hour)
				g.Report(first, test.outcome, test.hold)
				for range test.others {
					group.Go(func() {
						if w, err := enter(ctx, g, Reads, time.Hour); err == nil {
							g.Report(w, Accepted, Hold{})
						}
					})
				}
				synctest.Wait()
				w, began := Waiter{Kind: Kind{"GET /", Reads, false, maxWait}}, time.Now()
				err := g.Enter(ctx, &w, func() {})
				for err == nil && test.outcome != Accepted {
					g.Report(&w, test.outcome, test.hold)
					err = g.Enter(ctx, &w, func() {})
				}
				equal(t, "it took", test.took, time.Since(began))
				if expired, ok := errors.AsType[*ExpiredError](err); !ok || *expired != test.want {
					t.Errorf("%+v, want %+v", err, test.want)
				}
			})
		})
	}
}

// TestKindsThatNobodyWaitsInAreForgotten, though each call has a MaxWait of its own.
func TestKindsThatNobodyWaitsInAreForgotten(t *testing.T) {
	g := NewScheduler(nil)
	for i := range 100 {
		_, err := enter(t.Context(), g, Reads, time.Hour+time.Duration(i))
		equal(t, "the error", nil, err)
		equal(t, "queues", 1, len(g.routes.queues))
	}
}

// TestAnArrivalLooksAtTheFirstInLineAlone, and so do calls whose contexts end, and a response: a
// look at any other of 20,000 that wait panics.
func TestAnArrivalLooksAtTheFirstInLineAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewScheduler(nil)
		refused, _ := enter(t.Context(), g, Reads, time.Hour)
		g.Report(refused, Refused, holds(time.Minute))
		var first, others sync.WaitGroup
		first.Go(func() { _, _ = enter(t.Context(), g, Reads, time.Hour) })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		for range 1_000 {
			others.Go(func() { _, _ = enter(ctx, g, Reads, time.Hour) })
		}
		synctest.Wait()
		for _, w := range g.routes.queues[0].waiters[1:] {
			w.route = nil
		}
		others.Go(func() { _, _ = enter(ctx, g, Reads, time.Hour) })
		synctest.Wait()
		g.Report(refused, Refused, holds(time.Minute))
		cancel()
		others.Wait()
		equal(t, "requests that wait", 1, g.State().Waiting)
		first.Wait()
	})
}
