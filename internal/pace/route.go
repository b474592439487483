package pace

import (
	"slices"
	"time"
)

// Routes is the pace of a client: a common engine for all routes, and one more
// before it for each route that is set apart. Like an Engine it does no I/O,
// reads no clock, and is not safe for concurrent use.
type Routes struct {
	newEngine func() *Engine
	common    *Engine
	all       map[string]*route
	apart     []*route

	lately   []*route // of the last requests that were sent, in a ring
	sent     int
	accepted int // requests, of all routes

	blamed  *route  // the route of the last refusal
	chance  float64 // that only its requests met those since another route's was refused
	suspect *route  // refused with a long Retry-After; nil if none is
	test    *Ticket // of another route, in flight
}

// route is what is known of one.
type route struct {
	name    string
	own     *Engine   // nil unless it is set apart
	named   time.Time // by its last Retry-After
	refused time.Time // the last one
	inRow   int       // its refusals in a row, each with another route accepted in between
	seen    int       // Routes.accepted at the last of them
}

// Ticket is a request. One ticket serves all attempts of a call.
type Ticket struct {
	rank     Rank
	route    string
	inFlight int // with it, when it was sent
	attempt
	waiting
}

// attempt is what the engines keep of a ticket from Join to Report.
type attempt struct {
	episode int
	sent    time.Time // the zero time while it waits
	probe   bool
	own     *Ticket // in the engine of its route, if that is set apart
	of      *Ticket // of an own ticket
}

// NewTicket returns the ticket of a call. route is its method and the documented path.
func NewTicket(rank Rank, route string) Ticket { return Ticket{rank: rank, route: route} }

// NewRoutes returns a pace without a limit.
func NewRoutes(newEngine func() *Engine) *Routes {
	return &Routes{newEngine: newEngine, common: newEngine(), all: map[string]*route{}}
}

func (p *Routes) route(name string) *route {
	r := p.all[name]
	if r == nil {
		r = &route{name: name}
		p.all[name] = r
	}
	return r
}

// Join puts a request in line.
func (p *Routes) Join(t *Ticket) {
	t.attempt = attempt{}
	if r := p.route(t.route); r.own != nil {
		t.own = &Ticket{rank: t.rank, route: t.route, attempt: attempt{of: t}}
		r.own.Join(t.own)
		return
	}
	p.common.Join(t)
}

// Abandon takes a request out of line that is not to be sent any more.
func (p *Routes) Abandon(now time.Time, t *Ticket) {
	p.common.line.leave(t)
	if own := p.route(t.route).own; own != nil && t.own != nil && !own.line.leave(t.own) {
		own.Report(now, t.own, Unclear, 0)
	}
}

// Next returns the ticket of the request that may be sent now, as [Engine.Next] does.
func (p *Routes) Next(now time.Time) (*Ticket, time.Time) {
	var soonest time.Time
	for _, r := range p.apart {
		for {
			t, at := r.own.Next(now)
			if t == nil {
				soonest = earlier(soonest, at)
				break
			}
			r.own.Send(now, t)
			p.common.Join(t.of)
		}
	}
	if p.isTesting(now) && p.test == nil {
		if t := p.common.line.first(p.mayTest(now)); t != nil {
			return t, now
		}
	}
	t, at := p.common.Next(now)
	if t == nil {
		at = earlier(at, soonest)
	}
	return t, at
}

// earlier returns the earlier time; a zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// isTesting reports whether the next request of another route shows if the
// suspect's Retry-After is for all.
func (p *Routes) isTesting(now time.Time) bool {
	return p.suspect != nil && now.Before(p.suspect.named)
}

// mayTest returns whether a request may be that one.
func (p *Routes) mayTest(now time.Time) func(*Ticket) bool {
	return func(t *Ticket) bool { return t.route != p.suspect.name && !now.Before(p.route(t.route).named) }
}

// Named returns the time before which the service wants no request of t's route.
func (p *Routes) Named(now time.Time, t *Ticket) time.Time {
	r := p.route(t.route)
	if r.own != nil || p.isTesting(now) {
		return r.named
	}
	return p.common.hold.named
}

// Accepted returns when a request was last accepted in the line that t waits in.
func (p *Routes) Accepted(t *Ticket) time.Time {
	if own := p.route(t.route).own; own != nil {
		return own.accepted
	}
	return p.common.accepted
}

