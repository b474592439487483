package pace

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Limiter is an upper bound that somebody else keeps.
type Limiter interface {
	Wait(context.Context) error
}

// maxWaits is how many Waits of a Limiter are under way at most: what it
// grants goes to the highest in line then, not to whoever came first.
const maxWaits = 4

// Gate holds requests until an [Engine], and a Limiter where there is one, lets
// them go. It is safe for concurrent use. Requests wait in the goroutines
// of their callers; the gate has none.
type Gate struct {
	limiter Limiter

	mu      sync.Mutex
	engine  *Engine
	timer   *time.Timer
	permits int     // granted by the limiter, and not used yet
	waits   int     // Waits of the limiter under way
	granted *Ticket // whose Wait was the last to be granted
}

// NewGate returns a gate without a limit, with the backoff of [New]. The
// limiter may be nil.
func NewGate(limiter Limiter, first, longest time.Duration) *Gate {
	return &Gate{limiter: limiter, engine: New(rand.Float64, first, longest)}
}

// waiting is what a gate keeps of a ticket.
type waiting struct {
	turn    chan struct{}      // closed when the request may be sent; nil: it does not wait yet
	mayWait chan struct{}      // holds one: this one is to wait for the limiter
	inWait  bool               // it does, or is to
	cancel  context.CancelFunc // of its Wait
}

// HeldError is returned for a request that was not sent because the service
// wants none for longer than its caller would wait.
type HeldError struct{ For time.Duration }

func (e *HeldError) Error() string {
	return fmt.Sprintf("the service wants no request for another %v (Retry-After)", e.For.Round(time.Second))
}

// LimiterError is an error of the Limiter.
type LimiterError struct{ Err error }

func (e *LimiterError) Error() string { return "waiting for the limiter: " + e.Err.Error() }

func (e *LimiterError) Unwrap() error { return e.Err }

// Enter waits until the request of t may be sent; [Gate.Leave] follows. It
// returns a [*HeldError] at once where the service named a later time than in
// most, and otherwise ends with ctx, or with an error of the limiter.
func (g *Gate) Enter(ctx context.Context, t *Ticket, most time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	now := time.Now()
	if until := g.engine.Named(t.rank); until.Sub(now) > most {
		g.mu.Unlock()
		return &HeldError{until.Sub(now)}
	}
	g.engine.Join(t)
	if g.limiter != nil {
		t.mayWait = make(chan struct{}, 1)
	}
	g.advance(now)
	if !t.sent.IsZero() {
		g.mu.Unlock()
		return nil
	}
	t.turn = make(chan struct{})
	g.mu.Unlock()
	for {
		select {
		case <-t.turn:
			return nil
		default:
		}
		select {
		case <-t.turn:
			return nil
		case <-t.mayWait:
			if err := g.wait(ctx, t); err != nil {
				return err
			}
		case <-ctx.Done():
			g.abandon(t)
			return ctx.Err()
		}
	}
}

// wait waits for a permit of the limiter, for whoever is first in line when it comes.
func (g *Gate) wait(ctx context.Context, t *Ticket) error {
	waitCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	g.mu.Lock()
	if !t.inWait { // it may be sent by now
		g.mu.Unlock()
		return nil
	}
	t.cancel = cancel
	g.mu.Unlock()
	err := g.limiter.Wait(waitCtx)
	g.mu.Lock()
	defer g.mu.Unlock()
	t.inWait, t.cancel = false, nil
	g.waits--
	if err == nil {
		g.permits++
		if t.sent.IsZero() {
			g.granted = t
		}
	}
	defer func() { g.advance(time.Now()) }()
	if err == nil || !t.sent.IsZero() {
		return nil // with another's permit, perhaps
	}
	g.engine.Abandon(t)
	return &LimiterError{err}
}

// abandon takes t out, whose context ended.
func (g *Gate) abandon(t *Ticket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.inWait {
		t.inWait = false
		g.waits--
	}
	if g.granted == t {
		g.granted = nil
	}
	if t.sent.IsZero() {
		g.engine.Abandon(t)
	} else {
		g.engine.Report(time.Now(), t, Unclear, 0)
	}
	g.advance(time.Now())
}

// Leave reports what came of the request of t, which is of no more use.
func (g *Gate) Leave(t *Ticket, outcome Outcome, retryAfter time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.engine.Report(now, t, outcome, retryAfter)
	g.advance(now)
}

// State returns what was learned so far.
func (g *Gate) State() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.engine.State(time.Now())
}

// advance lets go who may now, and arranges for the next time. The caller holds mu.
func (g *Gate) advance(now time.Time) {
	for {
		t, at := g.engine.Next(now)
		if t == nil || g.limiter != nil && g.permits == 0 {
			if t != nil {
				g.startWaits(now)
			}
			g.wake(now, at)
			return
		}
		if g.limiter != nil {
			g.permits--
			if a := g.granted; a != nil && a.rank == t.rank && a.sent.IsZero() {
				t = a // its Wait is over already: that of another would be for nothing
			}
			g.granted = nil
		}
		g.engine.Send(now, t)
		if t.turn != nil {
			close(t.turn)
		}
		switch {
		case t.cancel != nil:
			t.cancel()
		case t.inWait:
			t.inWait = false
			g.waits--
		}
	}
}

// startWaits has the first in line wait for the limiter.
func (g *Gate) startWaits(now time.Time) {
	for t := range g.engine.Waiting(now) {
		if g.waits == maxWaits {
			return
		}
		if !t.inWait {
			t.inWait = true
			g.waits++
			t.mayWait <- struct{}{}
		}
	}
}

// wake sees to it that advance is called at that time.
func (g *Gate) wake(now, at time.Time) {
	if g.timer != nil {
		g.timer.Stop()
	}
	if !at.After(now) {
		return
	}
	if g.timer != nil {
		g.timer.Reset(at.Sub(now))
		return
	}
	g.timer = time.AfterFunc(at.Sub(now), func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.advance(time.Now())
	})
}
