package pace

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
// ctx. After a wait of five seconds, and then once a minute, Enter calls late, unless it is
// nil.
func (s *Scheduler) Enter(ctx context.Context, w *Waiter, late func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	now := time.Now()
	w.ctx, w.waits, w.since, w.done, w.err = ctx, true, now, nil, nil
	s.routes.Join(w)
	s.advance(now)
	s.expire(now, w)
	if !w.waits {
		defer s.mu.Unlock()
		return w.err
	}
	w.done = make(chan struct{})
	left := w.deadline().Sub(now)
	s.mu.Unlock()
	notice, expiry := time.NewTimer(probeInterval), time.NewTimer(left)
	defer notice.Stop()
	defer expiry.Stop()
	for {
		select {
		case <-w.done:
			return w.err
		case <-notice.C:
			if late != nil {
				late()
			}
			notice.Reset(time.Minute)
		case <-expiry.C:
			s.mu.Lock()
			now = time.Now()
			s.advance(now) // it may be sent at this instant
			s.expire(now, w)
			s.mu.Unlock()
			expiry.Reset(probeInterval)
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
	if now.Before(w.route.heldUntil(Walk)) {
		for _, waiting := range w.route.all() {
			s.expire(now, waiting)
		}
	}
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
	if err != nil {
		s.routes.Leave(w)
	}
	w.waits, w.err, w.waited = false, err, w.waited+now.Sub(w.since)
	if w.done != nil { // it did wait
		close(w.done)
	}
}

// expire ends the wait of w if it waits for longer than its call may, or would because its
// route is held. A deadline does not count while any request waits for a permit.
func (s *Scheduler) expire(now time.Time, w *Waiter) {
	held, deadline := w.route.heldUntil(w.priority), w.deadline()
	isTooLate := !now.Before(deadline) && !s.asking
	if w.waits && (isTooLate || held.After(later(now, deadline))) {
		s.end(now, w, s.routes.expired(now, w))
	}
}

// ask waits for a permit. If the limiter fails, panics or ends the goroutine, that fails the
// call of w alone.
func (s *Scheduler) ask(ctx context.Context, w *Waiter) {
	err := errors.New("the limiter did not return")
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("the limiter panicked: %v", reason)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		now := time.Now()
		s.asking, s.granted = false, err == nil
		if err != nil && w.waits {
			s.end(now, w, &LimiterError{err})
		}
		s.advance(now)
	}()
	err = s.limiter.Wait(ctx)
}

// advance lets requests go that may be sent now, and arranges for the next time. The
// caller holds mu.
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
