package pace

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Gate holds requests until [Routes], and a Limiter if there is one, let them
// go. It is safe for concurrent use. Requests wait in the goroutines of their
// callers; the gate has none.
type Gate struct {
	mu     sync.Mutex
	routes *Routes
	timer  *time.Timer
	permits
}

// NewGate returns a gate without a limit, with the backoff of [NewEngine]. The
// limiter may be nil.
func NewGate(limiter Limiter, first, longest time.Duration) *Gate {
	return &Gate{
		routes:  NewRoutes(func() *Engine { return NewEngine(rand.Float64, first, longest) }),
		permits: permits{limiter: limiter},
	}
}

// HeldError is returned for a request that was not sent because the service
// refuses requests for longer than its caller would wait.
type HeldError struct {
	For time.Duration // what is left of a Retry-After, zero if there was none
}

func (e *HeldError) Error() string {
	if e.For == 0 {
		return "the service accepts no request"
	}
	return fmt.Sprintf("the service accepts no requests for another %v (Retry-After)", e.For.Round(time.Second))
}

// Enter waits until the request of t may be sent; [Gate.Leave] follows. A non-nil
// error means that it was not sent: a [*HeldError] when a Retry-After of its route
// ends later than in longest, or its call waited for longest in which nothing was
// accepted, a [*LimiterError], or the error of ctx. After a wait of five seconds
// Enter calls late, unless it is nil.
func (g *Gate) Enter(ctx context.Context, t *Ticket, longest time.Duration, late func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	now := time.Now()
	t.waiting = waiting{waits: true, waited: t.waited, since: now.Add(-t.waited), longest: longest}
	if g.limiter != nil {
		t.mayWait = make(chan struct{}, 1)
	}
	g.routes.Join(t)
	g.advance(now)
	if !t.waits {
		g.mu.Unlock()
		return t.err
	}
	t.done = make(chan struct{})
	g.mu.Unlock()
	notice := time.NewTimer(noticeable)
	defer notice.Stop()
	for {
		select {
		case <-t.done:
			return t.err
		case <-t.mayWait:
			g.waitForPermit(ctx, t)
		case <-notice.C:
			if late != nil {
				late()
			}
		case <-ctx.Done():
			g.mu.Lock()
			defer g.mu.Unlock()
			g.cancel(t, ctx.Err())
			return ctx.Err()
		}
	}
}

// waitForPermit waits for a permit, for whichever request is first when it comes. If the
// limiter panics or ends the goroutine, that fails the call of t alone.
func (g *Gate) waitForPermit(ctx context.Context, t *Ticket) {
	waitCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	g.mu.Lock()
	if !t.inWait { // it is sent by now
		g.mu.Unlock()
		return
	}
	t.cancel = cancel
	g.mu.Unlock()
	err, returned := error(nil), false
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.end(t)
		switch {
		case !returned:
			g.cancel(t, nil)
		case err == nil:
			g.granted++
			g.last = t
		case t.waits:
			g.reject(time.Now(), t, &LimiterError{err})
		}
		g.advance(time.Now())
	}()
	err = g.limiter.Wait(waitCtx)
	returned = true
}

// Leave reports the outcome of the request of t, with the Retry-After of its
// response. It returns the name of the route that this sets apart, if any.
func (g *Gate) Leave(t *Ticket, outcome Outcome, retryAfter time.Duration) (apart string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	apart = g.routes.Report(now, t, outcome, retryAfter)
	g.advance(now)
	return apart
}

// State returns what was learned so far.
func (g *Gate) State() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.routes.State(time.Now())
}

// cancel ends the wait of t, or takes it back if it was to be sent.
func (g *Gate) cancel(t *Ticket, err error) {
	now := time.Now()
	switch {
	case t.waits:
		g.reject(now, t, err)
	case t.err == nil:
		g.routes.Report(now, t, Unclear, 0)
	}
	g.advance(now)
}

// reject ends the wait of t with an error.
func (g *Gate) reject(now time.Time, t *Ticket, err error) {
	t.err = err
	g.routes.Abandon(now, t)
	g.release(now, t)
}

// release wakes the caller of t.
func (g *Gate) release(now time.Time, t *Ticket) {
	t.waits = false
	t.waited = now.Sub(t.since)
	if t.done != nil {
		close(t.done)
	}
	g.end(t)
}

// advance lets requests go that may be sent now, ends waits that are too long,
// and arranges for the next time. The caller holds mu.
func (g *Gate) advance(now time.Time) {
	next, at := g.routes.Next(now)
	for next != nil && g.take() {
		if last := g.last; last != nil && last.waits && last.rank == next.rank && last.route == next.route {
			next = last // the Wait of another would be for nothing
		}
		g.routes.Send(now, next)
		g.release(now, next)
		next, at = g.routes.Next(now)
	}
	wasBlocked := g.blocked
	if g.blocked = next != nil; g.blocked || wasBlocked {
		g.freed = now
	}
	for _, t := range g.routes.waiting() {
		named, deadline := g.routes.engine(t.route).until(t.route).Sub(now), g.deadline(t)
		if named > t.longest || !g.blocked && !now.Before(deadline) {
			g.reject(now, t, &HeldError{max(0, named)})
		} else {
			at = earlier(at, deadline)
		}
	}
	if g.blocked {
		g.start(g.routes.common.line)
	}
	g.wake(now, at)
}

// deadline returns until when t waits if nothing is accepted before.
func (g *Gate) deadline(t *Ticket) time.Time {
	since := t.since
	for _, other := range []time.Time{g.routes.engine(t.route).accepted, g.freed} {
		if other.After(since) {
			since = other
		}
	}
	return since.Add(t.longest)
}

// wake has advance called at that time.
func (g *Gate) wake(now, at time.Time) {
	if g.timer != nil {
		g.timer.Stop()
	}
	switch {
	case !at.After(now):
	case g.timer != nil:
		g.timer.Reset(at.Sub(now))
	default:
		g.timer = time.AfterFunc(at.Sub(now), func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.advance(time.Now())
		})
	}
}
