package pace

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Gate holds requests until [Routes], and a Limiter if there is one, let them
// go. It is safe for concurrent use. Requests wait in the goroutines of their
// callers; the gate has none.
type Gate struct {
	mu      sync.Mutex
	routes  *Routes
	timer   *time.Timer
	limiter Limiter   // nil if there is none
	waits   int       // for the limiter, of callers
	ask     chan bool // a caller takes one and waits
	granted int       // permits that are not used yet
	lacking bool      // a request lacks a permit, and nothing else
	freed   time.Time // a Wait ended
}

// Limiter is an upper bound that the caller sets. A few callers wait for it while a
// request lacks a permit, and a permit goes to the one that is first when it comes.
type Limiter interface {
	Wait(context.Context) error
}

// LimiterError is an error of the Limiter.
type LimiterError struct{ Err error }

func (e *LimiterError) Error() string { return "waiting for the limiter: " + e.Err.Error() }

func (e *LimiterError) Unwrap() error { return e.Err }

// HeldError is returned for a request that was not sent because the service
// refuses requests for longer than its caller would wait.
type HeldError struct {
	For    time.Duration // what is left of a Retry-After or of a spent quota, zero if there was none
	Status int           // that it refused with
	Spent  bool          // nothing was refused, but the quota is spent
}

func (e *HeldError) Error() string {
	if e.For == 0 {
		return "the service accepts no request"
	}
	return fmt.Sprintf("the service accepts no requests for another %v (Retry-After or RateLimit-Reset)", e.For.Round(time.Second))
}

// NewGate returns a gate without a limit, with the backoff of [NewRoutes]. The
// limiter may be nil.
func NewGate(limiter Limiter, first, longest time.Duration) *Gate {
	return &Gate{routes: NewRoutes(rand.Float64, first, longest), limiter: limiter, ask: make(chan bool, maxWaits)}
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
	g.routes.Join(t)
	g.advance(now)
	g.expire(now, t)
	if !t.waits {
		defer g.mu.Unlock()
		return t.err
	}
	t.done = make(chan struct{})
	g.mu.Unlock()
	notice := time.NewTimer(long)
	defer notice.Stop()
	for {
		select {
		case <-t.done:
			return t.err
		case <-g.ask:
			g.wait(ctx, t)
		case <-notice.C:
			if late != nil {
				late()
			}
		case <-ctx.Done():
			g.mu.Lock()
			defer g.mu.Unlock()
			if now = time.Now(); t.waits {
				g.end(now, t, ctx.Err())
			} else if t.err == nil { // it was to be sent
				g.routes.Report(now, t, Unclear, 0)
			}
			g.advance(now)
			return ctx.Err()
		}
	}
}

// Announce reports what the response to the request of t says: of limit requests, left
// more are accepted until reset from now. [Gate.Leave] follows.
func (g *Gate) Announce(t *Ticket, limit, left int, reset time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.routes.Announce(time.Now(), t, limit, left, reset)
}

// Leave reports the outcome of the request of t, with the Retry-After of its
// response. It returns the name of the route that this sets apart, if any.
func (g *Gate) Leave(t *Ticket, outcome Outcome, retryAfter time.Duration) (apart string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	apart = g.routes.Report(now, t, outcome, retryAfter)
	if retryAfter > 0 || now.Before(g.routes.quota.spent(Write)) {
		for _, hopeless := range g.routes.hopeless(now) {
			g.end(now, hopeless, g.held(now, hopeless))
		}
	}
	g.advance(now)
	return apart
}

// State returns what was learned so far.
func (g *Gate) State() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.routes.State(time.Now())
}

// end ends the wait of t: it is sent, or fails.
func (g *Gate) end(now time.Time, t *Ticket, err error) {
	if err != nil {
		g.routes.Leave(t)
	}
	t.waits, t.err, t.waited = false, err, now.Sub(t.since)
	if t.done != nil { // it did wait
		close(t.done)
		t.timer.Stop()
	}
	if t.cancel != nil {
		t.cancel()
	}
}

// held returns the error of t, which waits too long.
func (g *Gate) held(now time.Time, t *Ticket) error {
	_, named := g.routes.limitOf(t)
	spent := g.routes.quota.spent(t.rank)
	return &HeldError{max(0, named.Sub(now)), g.routes.statusFor(now, t.in), spent.After(now) && named.Equal(spent)}
}

// expire ends the wait of t if it is too long, or would be because of a Retry-After, or
// arranges for when it will be.
func (g *Gate) expire(now time.Time, t *Ticket) {
	if !t.waits {
		return
	}
	limit, named := g.routes.limitOf(t)
	left := later(later(t.since, g.freed), limit.accepted).Add(t.longest).Sub(now)
	if g.lacking { // waiting for the limiter alone does not count
		left = max(t.longest, leastBackoff)
	}
	if left <= 0 || named.Sub(now) > t.longest {
		g.end(now, t, g.held(now, t))
		return
	}
	t.timer = g.after(left, t)
}

// after advances and has t expire, unless it is nil, in so long.
func (g *Gate) after(wait time.Duration, t *Ticket) *time.Timer {
	return time.AfterFunc(wait, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		now := time.Now()
		g.advance(now)
		if t != nil {
			g.expire(now, t)
		}
	})
}

// wait waits for a permit. If the limiter panics or ends the goroutine, that fails
// the call of t alone.
func (g *Gate) wait(ctx context.Context, t *Ticket) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g.mu.Lock()
	if t.cancel = cancel; !t.waits {
		cancel()
	}
	g.mu.Unlock()
	err := errors.New("the limiter did not return")
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.waits--
		if g.freed = time.Now(); err == nil {
			g.granted++
		} else if t.waits {
			g.end(g.freed, t, &LimiterError{err})
		}
		g.advance(g.freed)
	}()
	err = g.limiter.Wait(ctx)
}

// advance lets requests go that may be sent now, and arranges for the next time. The
// caller holds mu.
func (g *Gate) advance(now time.Time) {
	next, at := g.routes.Next(now)
	for next != nil && (g.limiter == nil || g.granted > 0) {
		g.granted = max(0, g.granted-1)
		g.routes.Send(now, next)
		g.end(now, next, nil)
		next, at = g.routes.Next(now)
	}
	for g.lacking = next != nil; g.lacking && g.waits < min(maxWaits, g.routes.waiting); g.waits++ {
		g.ask <- true
	}
	if g.timer != nil {
		g.timer.Stop()
	}
	if at.After(now) {
		g.timer = g.after(at.Sub(now), nil)
	}
}
