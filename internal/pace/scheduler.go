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
// go. It is safe for concurrent use. Requests wait in the goroutines of their
// callers; the scheduler has none.
type Scheduler struct {
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

// ExpiredError is returned for a request that was not sent because the service
// refuses requests for longer than its caller would wait.
type ExpiredError struct {
	For    time.Duration // what is left of a Retry-After or of a spent quota, zero if there was none
	Status int           // that it refused with
	Spent  bool          // nothing was refused, but the quota is spent
}

func (e *ExpiredError) Error() string {
	if e.For == 0 {
		return "the service accepts no request"
	}
	return fmt.Sprintf("the service accepts no requests for another %v (Retry-After or RateLimit-Reset)", e.For.Round(time.Second))
}

// NewScheduler returns a scheduler without a limit, with the backoff of [NewRoutes]. The
// limiter may be nil.
func NewScheduler(limiter Limiter, first, longest time.Duration) *Scheduler {
	return &Scheduler{routes: NewRoutes(rand.Float64, first, longest), limiter: limiter, ask: make(chan bool, maxLimiterWaits)}
}

// Enter waits until the request of w may be sent; [Scheduler.Leave] follows. A non-nil
// error means that it was not sent: a [*ExpiredError] when a Retry-After of its route
// ends later than in longest, or its call waited for longest in which nothing was
// accepted (of a Patient one: in which it was not sent), a [*LimiterError], or the error of ctx. After a wait of five seconds
// Enter calls late, unless it is nil.
func (s *Scheduler) Enter(ctx context.Context, w *Waiter, longest time.Duration, late func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	now := time.Now()
	if w.Patient { // its caller counts what it waited before
		w.waited = 0
	}
	w.waiting = waiting{waits: true, waited: w.waited, since: now.Add(-w.waited), longest: longest}
	s.routes.Join(w)
	s.advance(now)
	s.expire(now, w)
	if !w.waits {
		defer s.mu.Unlock()
		return w.err
	}
	w.done = make(chan struct{})
	s.mu.Unlock()
	notice := time.NewTimer(lateAfter)
	defer notice.Stop()
	for {
		select {
		case <-w.done:
			return w.err
		case <-s.ask:
			s.wait(ctx, w)
		case <-notice.C:
			if late != nil {
				late()
			}
		case <-ctx.Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			if now = time.Now(); w.waits {
				s.end(now, w, ctx.Err())
			} else if w.err == nil { // it was to be sent
				s.routes.Report(now, w, Unclear, 0)
			}
			s.advance(now)
			return ctx.Err()
		}
	}
}

// Announce reports what the response to the request of w says: of limit requests, left
// more are accepted until reset from now. [Scheduler.Leave] follows.
func (s *Scheduler) Announce(w *Waiter, limit, left int, reset time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.routes.Announce(time.Now(), w, limit, left, reset)
}

// Leave reports the outcome of the request of w, with the Retry-After of its
// response. It returns the name of the route that this isolates, if any.
func (s *Scheduler) Leave(w *Waiter, outcome Outcome, retryAfter time.Duration) (isolated string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	isolated = s.routes.Report(now, w, outcome, retryAfter)
	if retryAfter > 0 || now.Before(s.routes.quota.spent(Write)) {
		for _, expired := range s.routes.expired(now) {
			s.end(now, expired, s.expiredError(now, expired))
		}
	}
	s.advance(now)
	return isolated
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
	w.waits, w.err, w.waited = false, err, now.Sub(w.since)
	if w.done != nil { // it did wait
		close(w.done)
		w.timer.Stop()
	}
	if w.cancel != nil {
		w.cancel()
	}
}

// expiredError returns the error of w, which waits too long.
func (s *Scheduler) expiredError(now time.Time, w *Waiter) error {
	_, retryAt := s.routes.limitOf(w)
	spent := s.routes.quota.spent(w.priority)
	return &ExpiredError{max(0, retryAt.Sub(now)), s.routes.statusFor(w.route), spent.After(now) && retryAt.Equal(spent)}
}

// expire ends the wait of w if it is too long, or would be because of a Retry-After, or
// arranges for when it will be.
func (s *Scheduler) expire(now time.Time, w *Waiter) {
	if !w.waits {
		return
	}
	limit, retryAt := s.routes.limitOf(w)
	from := later(w.since, s.freed)
	if !w.Patient { // a patient one counts what is accepted of its own
		from = later(from, limit.accepted)
	}
	left := from.Add(w.longest).Sub(now)
	if s.lacking { // waiting for the limiter alone does not count
		left = max(w.longest, minBackoff)
	}
	if left <= 0 || retryAt.Sub(now) > w.longest {
		s.end(now, w, s.expiredError(now, w))
		return
	}
	w.timer = s.after(left, w)
}

// after advances and has w expire, unless it is nil, in so long.
func (s *Scheduler) after(wait time.Duration, w *Waiter) *time.Timer {
	return time.AfterFunc(wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		now := time.Now()
		s.advance(now)
		if w != nil {
			s.expire(now, w)
		}
	})
}

// wait waits for a permit. If the limiter panics or ends the goroutine, that fails
// the call of w alone.
func (s *Scheduler) wait(ctx context.Context, w *Waiter) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	if w.cancel = cancel; !w.waits {
		cancel()
	}
	s.mu.Unlock()
	err := errors.New("the limiter did not return")
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waits--
		if s.freed = time.Now(); err == nil {
			s.granted++
		} else if w.waits {
			s.end(s.freed, w, &LimiterError{err})
		}
		s.advance(s.freed)
	}()
	err = s.limiter.Wait(ctx)
}

// advance lets requests go that may be sent now, and arranges for the next time. The
// caller holds mu.
func (s *Scheduler) advance(now time.Time) {
	next, at := s.routes.Next(now)
	for next != nil && (s.limiter == nil || s.granted > 0) {
		s.granted = max(0, s.granted-1)
		s.routes.Send(now, next)
		s.end(now, next, nil)
		next, at = s.routes.Next(now)
	}
	for s.lacking = next != nil; s.lacking && s.waits < min(maxLimiterWaits, s.routes.waiting); s.waits++ {
		s.ask <- true
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	if at.After(now) {
		s.timer = s.after(at.Sub(now), nil)
	}
}
