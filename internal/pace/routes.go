package pace

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// Priority is the priority of a request. The request with the lowest number is sent first.
type Priority uint8

// The priorities, from the first to the last.
const (
	Writes Priority = iota // a request that changes something
	Reads                  // a single read
	Polls                  // a read that is repeated
	Walks                  // one page of many
)

// Kind has the properties of a request that decide how long it waits.
type Kind struct {
	Route    string // the documented path
	Priority Priority
	Endless  bool          // it waits until its context ends, and is not sent before the learners allow it
	MaxWait  time.Duration // for how long its call waits in all, unless it is endless
}

// Waiter is a request that waits to be sent. One waiter serves all attempts of a call.
type Waiter struct {
	Kind
	RefusedFor time.Duration // for how long its route had accepted nothing when its last request was reported
	Wait       time.Duration // how long the next request of its call will wait, as far as was known then

	route  *route        // set when it joins
	sent   time.Time     // its last request
	waited time.Duration // how long earlier attempts of its call waited

	// While it waits:
	queue *queue
	began time.Time // when it joined, earlier by what its call had waited before
	ctx   context.Context
	done  chan struct{} // closed when it no longer waits
	err   error         // why it is not sent
}

// Routes is the pace of a client: its queues, a learner for each route, and a learner for all of
// them. It does no I/O, reads no clock, and is not safe for concurrent use.
type Routes struct {
	random  func() float64
	common  learner
	routes  map[string]*route // all that were requested
	queues  []*queue          // one of each kind
	waiting int               // requests in the queues

	unavailable struct { // what the last 503 means for the writes of all routes
		since, until time.Time // until is the zero time if a later request was accepted
		route        *route    // that got the last 503, unless it has a limit of its own
	}
}

// queue has the waiting requests of one kind, in the order in which they began. None can be sent
// before the first, or be late before, so nobody looks at the others.
type queue struct {
	Kind
	waiters []*Waiter
}

// route is what is known of one route.
type route struct {
	learner
	retryAt time.Time // no request is sent before
	walkAt  time.Time // no request of a walk is sent before; not earlier than retryAt
}

// Hold is how long, from now on, requests of a route are not to be sent, because a response
// has a Retry-After or announces that a limit is used up.
type Hold struct {
	Route time.Duration // for all requests
	Walks time.Duration // for requests of a walk, at least as long as Route: the rest of a limit is left to other requests
}

// NewRoutes returns a pace without a limit. random returns numbers in [0, 1).
func NewRoutes(random func() float64) *Routes {
	return &Routes{random: random, common: learner{random: random}, routes: map[string]*route{}}
}

// Join puts a request into the queue of its kind. Queues that nobody waits in are forgotten when a
// new one is needed, since a program may use any number of MaxWaits.
func (p *Routes) Join(now time.Time, w *Waiter) {
	if w.route = p.routes[w.Route]; w.route == nil {
		w.route = &route{learner: learner{random: p.random}}
		p.routes[w.Route] = w.route
	}
	i := slices.IndexFunc(p.queues, func(q *queue) bool { return q.Kind == w.Kind })
	if i < 0 {
		p.queues = slices.DeleteFunc(p.queues, func(q *queue) bool { return len(q.waiters) == 0 })
		i, p.queues = len(p.queues), append(p.queues, &queue{Kind: w.Kind})
	}
	w.queue, w.began = p.queues[i], now.Add(-w.waited)
	place, _ := slices.BinarySearchFunc(w.queue.waiters, w, func(other, w *Waiter) int { return cmp.Or(other.began.Compare(w.began), -1) })
	w.queue.waiters = slices.Insert(w.queue.waiters, place, w)
	p.waiting++
}

// Leave removes a request from its queue without sending it.
func (p *Routes) Leave(w *Waiter) {
	w.queue.waiters = slices.DeleteFunc(w.queue.waiters, func(other *Waiter) bool { return other == w })
	w.queue = nil
	p.waiting--
}

// heldUntil returns the time before which the service wants no such request.
func (p *Routes) heldUntil(w *Waiter) time.Time {
	switch w.Priority {
	case Walks:
		return w.route.walkAt
	case Writes: // refused with a 503, its outcome would be unknown
		return later(w.route.retryAt, p.unavailable.until)
	}
	return w.route.retryAt
}

// Next returns the waiter of the request that may be sent now; Send follows. If it returns
// nil, call it again when a request joins or leaves or an outcome is reported, and at the time
// at, if that is not zero.
func (p *Routes) Next(now time.Time) (next *Waiter, at time.Time) {
	for _, q := range p.queues {
		if len(q.waiters) == 0 {
			continue
		}
		w := q.waiters[0]
		if due := p.earliest(w); now.Before(due) {
			at = earlier(at, due)
		} else if next == nil || cmp.Or(cmp.Compare(w.Priority, next.Priority), w.began.Compare(next.began)) < 0 {
			next = w
		}
	}
	return next, at
}

