package pace

import (
	"cmp"
	"time"
)

// Routes is the pace of a client: a queue for each route, a limit for all of them, and
// one more for each route that is isolated. It does no I/O, reads no clock, and is not
// safe for concurrent use.
type Routes struct {
	newLearner func() *learner
	common     *learner
	quota      quota
	routes     map[string]*route // all that were requested
	joined     int               // requests
	waiting    int               // of those
	probed     *route            // the last probe's

	isolator
}

// route is what is known of one route.
type route struct {
	name string
	queue
	own   *learner  // its own limit, nil unless it is isolated
	until time.Time // by its Retry-After
}

// NewRoutes returns a pace without a limit. random returns numbers in [0, 1). After a
// refusal without Retry-After it waits at most first, and it sends a probe at least
// every longest.
func NewRoutes(random func() float64, first, longest time.Duration) *Routes {
	newLearner := func() *learner { return &learner{random: random, first: first, longest: longest} }
	return &Routes{newLearner: newLearner, common: newLearner(), routes: map[string]*route{}, isolator: isolator{chance: 1}}
}

// Join puts a request into the queue of its route.
func (p *Routes) Join(w *Waiter) {
	if p.routes[w.routeName] == nil {
		p.routes[w.routeName] = &route{name: w.routeName}
	}
	p.joined++
	p.waiting++
	w.number, w.route = p.joined, p.routes[w.routeName]
	w.route.join(w)
}

// Leave takes a request out of its queue that is not to be sent any more.
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
		w := r.first()
		if w == nil {
			continue
		}
		if ok, from := p.routeReady(now, w); !ok {
			at = earlier(at, from)
		} else if next == nil || p.isBefore(w, next) {
			next = w
		}
	}
	if next == nil {
		return nil, at
	}
	if ok, from := p.quota.ready(now, next.priority); !ok {
		return nil, earlier(at, from)
	}
	if ok, from := p.common.ready(now, next.Patient); !ok {
		return nil, earlier(at, from)
	}
	return next, now
}

// routeReady reports whether its route allows that w is sent now, or else when that may
// change.
func (p *Routes) routeReady(now time.Time, w *Waiter) (ok bool, at time.Time) {
	if at = w.route.until; w.Once && p.common.backingOff && p.common.refusal == Unavailable {
		at = later(at, p.common.retryAt)
	}
	if w.route.own == nil || now.Before(at) {
		return !now.Before(at), at
	}
	return w.route.own.ready(now, w.Patient)
}

// isBefore reports whether w goes before other.
func (p *Routes) isBefore(w, other *Waiter) bool {
	if p.common.backingOff && (w.route == p.probed) != (other.route == p.probed) { // probes take turns between the routes
		return other.route == p.probed
	}
	return cmp.Or(cmp.Compare(w.priority, other.priority), w.number-other.number) < 0
}

// Send takes w out of its queue: its request is sent now.
func (p *Routes) Send(now time.Time, w *Waiter) {
	p.Leave(w)
	w.ended = p.quota.ended
	p.quota.send(now)
	p.common.send(now, &w.common)
	if w.own = (flight{}); w.route.own != nil {
		w.route.own.send(now, &w.own)
	}
	if w.common.probe {
		p.probed = w.route
	}
	p.isolator.send(w.route)
}

// Announce records what the response to the request of w says: of limit requests, left
// more are accepted until reset from now. Report follows.
func (p *Routes) Announce(now time.Time, w *Waiter, limit, left int, reset time.Duration) {
	p.quota.announce(now, w.ended, limit, left, reset)
}

// Report records the outcome of the request of w. retryAfter is for how long from
// now the service wants no request of its route, or zero if it names no time. It
// returns the name of a route that it isolates because of it.
func (p *Routes) Report(now time.Time, w *Waiter, outcome Outcome, retryAfter time.Duration) (isolated string) {
	p.quota.report(w.common.at, outcome)
	switch outcome {
	case Accepted:
		p.isolator.accept(w.route)
	case Refused, Unavailable:
		w.route.until = later(w.route.until, now.Add(retryAfter))
		if w.route.own == nil && p.isUnlikely(w.route, w.common.episode == p.common.episode) {
			p.isolate(now, w.route)
			isolated = w.route.name
		}
	}
	p.common.report(now, &w.common, p.reportOwn(now, w, outcome, retryAfter), retryAfter)
	return isolated
}

// isolate gives a route a limit of its own. What was learned from its refusals is
// forgotten.
func (p *Routes) isolate(now time.Time, r *route) {
	common := p.newLearner()
	common.inFlight, common.episode = p.common.inFlight, p.common.episode+1
	*p.common = *common
	r.own = p.newLearner()
	r.own.lastRefused = now
}

// reportOwn reports an outcome to the limit of an isolated route. It returns what the
// outcome shows of the common one.
func (p *Routes) reportOwn(now time.Time, w *Waiter, outcome Outcome, retryAfter time.Duration) Outcome {
	own := w.route.own
	if own == nil {
		return outcome
	}
	if !w.own.at.IsZero() { // else it was sent before its route was isolated
		own.report(now, &w.own, outcome, retryAfter)
	}
	if outcome == Accepted && !own.backingOff && now.Sub(own.lastRefused) > isolationTime {
		w.route.own = nil
	}
	if outcome != Accepted {
		return Unclear
	}
	return outcome
}

// limitOf returns the limit that a request waits for first, and until when a Retry-After
// or a spent quota binds it.
func (p *Routes) limitOf(w *Waiter) (l *learner, retryAt time.Time) {
	if l = p.common; w.route.own != nil {
		l = w.route.own
	}
	return l, later(w.route.until, p.quota.spent())
}

// all returns the waiters of all routes.
func (p *Routes) all() (all []*Waiter) {
	for _, r := range p.routes {
		all = append(all, r.all()...)
	}
	return all
}

// State is what was learned of the common limit.
type State struct {
	PerSecond float64   // zero if no limit was seen
	Waiting   int       // requests in the queues of all routes
	Until     time.Time // nothing is sent before; the zero time if requests may be sent
	AtRandom  bool      // refusals do not depend on the rate, which is not limited
}

// State returns what was learned so far.
func (p *Routes) State(now time.Time) State {
	s := State{Waiting: p.waiting, AtRandom: p.common.sheds}
	if p.common.rate > 0 && !s.AtRandom {
		s.PerSecond = p.common.perSecond()
	}
	if p.common.backingOff {
		s.Until = later(p.common.until, p.common.retryAt)
	}
	s.Until = later(s.Until, p.quota.spent())
	if !now.Before(s.Until) {
		s.Until = time.Time{}
	}
	return s
}
