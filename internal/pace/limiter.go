package pace

import (
	"context"
	"time"
)

// Limiter is an upper bound that the caller sets.
type Limiter interface {
	Wait(context.Context) error
}

// LimiterError is an error of the Limiter.
type LimiterError struct{ Err error }

func (e *LimiterError) Error() string { return "waiting for the limiter: " + e.Err.Error() }

func (e *LimiterError) Unwrap() error { return e.Err }

// permits are what a Limiter grants. The requests that are first in line wait for
// it in the goroutines of their callers, and a permit goes to whichever request
// is first when it comes.
type permits struct {
	limiter Limiter // nil if there is none
	granted int     // permits that are not used yet
	last    *Ticket // whose Wait was granted last
	waits   int     // Waits in progress
	blocked bool    // a request lacks a permit, and nothing else
	freed   time.Time
}

// permitWait is what they keep of a ticket.
type permitWait struct {
	mayWait chan struct{}      // holds one when it is to wait for the limiter
	inWait  bool               // it waits, or is about to
	cancel  context.CancelFunc // of its Wait
}

// take uses a permit, if one is needed.
func (p *permits) take() bool {
	if p.limiter == nil {
		return true
	}
	if p.granted == 0 {
		return false
	}
	p.granted--
	return true
}

// start has the first in line wait for the limiter.
func (p *permits) start(line line) {
	for _, t := range line {
		if p.waits < maxWaits && !t.inWait {
			t.inWait = true
			p.waits++
			t.mayWait <- struct{}{}
		}
	}
}

// end ends the Wait of t, if it is in one.
func (p *permits) end(t *Ticket) {
	if !t.inWait {
		return
	}
	t.inWait = false
	p.waits--
	if t.cancel != nil {
		t.cancel()
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