// earliest returns when a request may be sent, as far as it is known.
func (p *Routes) earliest(w *Waiter) time.Time {
	at := later(p.heldUntil(w), w.route.earliest(w.Endless), p.common.earliest(w.Endless))
	if l := p.politeTo(w); l != nil {
		at = later(at, l.earliest(false))
	}
	return at
}

// politeTo returns the route whose pace a write keeps, too, and counts for, or nil if there is none. The learner of
// all routes may allow more than a route whose own learner is slower, and nobody would notice but the writes.
func (p *Routes) politeTo(w *Waiter) *route {
	if l := p.unavailable.route; w.Priority == Writes && l != nil && l != w.route && l.backoff == nil {
		return l
	}
	return nil
}

// Send takes w out of the queue: its request is sent now.
func (p *Routes) Send(now time.Time, w *Waiter) {
	p.Leave(w)
	w.sent = now
	p.common.send(now)
	w.route.send(now)
	if l := p.politeTo(w); l != nil {
		l.send(now)
	}
}

// Report records the signal of the request of w, and for how long its response holds the
// route. The common learner learns from the first refusal in each backoff of a route, unless isOwn
// reports that the limit is that route's.
func (p *Routes) Report(now time.Time, w *Waiter, signal Signal, hold Hold) {
	if signal == Unavailable && hold.Route == 0 && !w.Endless {
		signal = Unclear // a failure that its call waits for and retries
	}
	r, forAll := w.route, signal
	if signal == Unavailable && !p.isOwn(now, r) {
		p.unavailable.route = r
	}
	if signal > Accepted && (r.backoff != nil || p.isOwn(now, r)) {
		forAll = Unclear
	}
	r.report(now, w.sent, signal, hold.Route > 0)
	if w.RefusedFor = 0; r.backoff != nil {
		w.RefusedFor = now.Sub(r.backoff.began)
	}
	p.common.report(now, w.sent, forAll, hold.Route > 0)
	if hold.Walks > 0 {
		r.retryAt, r.walkAt = later(r.retryAt, now.Add(hold.Route)), later(r.walkAt, now.Add(hold.Walks))
	}
	switch {
	case signal == Unavailable:
		p.unavailable.since, p.unavailable.until = now, later(p.unavailable.until, now.Add(hold.Route))
	case signal == Accepted && w.sent.After(p.unavailable.since):
		p.unavailable.until = time.Time{}
	}
	if w.Wait = 0; signal != Accepted {
		w.Wait = max(0, p.earliest(w).Sub(now))
	}
}

// isOwn reports whether a refusal of r shows a limit of r alone, because another route was
// accepted many times in a row.
func (p *Routes) isOwn(now time.Time, r *route) bool {
	for _, other := range p.routes {
		if other != r && other.inARow >= 3*sample && now.Sub(other.last) < outage {
			return true
		}
	}
	return false
}

// expired returns the error of w, which has waited for too long.
func (p *Routes) expired(now time.Time, w *Waiter) *ExpiredError {
	l, left, reason := &p.common, p.heldUntil(w).Sub(now), "the service refuses requests"
	if r := w.route; r.backoff != nil || l.backoff == nil && r.perSecond(now) < l.perSecond(now) {
		l = &r.learner
	}
	if l.backoff == nil && left > 0 {
		reason = "the limit that the service announces is used up"
	} else if l.backoff == nil {
		reason = fmt.Sprintf("%d requests wait, of which the service accepts %.3g a second", p.waiting, l.perSecond(now))
	}
	return &ExpiredError{reason, max(0, left), int(cmp.Or(l.refusal, Refused))}
}

// State is what was learned of the limit of all routes.
type State struct {
	PerSecond float64   // zero if no limit is known
	Waiting   int       // requests in the queue
	Until     time.Time // until when a route is held, the latest if several are; the zero time if none is
}

// State returns what was learned so far.
func (p *Routes) State(now time.Time) State {
	s := State{Waiting: p.waiting}
	if rate := p.common.perSecond(now); !math.IsInf(rate, 1) {
		s.PerSecond = rate
	}
	for _, r := range p.routes {
		until := r.retryAt
		if r.backoff != nil {
			until = later(until, r.backoff.until)
		}
		if now.Before(until) {
			s.Until = later(s.Until, until)
		}
	}
	return s
}
