package pace

import (
	"context"
	"errors"
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
			g := NewScheduler(limiter, time.Second, time.Minute)
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
			g := NewScheduler(nil, time.Second, time.Minute)
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
	return &t, g.Enter(ctx, &t, most, nil)
}

// remote is a limiter that grants everything, a while later.
type remote time.Duration

func (r remote) Wait(context.Context) error {
	time.Sleep(time.Duration(r))
	return nil
}

// That one Wait at a time is under way costs nothing, unless it takes long.
func TestALimiterIsUsedToTheFull(t *testing.T) {
	for name, test := range map[string]struct {
		limiter Limiter
		least   int // requests in a minute
	}{
		"in memory, 100 a second": {xrate.NewLimiter(100, 1), 5900},
		"10 ms away":              {remote(10 * time.Millisecond), 60 * 99},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewScheduler(test.limiter, time.Second, time.Minute)
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
				if sent.Load() < int64(test.least) {
					t.Errorf("%d requests in a minute, want at least %d", sent.Load(), test.least)
				}
			})
		})
	}
}

// A caller whose request has a permit does not wait for the next one, which another lacks.
func TestACallerWithAPermitWaitsForNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 { // the order in which its goroutine sees both is random
			g := NewScheduler(remote(time.Minute), time.Second, time.Minute)
			start := time.Now()
			var group sync.WaitGroup
			for n := range 3 {
				group.Go(func() {
					time.Sleep(time.Duration(n) * time.Second)
					waiter, err := enter(t.Context(), g, Read, 0)
					if took, want := time.Since(start), time.Duration(n+1)*time.Minute; err != nil || took != want {
						t.Errorf("request %d: after %v, %v, want %v", n, took, err, want)
					}
					g.Leave(waiter, Accepted, Hold{})
				})
			}
			group.Wait()
		}
	})
}

// TestAnExpiredErrorHasTheStatusOfTheRefusal, also if that was another route's.
func TestAnExpiredErrorHasTheStatusOfTheRefusal(t *testing.T) {
	for outcome, status := range map[Outcome]int{Refused: 429, Unavailable: 503} {
		for _, retryAfter := range []time.Duration{0, 20 * time.Second} {
			for _, route := range []string{"GET /", "GET /other"} {
				if retryAfter == 0 && route != "GET /" { // it is sent as a probe
					continue
				}
				synctest.Test(t, func(t *testing.T) {
					g := NewScheduler(nil, time.Second, time.Minute)
					for g.State().Until.IsZero() || time.Until(g.State().Until) < time.Second {
						waiter, err := enter(t.Context(), g, Read, time.Hour)
						if err != nil {
							t.Fatal(err)
						}
						g.Leave(waiter, outcome, holds(retryAfter))
					}
					hung := NewWaiter(Read, "GET /third") // no later request shows that it is accepted
					if retryAfter > 0 {
						if err := g.Enter(t.Context(), &hung, time.Second, nil); err != nil {
							t.Fatal(err)
						}
					}
					waiter := NewWaiter(Read, route)
					waiter.Patient = true
					expired, ok := errors.AsType[*ExpiredError](g.Enter(t.Context(), &waiter, 100*time.Millisecond, nil))
					if !ok || expired.Status != status {
						t.Errorf("%s, Retry-After %v: %+v, want %d", route, retryAfter, expired, status)
					}
				})
			}
		}
	}
}
