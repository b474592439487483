package pace

import (
	"cmp"
	"net/http"
	"slices"
	"time"
)

// Routes is the pace of a client: a line for each route, a limit for all of them, and
// one more for each route that is set apart. It does no I/O, reads no clock, and is not
// safe for concurrent use.
type Routes struct {
	newLearner func() *learner
	common     *learner
	quota      quota
	routes     map[string]*route // all that were requested
	joined     int               // requests
	waiting    int               // of those
	refusal    Outcome           // the last one of a route that is not set apart

	probed  *route   // the last probe's
	suspect *route   // the only one refused in this hold, with a long Retry-After
	lately  []*route // those of the last requests
	blamed  *route   // that of the last refusal
	chance  float64  // that a common limit refused it alone since another one was refused
	same    bool     // it was accepted since
	others  bool     // another one was

	closedBy *route    // the last one refused with 503 that is not set apart
	closed   time.Time // until then by Retry-After, or zero if another one was accepted since
	closedIn int       // that episode
}

// NewRoutes returns a pace without a limit. random returns numbers in [0, 1). After a
// refusal without Retry-After it waits at most first, and it sends a probe at least
// every longest.
func NewRoutes(random func() float64, first, longest time.Duration) *Routes {
	newLearner := func() *learner { return &learner{random: random, first: first, longest: longest} }
	return &Routes{newLearner: newLearner, common: newLearner(), routes: map[string]*route{}, chance: 1}
}

// Join puts a request in line.
func (p *Routes) Join(t *Ticket) {
	if p.routes[t.route] == nil {
		p.routes[t.route] = &route{name: t.route}
	}
	p.joined++
	p.waiting++
	t.number, t.in = p.joined, p.routes[t.route]
	t.in.join(t)
}

// Leave takes a request out of line that is not to be sent any more.
func (p *Routes) Leave(t *Ticket) {
	p.waiting--
	t.in.leave(t)
}

// Next returns the ticket of the request that may be sent now; Send follows. If
// it returns nil, at is when to call it again unless something happens before; a
// zero at means not before.
func (p *Routes) Next(now time.Time) (next *Ticket, at time.Time) {
	if p.waiting == 0 {
		return nil, at
	}
	for _, r := range p.routes {
		t := r.first()
		if t == nil {
			continue
		}
		if ok, from := p.mayGo(now, t); !ok {
			at = earlier(at, from)
		} else if next == nil || p.isBefore(t, next) {
			next = t
		}
	}
	if next == nil {
		return nil, at
	}
	if ok, from := p.quota.ready(now, next.rank); !ok {
		return nil, earlier(at, from)
	}
	ok, from := p.common.ready(now)
	if !ok {
		return nil, earlier(at, from)
	}
	return next, now
}

// mayGo reports whether its route allows that t is sent now, or else when that may change.
func (p *Routes) mayGo(now time.Time, t *Ticket) (ok bool, at time.Time) {
	if at = t.in.until; t.Once {
		at = later(at, p.closed)
	}
	if t.in.own == nil || now.Before(at) {
		return !now.Before(at), at
	}
	return t.in.own.ready(now)
}

// isBefore reports whether t goes before other.
func (p *Routes) isBefore(t, other *Ticket) bool {
	if p.common.held && (t.in == p.probed) != (other.in == p.probed) { // probes take turns between the routes
		return other.in == p.probed
	}
	return cmp.Or(cmp.Compare(t.rank, other.rank), t.number-other.number) < 0
}

// Send takes t out of line: its request is sent now.
func (p *Routes) Send(now time.Time, t *Ticket) {
	p.Leave(t)
	p.quota.send(now)
	p.common.send(now, &t.common)
	if t.own = (sending{}); t.in.own != nil {
		t.in.own.send(now, &t.own)
	}
	if t.common.probe {
		p.probed = t.in
	}
	if p.lately = append(p.lately, t.in); len(p.lately) > enough {
		p.lately = p.lately[1:]
	}
}

// Announce records what the response to the request of t says: of limit requests, left
// more are accepted until reset from now. Report follows.
func (p *Routes) Announce(now time.Time, t *Ticket, limit, left int, reset time.Duration) {
	p.quota.announce(now, t.common.at, limit, left, reset)
}

