package pace

import (
	"cmp"
	"fmt"
	"math"
	"time"
)

// Routes is the pace of a client: a queue and a learner for each route, and a learner for all
// of them. It does no I/O, reads no clock, and is not safe for concurrent use.
type Routes struct {
	newLearner func() learner
	common     learner
	routes     map[string]*route // all that were requested
	joined     int               // requests that ever joined a queue
	sends      int               // requests that were ever sent
	waiting    int               // requests in the queues now
	retryAt    time.Time         // the latest retryAt of all routes that were refused
}

// route is what is known of one route.
type route struct {
	queue
	learner
	retryAt time.Time // no request is sent before
	walkAt  time.Time // no request of a walk is sent before; not earlier than retryAt
}

// Hold is how long, from now on, no request of the route is to be sent, because a response has
// a Retry-After or announces a limit that is used up.
type Hold struct {
	Route time.Duration // no request at all
	Walks time.Duration // no request of a walk, which leaves the rest of a limit to others; not less than Route
}

// heldUntil returns the time before which no request of a priority is sent.
func (r *route) heldUntil(priority Priority) time.Time {
	if priority == Walk {
		return r.walkAt
	}
	return r.retryAt
}

// NewRoutes returns a pace without a limit. random returns numbers in [0, 1).
func NewRoutes(random func() float64) *Routes {
	newLearner := func() learner { return learner{random: random} }
	p := &Routes{newLearner: newLearner, common: newLearner(), routes: map[string]*route{}}
	p.common.earlyCut = earlyCut // other clients share the common limit
	return p
}

// Join puts a request into the queue of its route.
func (p *Routes) Join(w *Waiter) {
	if p.routes[w.routeName] == nil {
		p.routes[w.routeName] = &route{learner: p.newLearner()}
	}
	p.joined++
	p.waiting++
	w.number, w.route = p.joined, p.routes[w.routeName]
	w.route.join(w)
}

// Leave removes a request from its queue without sending it.
func (p *Routes) Leave(w *Waiter) {
	p.waiting--
	w.route.leave(w)
}

// Next returns the waiter of the request that may be sent now; Send follows. If
// it returns nil, at is when to call it again unless something happens before; a
// zero at means not before.
func (p *Routes) Next(now time.Time) (next *Waiter, at time.Time) {
	if p.waiting == 0 {
		return nil, at
	}
	for _, r := range p.routes {
		w := r.head()
		if w == nil {
			continue
		}
		from := later(r.from(w.Patient), r.heldUntil(w.priority))
		if w.Once && p.common.backingOff && p.common.refusal == Unavailable {
			from = later(from, p.retryAt) // not a probe before then: if refused, its outcome would be unknown
		}
		if now.Before(from) {
			at = earlier(at, from)
		} else if next == nil || cmp.Or(cmp.Compare(w.priority, next.priority), w.number-next.number) < 0 {
			next = w
		}
	}
	if next == nil {
		return nil, at
	}
	if from := p.common.from(next.Patient); now.Before(from) {
		return nil, earlier(at, from)
	}
	return next, now
}

// Send takes w out of its queue: its request is sent now.
func (p *Routes) Send(now time.Time, w *Waiter) {
	p.Leave(w)
	p.sends++
	w.sent, w.number = now, p.sends
	p.common.send(now, w.number)
	w.route.send(now, w.number)
}

// Report records the outcome of the request of w, and for how long its response holds the
// route.
func (p *Routes) Report(now time.Time, w *Waiter, outcome Outcome, hold Hold) {
	wasBackingOff := w.route.backingOff
	w.route.report(now, w.sent, w.number, outcome, hold.Route == 0)
	w.route.retryAt = later(w.route.retryAt, now.Add(hold.Route))
	w.route.walkAt = later(w.route.walkAt, now.Add(hold.Walks))
	if outcome == Refused || outcome == Unavailable {
		p.retryAt = later(p.retryAt, w.route.retryAt)
		if wasBackingOff { // the route may be limited on its own, so others wait for one refusal and no more
			outcome = Unclear
		}
	}
	p.common.report(now, w.sent, w.number, outcome, hold.Route == 0)
}

// expired returns the error of w, which has waited for too long.
func (p *Routes) expired(now time.Time, w *Waiter) *ExpiredError {
	l, left := &p.common, w.route.heldUntil(w.priority).Sub(now)
	if w.route.backingOff {
		l = &w.route.learner
	}
	reason := "the service refuses requests"
	switch {
	case l.backingOff:
	case left > 0:
		reason = "the limit that the service announces is used up"
	default:
		reason = fmt.Sprintf("%d requests wait, of which the service accepts %.2g a second", p.waiting, l.perSecond(now))
	}
	return &ExpiredError{reason, max(0, left), l.status()}
}

// State is what was learned of the limit of all routes.
type State struct {
	PerSecond float64   // zero if no limit was seen
	Waiting   int       // requests in the queues of all routes
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
		if r.backingOff {
			until = later(until, r.until)
		}
		if now.Before(until) {
			s.Until = later(s.Until, until)
		}
	}
	return s
}
