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
