package pace

import (
	"slices"
	"time"
)

// Routes is the pace of a client: a common engine for all routes, except those that
// are set apart, each of which has its own. Like an Engine it does no I/O, reads no
// clock, and is not safe for concurrent use.
type Routes struct {
	newEngine func() *Engine
	common    *Engine
	apart     map[string]*Engine // by route
	refusals  map[string]refusals
	accepted  int // requests, of all routes

	lately []string // the routes of the last requests that were sent
	blamed string   // the route of the last refusal
	chance float64  // that only its requests met those since another route's was refused
}

// refusals are those of a route.
type refusals struct {
	last  time.Time
	inRow int // each with another route accepted in between
	seen  int // Routes.accepted at the last of them
}

// Ticket is a request. One ticket serves all attempts of a call.
type Ticket struct {
	rank     Rank
	route    string
	engine   *Engine // that it waits for, or was sent by
	inFlight int     // with it, when it was sent
	episode  int     // when it was sent
	sent     time.Time
	probe    bool
	waiting
}

// NewTicket returns the ticket of a call. route is its method and the documented path.
func NewTicket(rank Rank, route string) Ticket { return Ticket{rank: rank, route: route} }

// NewRoutes returns a pace without a limit.
func NewRoutes(newEngine func() *Engine) *Routes {
	return &Routes{newEngine: newEngine, common: newEngine(), apart: map[string]*Engine{}, refusals: map[string]refusals{}, chance: 1}
}

// engine returns the engine of a route.
func (p *Routes) engine(route string) *Engine {
	if own := p.apart[route]; own != nil {
		return own
	}
	return p.common
}

// Join puts a request in line.
func (p *Routes) Join(t *Ticket) { p.engine(t.route).Join(t) }

// Next returns the ticket of the request that may be sent now, as [Engine.Next] does.
func (p *Routes) Next(now time.Time) (*Ticket, time.Time) {
	t, soonest := p.common.Next(now)
	for _, own := range p.apart {
		next, at := own.Next(now)
		soonest = earlier(soonest, at)
		if next != nil && (t == nil || next.rank < t.rank) {
			t = next
		}
	}
	return t, soonest
}

// Send takes t out of line: its request is sent now.
func (p *Routes) Send(now time.Time, t *Ticket) {
	t.engine.Send(now, t)
	p.lately = append(p.lately, t.route)
	if len(p.lately) > recent {
		p.lately = p.lately[1:]
	}
}

// earlier returns the earlier time; a zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Report records the outcome of the request of t, as [Engine.Report] does. It
// returns the name of a route that it sets apart because of it.
func (p *Routes) Report(now time.Time, t *Ticket, outcome Outcome, retryAfter time.Duration) (apart string) {
	r := p.refusals[t.route]
	switch own := p.apart[t.route]; outcome {
	case Accepted:
		p.accepted++
		r.inRow, r.seen = 0, p.accepted
		if t.engine == p.common && p.common.isOfAnother(t) {
			apart = p.common.suspect
			p.setApart(apart)
		}
		if own != nil && now.Sub(r.last) > rejoinAfter {
			delete(p.apart, t.route)
			p.move(own, t.route)
		}
	case Refused:
		r.last = now
		if r.inRow == 0 || p.accepted > r.seen {
			r.inRow, r.seen = r.inRow+1, p.accepted
		}
		if own == nil && (r.inRow >= manyInRow || p.isUnlikely(t)) {
			apart = t.route
			p.setApart(apart)
			p.common.forget() // what it learned from the refusals of this route
		}
	}
	p.refusals[t.route] = r
	if e := p.engine(t.route); e != t.engine { // it was sent before its route was set apart, or rejoined
		t.engine.Report(now, t, Unclear, 0)
		e.Join(t)
		e.Send(now, t)
	}
	t.engine.Report(now, t, outcome, retryAfter)
	return apart
}

// isUnlikely reports whether chance does not explain that only the route of t, which
// is refused now, was refused of late.
func (p *Routes) isUnlikely(t *Ticket) bool {
	if p.blamed != t.route {
		p.blamed, p.chance = t.route, 1
	}
	if !p.common.hold.held || t.probe { // and not sent before the first refusal
		mine := 0
		for _, sent := range p.lately {
			if sent == t.route {
				mine++
			}
		}
		p.chance *= float64(mine) / float64(len(p.lately))
	}
	return p.chance < unlikely
}

// setApart gives a route an engine of its own.
func (p *Routes) setApart(route string) {
	own := p.newEngine()
	own.named[route] = p.common.named[route]
	p.apart[route] = own
	p.move(p.common, route)
}

// move moves the requests of a route that wait for an engine to the route's own.
func (p *Routes) move(from *Engine, route string) {
	for _, t := range slices.Concat(from.line.waiting[:]...) {
		if t.route == route {
			from.line.leave(t)
			p.Join(t)
		}
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
	for _, own := range p.apart {
		s.Waiting += own.line.len()
	}
	until := p.common.hold.until
	if named := p.common.named[p.common.suspect]; named.After(until) {
		until = named
	}
	if p.common.hold.held && now.Before(until) {
		s.Until = until
	}
	return s
}
