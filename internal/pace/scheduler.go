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
	ask     chan bool // the caller that receives from it waits for the limiter
	asking  bool      // ask is full, or a caller waits for the limiter
	granted bool      // a permit is not used yet
	lacking bool      // a request lacks a permit, and nothing else
	freed   time.Time // a Wait ended
}

// Limiter is an upper bound that the caller sets. One caller at a time waits for it while
// a request lacks a permit, and a permit goes to the request that is first when it comes.
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
	return &Scheduler{routes: NewRoutes(rand.Float64, first, longest), limiter: limiter, ask: make(chan bool, 1)}
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
	left := s.expire(now, w)
	if !w.waits {
		defer s.mu.Unlock()
		return w.err
	}
	w.done = make(chan struct{})
	s.mu.Unlock()
	notice, expiry := time.NewTimer(lateAfter), time.NewTimer(left)
	defer notice.Stop()
	defer expiry.Stop()
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
		case <-expiry.C:
			s.mu.Lock()
			now = time.Now()
			s.advance(now)
			expiry.Reset(s.expire(now, w))
			s.mu.Unlock()
		case <-ctx.Done():
			s.cancel(ctx, w)
			return ctx.Err()
		}
	}
}

// cancel ends the wait of w, or takes it back if it was to be sent.
func (s *Scheduler) cancel(ctx context.Context, w *Waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if w.waits {
		s.end(now, w, ctx.Err())
	} else if w.err == nil {
		s.routes.Report(now, w, Unclear, 0)
	}
	s.advance(now)
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
	if retryAfter > 0 || now.Before(s.routes.quota.spent()) {
		for _, waiting := range s.routes.all() {
			s.expire(now, waiting)
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
	}
}

// expire ends the wait of w if it is too long, or would be because of a Retry-After. It
// returns when to look again.
func (s *Scheduler) expire(now time.Time, w *Waiter) (left time.Duration) {
	if !w.waits {
		return 0
	}
	limit, retryAt := s.routes.limitOf(w)
	from := later(w.since, s.freed)
	if !w.Patient { // a patient one counts what is accepted of its own
		from = later(from, limit.accepted)
	}
	left = from.Add(w.longest).Sub(now)
	if s.lacking { // waiting for the limiter alone does not count
		left = max(w.longest, minBackoff)
	}
	if left <= 0 || retryAt.Sub(now) > w.longest {
		spent := s.routes.quota.spent()
		s.end(now, w, &ExpiredError{max(0, retryAt.Sub(now)), limit.status(), spent.After(now) && retryAt.Equal(spent)})
	}
	return left
}

// wait waits for a permit, unless w no longer needs one: then another caller does. If the
// limiter panics or ends the goroutine, that fails the call of w alone.
func (s *Scheduler) wait(ctx context.Context, w *Waiter) {
	s.mu.Lock()
	if !w.waits {
		s.ask <- true
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	err := errors.New("the limiter did not return")
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asking, s.granted, s.freed = false, err == nil, time.Now()
		if err != nil && w.waits {
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
	for next != nil && (s.limiter == nil || s.granted) {
		s.granted = false
		s.routes.Send(now, next)
		s.end(now, next, nil)
		next, at = s.routes.Next(now)
	}
	if s.lacking = next != nil; s.lacking && !s.asking {
		s.asking = true
		s.ask <- true
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
