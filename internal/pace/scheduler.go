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
	limiter Limiter       // nil if there is none
	awaited time.Time     // since when a permit is awaited, because a request lacks nothing else; the zero time if none is
	permits time.Duration // how long the earlier waits for permits took
	granted bool          // a permit is not used yet
}

// Limiter is an upper bound that the caller sets. A Wait that returns nil is a permit for one
// request. One Wait at a time is in progress while requests wait for permits, and a permit
// goes to the request that is first in turn when Wait returns.
type Limiter interface {
	Wait(context.Context) error
}

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

// Enter waits until the request of w may be sent; [Scheduler.Report] follows. A non-nil
// error means that it was not sent: an [*ExpiredError], the error of the Limiter, or that of
// ctx. While it waits, Enter calls notify every five seconds.
func (s *Scheduler) Enter(ctx context.Context, w *Waiter, notify func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	now := time.Now()
	w.ctx, w.done, w.err = ctx, nil, nil
	s.routes.Join(s.clock(now), w)
	if s.dispatch(now); w.queue == nil {
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
			notify()
		case <-ctx.Done():
			s.update(func(now time.Time) {
				if w.queue != nil {
					s.end(now, w, ctx.Err())
				} else if w.err == nil { // it was to be sent
					s.routes.Report(now, w, Unclear, Hold{})
				}
			})
			return ctx.Err()
		}
	}
}

// Report reports the signal of the request of w, and for how long its response holds its
// route.
func (s *Scheduler) Report(w *Waiter, signal Signal, hold Hold) {
	s.update(func(now time.Time) { s.routes.Report(now, w, signal, hold) })
}

// update makes a change, and then what it allows.
func (s *Scheduler) update(change func(now time.Time)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	change(now)
	s.dispatch(now)
}

// State returns what was learned so far.
func (s *Scheduler) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.routes.State(time.Now())
}

// clock returns the time by which calls wait: it stands still while a permit is awaited.
func (s *Scheduler) clock(now time.Time) time.Time {
	if !s.awaited.IsZero() {
		now = s.awaited
	}
	return now.Add(-s.permits)
}

// end ends the wait of w: it is sent, or fails.
func (s *Scheduler) end(now time.Time, w *Waiter, err error) {
	if w.queue != nil {
		s.routes.Leave(w)
	}
	w.err, w.waited = err, s.clock(now).Sub(w.began)
	if w.done != nil { // it did wait
		close(w.done)
	}
}

// late returns a call that has waited for too long, or would because its route is held. If there
// is none, it returns when one will be, or at if that is earlier.
func (s *Scheduler) late(now, at time.Time) (*Waiter, time.Time) {
	for _, q := range s.routes.queues {
		if len(q.waiters) == 0 || q.Endless {
			continue
		}
		first, isAwaiting := q.waiters[0], !s.awaited.IsZero()
		left := first.began.Add(first.MaxWait).Sub(s.clock(now))
		switch {
		case left <= 0 && !isAwaiting, s.routes.heldUntil(first).Sub(now) > max(left, 0):
			return first, now
		case !isAwaiting:
			at = earlier(at, now.Add(left))
		}
	}
	return nil, at
}

// awaitPermit waits for a permit. If the limiter fails, panics or ends the goroutine, that fails the
// call of w alone.
func (s *Scheduler) awaitPermit(ctx context.Context, w *Waiter) {
	err := errors.New("the limiter did not return")
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("the limiter panicked: %v", reason)
		}
		s.update(func(now time.Time) {
			s.permits += now.Sub(s.awaited)
			s.awaited, s.granted = time.Time{}, err == nil
			if err != nil && w.queue != nil {
				s.end(now, w, fmt.Errorf("waiting for the limiter: %w", err))
			}
		})
	}()
	err = s.limiter.Wait(ctx)
}

// dispatch lets requests go that may be sent now, ends the waits that are too long, and arranges
// for the next time. The caller holds mu.
func (s *Scheduler) dispatch(now time.Time) {
	next, at := s.routes.Next(now)
	for next != nil && (s.limiter == nil || s.granted) {
		s.granted = false
		s.routes.Send(now, next)
		s.end(now, next, nil)
		next, at = s.routes.Next(now)
	}
	if next != nil && s.awaited.IsZero() {
		s.awaited = now
		go s.awaitPermit(next.ctx, next)
	}
	late, soonest := s.late(now, at)
	for ; late != nil; late, soonest = s.late(now, at) {
		s.end(now, late, s.routes.expired(now, late))
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	if soonest.After(now) {
		s.timer = time.AfterFunc(soonest.Sub(now), func() { s.update(func(time.Time) {}) })
	}
}
