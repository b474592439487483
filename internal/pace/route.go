package pace

import (
	"slices"
	"time"
)

// Routes is the pace of a client: a common engine for all routes, and one more before
// it for each route that is set apart. Like an Engine it does no I/O, reads no clock,
// and is not safe for concurrent use.
type Routes struct {
	newEngine func() *Engine
	common    *Engine
	apart     map[string]*Engine // by route
	streaks   map[string]streak  // by route, since its last accepted request
	accepted  int                // requests, of all routes

	lately []string // the routes of the last requests that were sent
	blamed string   // the route of the last refusal
	chance float64  // that refusals met only its requests, since another route's was refused
}

// streak is how often a route was refused in a row, each time with another route
// accepted in between.
type streak struct {
	refusals int
	accepted int // of Routes, at the last of them
}

// NewRoutes returns a pace without a limit.
func NewRoutes(newEngine func() *Engine) *Routes {
	return &Routes{newEngine: newEngine, common: newEngine(), apart: map[string]*Engine{}, streaks: map[string]streak{}, chance: 1}
}

// engine returns the engine that a request of the route waits for first.
func (p *Routes) engine(route string) *Engine {
	if own := p.apart[route]; own != nil {
		return own
	}
	return p.common
}

// Join puts a request in line.
func (p *Routes) Join(t *Ticket) {
	t.own = nil
	own := p.apart[t.route]
	if own == nil {
		p.common.Join(t)
		return
	}
	t.own = &Ticket{rank: t.rank, route: t.route, of: t}
	own.Join(t.own)
}

// Abandon takes a request out of line that is not to be sent any more.
func (p *Routes) Abandon(now time.Time, t *Ticket) {
	p.common.line.leave(t)
	if own := p.apart[t.route]; own != nil && t.own != nil && !own.line.leave(t.own) {
		own.Report(now, t.own, Unclear, 0)
	}
}

// Next returns the ticket of the request that may be sent now, as [Engine.Next] does.
// A request that the engine of its route lets go joins the common line.
func (p *Routes) Next(now time.Time) (*Ticket, time.Time) {
	var soonest time.Time
	for _, own := range p.apart {
		next, at := own.Next(now)
		for ; next != nil; next, at = own.Next(now) {
			own.Send(now, next)
			p.common.Join(next.of)
		}
		soonest = earlier(soonest, at)
	}
	t, at := p.common.Next(now)
	return t, earlier(at, soonest)
}

// Send takes t out of line: its request is sent now.
func (p *Routes) Send(now time.Time, t *Ticket) {
	p.common.Send(now, t)
	p.lately = append(p.lately, t.route)
	if len(p.lately) > recent {
		p.lately = p.lately[1:]
	}
}

// Report records the outcome of the request of t, as [Engine.Report] does. It
// returns the name of a route that it sets apart because of it.
func (p *Routes) Report(now time.Time, t *Ticket, outcome Outcome, retryAfter time.Duration) (apart string) {
	own := p.apart[t.route]
	switch outcome {
	case Accepted:
		p.accepted++
		delete(p.streaks, t.route)
		if own == nil && p.common.isOfAnother(t) {
			apart = p.common.suspect
			p.setApart(now, apart)
		}
		if own != nil && now.Sub(own.lastRefusal()) > rejoinAfter {
			p.rejoin(t.route)
		}
	case Refused:
		if own == nil && (p.inRow(t.route) >= manyInRow || p.isUnlikely(t)) {
			apart = t.route
			p.setApart(now, apart)
			p.common.forget() // what it learned from the refusals of this route
		}
	}
	if own := p.apart[t.route]; own != nil {
		if t.own == nil { // sent before its route was set apart
			t.own = &Ticket{rank: t.rank, route: t.route}
			own.Send(now, t.own)
		}
		own.Report(now, t.own, outcome, retryAfter)
		if outcome == Refused {
			outcome, retryAfter = Unclear, 0
		}
	}
	p.common.Report(now, t, outcome, retryAfter)
	return apart
}

// inRow counts a refusal of the route, and returns how many came in a row.
func (p *Routes) inRow(route string) int {
	s := p.streaks[route]
	if s.refusals == 0 || p.accepted > s.accepted {
		s = streak{s.refusals + 1, p.accepted}
		p.streaks[route] = s
	}
	return s.refusals
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

// setApart gives a route an engine of its own, which its waiting requests join.
func (p *Routes) setApart(now time.Time, route string) {
	own := p.newEngine()
	own.heldAt, own.named = now, p.common.named
	p.apart[route] = own
	for _, t := range slices.Clone(p.common.line) {
		if t.route == route {
			p.common.line.leave(t)
			p.Join(t)
		}
	}
}

// rejoin lets the common engine alone pace a route again.
func (p *Routes) rejoin(route string) {
	own := p.apart[route]
	delete(p.apart, route)
	for _, t := range own.line {
		p.Join(t.of)
	}
}

// waiting returns the requests in line, of all routes.
func (p *Routes) waiting() []*Ticket {
	tickets := slices.Clone(p.common.line)
	for _, own := range p.apart {
		for _, t := range own.line {
			tickets = append(tickets, t.of)
		}
	}
	return tickets
}

// State is what was learned of the common limit.
type State struct {
	PerSecond float64   // zero if no limit was seen
	Waiting   int       // requests in line, of all routes
	Until     time.Time // nothing is sent before; the zero time if nothing is held
}

// State returns what was learned so far.
func (p *Routes) State(now time.Time) State {
	s := State{PerSecond: p.common.perSecond(), Waiting: len(p.waiting())}
	until := p.common.hold.until
	if named := p.common.named[p.common.suspect]; named.After(until) {
		until = named
	}
	if p.common.hold.held && now.Before(until) {
		s.Until = until
	}
	return s
}