// Send takes t out of line: its request is sent now.
func (p *Routes) Send(now time.Time, t *Ticket) {
	p.common.Send(now, t)
	if p.isTesting(now) && p.test == nil && p.mayTest(now)(t) {
		p.test = t
	}
	if len(p.lately) < recent {
		p.lately = append(p.lately, nil)
	}
	p.lately[p.sent%recent] = p.route(t.route)
	p.sent++
}

// Report records the outcome of the request of t, as [Engine.Report] does. It
// returns the name of a route that it sets apart because of it.
func (p *Routes) Report(now time.Time, t *Ticket, outcome Outcome, retryAfter time.Duration) (apart string) {
	r, tested := p.route(t.route), t == p.test
	if tested {
		p.test = nil
	}
	switch outcome {
	case Accepted:
		p.accepted++
		r.inRow, r.seen = 0, p.accepted
		if tested && p.isTesting(now) {
			apart = p.suspect.name
			p.setApart(now, p.suspect)
		}
		if r.own != nil && now.Sub(r.refused) > rejoinAfter {
			p.rejoin(r)
		}
	case Refused:
		r.refused = now
		if until := now.Add(retryAfter); until.After(r.named) {
			r.named = until
		}
		if tested {
			p.suspect = nil
		}
		switch {
		case r.own != nil:
		case p.isAlone(r, t):
			apart = r.name
			p.setApart(now, r)
			p.common.rate, p.common.flights = rate{}, flights{} // learned from its refusals
		case retryAfter >= longRetryAfter && !tested:
			p.suspect = r
		}
	}
	if r.own != nil {
		if t.own == nil { // sent before its route was set apart
			t.own = &Ticket{rank: t.rank, route: t.route}
			r.own.Join(t.own)
			r.own.Send(now, t.own)
		}
		r.own.Report(now, t.own, outcome, retryAfter)
		if outcome == Refused {
			outcome, retryAfter = Unclear, 0
		}
	}
	p.common.Report(now, t, outcome, retryAfter)
	return apart
}

// isAlone reports whether chance does not explain that only this route is refused.
func (p *Routes) isAlone(r *route, t *Ticket) bool {
	if p.blamed != r {
		p.blamed, p.chance = r, 1
	}
	if !p.common.hold.held || t.probe { // and not sent before the first refusal
		mine := 0
		for _, sent := range p.lately {
			if sent == r {
				mine++
			}
		}
		p.chance *= float64(mine) / float64(len(p.lately))
	}
	if r.inRow == 0 || p.accepted > r.seen {
		r.inRow, r.seen = r.inRow+1, p.accepted
	}
	return p.chance < unlikely || r.inRow >= manyInRow
}

// setApart gives r an engine of its own, which its waiting requests join, and
// ends the common hold, except for a Retry-After that another route got.
func (p *Routes) setApart(now time.Time, r *route) {
	r.own = p.newEngine()
	p.apart = append(p.apart, r)
	p.suspect, p.blamed = nil, nil
	if now.Before(r.named) {
		first := &Ticket{rank: Read, route: r.name}
		r.own.Join(first)
		r.own.Send(now, first)
		r.own.Report(now, first, Refused, r.named.Sub(now))
	}
	for _, t := range slices.Concat(p.common.line.waiting[:]...) {
		if t.route == r.name {
			p.common.line.leave(t)
			p.Join(t)
		}
	}
	var until time.Time
	for _, other := range p.all {
		if other.own == nil && other.named.After(until) {
			until = other.named
		}
	}
	p.common.pardon(now, until)
}

// rejoin lets the common engine alone pace r again.
func (p *Routes) rejoin(r *route) {
	waiting := slices.Concat(r.own.line.waiting[:]...)
	r.own = nil
	p.apart = slices.DeleteFunc(p.apart, func(a *route) bool { return a == r })
	for _, t := range waiting {
		p.Join(t.of)
	}
}

// State is what was learned of the common limit.
type State struct {
	PerSecond float64   // zero if no limit was seen
	Waiting   int       // requests in line, of all routes
	Until     time.Time // nothing is sent before; the zero time if nothing is held
}

// State returns what was learned so far.
func (p *Routes) State(now time.Time) State {
	s := State{PerSecond: p.common.perSecond(), Waiting: p.common.line.len()}
	for _, r := range p.apart {
		s.Waiting += r.own.line.len()
	}
	if p.common.hold.held && now.Before(p.common.hold.until) {
		s.Until = p.common.hold.until
	}
	return s
}