// Report records the outcome of the request of t. retryAfter is for how long from
// now the service wants no request of its route, or zero if it names no time. It
// returns the name of a route that it sets apart because of it.
func (p *Routes) Report(now time.Time, t *Ticket, outcome Outcome, retryAfter time.Duration) (apart string) {
	p.quota.report(t.common.at, outcome)
	var alone *route // is set apart
	closes := outcome == Unavailable
	switch {
	case outcome == Accepted:
		p.same, p.others = p.same || t.in == p.blamed, p.others || t.in != p.blamed
		if t.in != p.closedBy && t.common.episode >= p.closedIn {
			p.closed = time.Time{}
		}
		if s := p.suspect; s != nil && s != t.in && p.common.held && t.common.probe && now.Before(s.until) {
			alone, p.common.blamed = s, false
		}
	case outcome == Refused || closes:
		t.in.refusal, outcome = outcome, Refused
		t.in.until = later(t.in.until, now.Add(retryAfter))
		if t.in.own == nil && p.isUnlikely(t.in, t.common.episode) {
			alone = t.in
			l := *p.newLearner() // what it learned from the refusals of this route is forgotten
			l.inFlight, l.episode = p.common.inFlight, p.common.episode+1
			*p.common = l
		}
	}
	if alone != nil {
		alone.own, apart = p.newLearner(), alone.name
		alone.own.refused = now
	}
	if own := t.in.own; own != nil {
		if t.own.by != own { // it was sent before its route was set apart
			own.send(now, &t.own)
		}
		own.report(now, &t.own, outcome, retryAfter)
		if outcome == Accepted && !own.held && now.Sub(own.refused) > rejoinAfter {
			t.in.own = nil
		}
		if outcome == Refused {
			outcome = Unclear
		}
	}
	if outcome == Refused {
		p.refusal = t.in.refusal
		first := !p.common.held || p.suspect == t.in
		if p.suspect = nil; first && retryAfter >= long && !p.common.atRandom { // the other routes are tried at once
			p.suspect, retryAfter = t.in, 0
		}
	}
	p.common.report(now, &t.common, outcome, retryAfter)
	if outcome == Refused && p.suspect != nil {
		p.common.until = now
	}
	if outcome == Refused && closes {
		p.closedBy, p.closed, p.closedIn = t.in, later(p.closed, t.in.until), p.common.episode
	}
	return apart
}

// isUnlikely reports whether chance does not explain that only route r, whose request
// of this episode is refused now, was refused of late.
func (p *Routes) isUnlikely(r *route, episode int) bool {
	if p.blamed != r {
		p.blamed, p.chance, p.same, p.others = r, 1, false, false
	}
	if episode == p.common.episode { // not sent before the first refusal
		mine := 0
		for _, sent := range p.lately {
			if sent == r {
				mine++
			}
		}
		share := float64(mine) / float64(len(p.lately))
		if p.chance *= share; p.others && !p.same { // only others were accepted since
			p.chance *= 1 - share
		}
		p.same, p.others = false, false
	}
	return p.chance < unlikely
}

// limitOf returns the limit that a request waits for first, and until when a Retry-After
// or a spent quota binds it.
func (p *Routes) limitOf(t *Ticket) (l *learner, named time.Time) {
	if l = p.common; t.in.own != nil {
		l = t.in.own
	}
	return l, later(later(t.in.until, l.named), p.quota.spent(t.rank))
}

// statusFor returns the status of the refusal for which the requests of a route wait.
func (p *Routes) statusFor(now time.Time, r *route) int {
	refusal := p.refusal
	if r.own != nil || now.Before(r.until) {
		refusal = r.refusal
	}
	if refusal == Unavailable {
		return http.StatusServiceUnavailable
	}
	return http.StatusTooManyRequests
}

// hopeless returns the requests in line that are bound for longer than they would wait.
func (p *Routes) hopeless(now time.Time) (all []*Ticket) {
	for _, r := range p.routes {
		all = append(all, slices.DeleteFunc(r.all(), func(t *Ticket) bool {
			_, named := p.limitOf(t)
			return named.Sub(now) <= t.longest
		})...)
	}
	return all
}

// State is what was learned of the common limit.
type State struct {
	PerSecond float64   // zero if no limit was seen
	Waiting   int       // requests in line, of all routes
	Until     time.Time // nothing is sent before; the zero time if nothing is held
	AtRandom  bool      // refusals do not depend on the rate, which is not limited
}

// State returns what was learned so far.
func (p *Routes) State(now time.Time) State {
	s := State{Waiting: p.waiting, AtRandom: p.common.atRandom}
	if p.common.known > 0 && !s.AtRandom {
		s.PerSecond = p.common.perSecond()
	}
	if p.common.held {
		s.Until = p.common.until
		if p.suspect != nil {
			s.Until = later(s.Until, p.suspect.until)
		}
	}
	s.Until = later(s.Until, p.quota.spent(Write))
	if !now.Before(s.Until) {
		s.Until = time.Time{}
	}
	return s
}
