package pace

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	xrate "golang.org/x/time/rate"
	"pgregory.net/rapid"
)

// TestEveryWaitEndsWithItsContext, for any sequence of responses, with and
// without a limiter.
func TestEveryWaitEndsWithItsContext(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		seed := rapid.Uint64().Draw(r, "seed")
		limited := rapid.Bool().Draw(r, "limited")
		synctest.Test(t, func(t *testing.T) {
			var limiter Limiter
			if limited {
				limiter = xrate.NewLimiter(20, 1)
			}
			g := NewScheduler(limiter)
			random := rand.New(rand.NewPCG(seed, 1))
			var group sync.WaitGroup
			for range 40 {
				deadline := time.Duration(random.Int64N(int64(20 * time.Second)))
				priority := Priority(random.IntN(int(Walk) + 1))
				service := rand.New(rand.NewPCG(random.Uint64(), 2))
				group.Go(func() {
					start := time.Now()
					ctx, cancel := context.WithTimeout(t.Context(), deadline)
					defer cancel()
					for ctx.Err() == nil {
						waiter, err := enter(ctx, g, priority, time.Hour)
						if took := time.Since(start); took > deadline {
							t.Errorf("waited %v, and the context ended after %v", took, deadline)
						}
						var ofLimiter *LimiterError
						if err != nil && ctx.Err() == nil && !errors.As(err, &ofLimiter) {
							t.Errorf("before the context ended: %v", err)
						}
						if err != nil {
							return
						}
						time.Sleep(time.Duration(service.Int64N(int64(50 * time.Millisecond))))
						outcome := Outcome(service.IntN(3))
						g.Leave(waiter, outcome, holds(time.Duration(service.Int64N(2))*time.Second))
					}
				})
			}
			group.Wait()
			if s := g.State(); s.Waiting != 0 || g.asking {
				t.Errorf("%d wait, one waits for the limiter: %v", s.Waiting, g.asking)
			}
		})
	})
}

// lateContext ends while a request that waits for it is let go.
type lateContext struct {
	context.Context
	end func()
}

func (c lateContext) Done() <-chan struct{} {
	time.Sleep(2 * time.Second)
	c.end()
	return c.Context.Done()
}

func TestARequestLetGoAsItsContextEndsIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 { // either end of the wait may come first
			g := NewScheduler(nil)
			first, _ := enter(t.Context(), g, Read, time.Hour)
			g.Leave(first, Refused, holds(time.Second))
			ctx, cancel := context.WithCancel(t.Context())
			if waiter, err := enter(lateContext{ctx, cancel}, g, Read, time.Hour); err == nil {
				g.Leave(waiter, Accepted, Hold{})
			}
			if !g.routes.common.probed.IsZero() {
				t.Fatal("a probe is in flight")
			}
		}
	})
}

func enter(ctx context.Context, g *Scheduler, priority Priority, most time.Duration) (*Waiter, error) {
	t := NewWaiter(priority, "GET /")
	t.MaxWait = most
	return &t, g.Enter(ctx, &t, nil)
}

// remote is a limiter that grants everything, a while later.
type remote time.Duration

func (r remote) Wait(context.Context) error {
	time.Sleep(time.Duration(r))
	return nil
}

// That one Wait at a time is under way costs nothing, unless it takes long.
func TestALimiterIsUsedToTheFullAndNotExceeded(t *testing.T) {
	for name, test := range map[string]struct {
		limiter Limiter
		least   int // requests in a minute, of 6,000 that it grants
	}{
		"in memory, 100 a second": {xrate.NewLimiter(100, 1), 5900},
		"10 ms away":              {remote(10 * time.Millisecond), 60 * 99},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewScheduler(test.limiter)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var group sync.WaitGroup
				var sent atomic.Int64
				for range 32 {
					group.Go(func() {
						for {
							waiter, err := enter(ctx, g, Walk, 0)
							if err != nil {
								return
							}
							sent.Add(1)
							time.Sleep(20 * time.Millisecond)
							g.Leave(waiter, Accepted, Hold{})
						}
					})
				}
				group.Wait()
				if sent.Load() < int64(test.least) || sent.Load() > 6001 {
					t.Errorf("%d requests in a minute, want %d to 6001", sent.Load(), test.least)
				}
			})
		})
	}
}

// TestACallWaitsForMaxWaitInAll, whatever holds it, and its error says what did; a patient one
// waits for its context. At once it fails only if it would have to wait for longer.
func TestACallWaitsForMaxWaitInAll(t *testing.T) {
	const maxWait = 15 * time.Second
	for name, test := range map[string]struct {
		outcome Outcome
		hold    Hold
		others  int // calls that wait too, and of which one a second is accepted
		took    time.Duration
		want    ExpiredError
	}{
		"everything is refused":     {Refused, Hold{}, 0, maxWait, ExpiredError{"the service refuses requests", 0, 429}},
		"a short Retry-After":       {Refused, holds(4 * time.Second), 0, 12 * time.Second, ExpiredError{"the service refuses requests", 4 * time.Second, 429}},
		"a long Retry-After":        {Unavailable, holds(time.Minute), 0, 0, ExpiredError{"the service refuses requests", time.Minute, 503}},
		"an announced limit":        {Accepted, holds(time.Minute), 0, 0, ExpiredError{"the limit that the service announces is used up", time.Minute, 429}},
		"others are sent before it": {Accepted, Hold{}, 40, maxWait, ExpiredError{"26 requests wait, of which the service accepts 1 a second", 0, 429}},
	} {
		for _, isPatient := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, patient %v", name, isPatient), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := NewScheduler(nil)
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
					defer cancel()
					var group sync.WaitGroup
					defer group.Wait()
					if test.others > 0 { // what was learned earlier
						g.routes.common.rate, g.routes.common.growth, g.routes.common.growing = 1/(1-margin), 1e6, time.Now()
					}
					first, _ := enter(ctx, g, Read, time.Hour)
					g.Leave(first, test.outcome, test.hold)
					for range test.others {
						group.Go(func() {
							if w, err := enter(ctx, g, Read, time.Hour); err == nil {
								g.Leave(w, Accepted, Hold{})
							}
						})
					}
					synctest.Wait()
					priority := Read
					if isPatient {
						priority = Walk
					}
					w, began := NewWaiter(priority, "GET /"), time.Now()
					w.MaxWait, w.Patient = maxWait, isPatient
					var err error
					for n := 0; err == nil && (n == 0 || test.outcome != Accepted); n++ {
						if err = g.Enter(ctx, &w, nil); err == nil {
							g.Leave(&w, test.outcome, test.hold)
						}
					}
					if isPatient {
						if test.outcome != Accepted && !errors.Is(err, context.DeadlineExceeded) || test.outcome == Accepted && err != nil {
							t.Error(err)
						}
						return
					}
					expired, ok := errors.AsType[*ExpiredError](err)
					if took := time.Since(began); !ok || *expired != test.want || took != test.took {
						t.Errorf("after %v %+v, want after %v %+v", took, expired, test.took, test.want)
					}
				})
			})
		}
	}
}

// TestWaitingForTheLimiterIsNotCounted: only the context ends that.
func TestWaitingForTheLimiterIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewScheduler(xrate.NewLimiter(1, 1))
		var group sync.WaitGroup
		for range 100 {
			group.Go(func() {
				w, err := enter(t.Context(), g, Read, time.Second)
				if err != nil {
					t.Error(err)
				}
				g.Leave(w, Accepted, Hold{})
			})
		}
		group.Wait()
	})
}
