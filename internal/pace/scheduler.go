package pace

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Scheduler holds requests until [Routes], and a Limiter if there is one, let them
// go. It is safe for concurrent use. Requests wait in the goroutines of their callers; one
// more waits for the limiter.
type Scheduler struct {
	mu      sync.Mutex
	routes  *Routes
	timer   *time.Timer
	limiter Limiter // nil if there is none
	asking  bool    // a permit was asked for, because a request lacks nothing else
	granted bool    // a permit is not used yet
}

// Limiter is an upper bound that the caller sets. A Wait that returns nil is a permit for one
// request. One Wait at a time is in progress while requests wait for permits, and a permit
// goes to the request that is first in turn when Wait returns.
type Limiter interface {
	Wait(context.Context) error
}

// LimiterError is an error of the Limiter.
type LimiterError struct{ Err error }

func (e *LimiterError) Error() string { return "waiting for the limiter: " + e.Err.Error() }

func (e *LimiterError) Unwrap() error { return e.Err }

// ExpiredError is returned for a request that was not sent because its call would wait, or
// has waited, for longer than its MaxWait.
type ExpiredError struct {
	Reason string        // why it waited
	For    time.Duration // what is left of a Retry-After or an announced limit, or zero if there is none
	Status int           // of the last refusal
}

func (e *ExpiredError) Error() string { return "not sent, because " + e.Reason }

// NewScheduler returns a scheduler without a limit. The limiter may be nil.
func NewScheduler(limiter Limiter) *Scheduler {
	return &Scheduler{routes: NewRoutes(rand.Float64), limiter: limiter}
}

// Enter waits until the request of w may be sent; [Scheduler.Leave] follows. A non-nil
// error means that it was not sent: an [*ExpiredError], a [*LimiterError], or the error of
// ctx. Every five seconds Enter calls late, unless it is nil.
func (s *Scheduler) Enter(ctx context.Context, w *Waiter, late func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	w.ctx, w.since, w.done, w.err = ctx, time.Now(), nil, nil
	s.routes.Join(w)
	if s.advance(w.since); !w.waits {
		defer s.mu.Unlock()
		return w.err
	}
	w.done = make(chan struct{})
	s.mu.Unlock()
	notice := time.NewTicker(patience)
	defer notice.Stop()
	for {
		select {
		case <-w.done:
			return w.err
		case <-notice.C:
			if late != nil {
				late()
			}
		case <-ctx.Done():
			s.cancel(w)
			return ctx.Err()
		}
	}
}

// cancel ends the wait of w, or takes it back if it was to be sent.
func (s *Scheduler) cancel(w *Waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if w.waits {
		s.end(now, w, w.ctx.Err())
	} else if w.err == nil {
		s.routes.Report(now, w, Unclear, Hold{})
	}
	s.advance(now)
}

// Leave reports the outcome of the request of w, and for how long its response holds its
// route.
func (s *Scheduler) Leave(w *Waiter, outcome Outcome, hold Hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.routes.Report(now, w, outcome, hold)
	s.advance(now)
}

// State returns what was learned so far.
func (s *Scheduler) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.routes.State(time.Now())
}

// end ends the wait of w: it is sent, or fails.
func (s *Scheduler) end(now time.Time, w *Waiter, err error) {
	if w.waits {
		s.routes.Leave(w)
	}
	w.err, w.waited = err, w.waited+now.Sub(w.since)
	if w.done != nil { // it did wait
		close(w.done)
	}
}

// ask waits for a permit. If the limiter fails, panics or ends the goroutine, that fails the
// call of w alone.
func (s *Scheduler) ask(ctx context.Context, w *Waiter) {
	err, asked := errors.New("the limiter did not return"), time.Now()
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("the limiter panicked: %v", reason)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		now := time.Now()
		s.asking, s.granted = false, err == nil
		for _, w := range s.routes.waiting { // the wait for a permit does not count
			w.since = w.since.Add(min(now.Sub(asked), now.Sub(w.since)))
		}
		if err != nil && w.waits {
			s.end(now, w, &LimiterError{err})
		}
		s.advance(now)
	}()
	err = s.limiter.Wait(ctx)
}

// advance lets requests go that may be sent now, ends the waits that are too long, or would be
// because the route is held, and arranges for the next time. The wait for a permit is not too
// long. The caller holds mu.
func (s *Scheduler) advance(now time.Time) {
	next, at := s.routes.Next(now)
	for next != nil && (s.limiter == nil || s.granted) {
		s.granted = false
		s.routes.Send(now, next)
		s.end(now, next, nil)
		next, at = s.routes.Next(now)
	}
	if next != nil && !s.asking {
		s.asking = true
		go s.ask(next.ctx, next)
	}
	for _, w := range slices.Clone(s.routes.waiting) {
		deadline := w.deadline()
		if isLate := !now.Before(deadline); isLate && !s.asking || s.routes.heldUntil(w).After(later(now, deadline)) {
			s.end(now, w, s.routes.expired(now, w))
		} else if !isLate {
			at = earlier(at, deadline)
		}
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	if at.After(now) {
		s.timer = time.AfterFunc(at.Sub(now), func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.advance(time.Now())
		})
	}
}
