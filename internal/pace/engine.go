package pace

import "time"

// Engine decides which request may be sent, and when, by one limit. It does no
// I/O, starts no goroutine and reads no clock. It is not safe for concurrent use.
type Engine struct {
	random         func() float64 // in [0, 1)
	first, longest time.Duration  // backoff

	line     line
	inFlight int
	hold     hold
	rate     rate
	flights  flights

	episode   int // counts refusals, except of requests sent before the one that was refused first
	heldAt    time.Time
	demanded  time.Duration        // the longest Retry-After of this episode
	certain   time.Duration        // from heldAt until the last refused probe
	blameRate bool                 // for this episode
	probed    string               // the route of the last probe
	suspect   string               // the only route refused in this hold, with a long Retry-After, or empty
	named     map[string]time.Time // until when each route wants no request, by its Retry-After; all engines of Routes share it

	accepted        time.Time // the last one
	waited, crowded bool      // the rate, or the cap in flight, held back the next request
}

// NewEngine returns an engine without a limit. random returns numbers in [0, 1).
// After a refusal without Retry-After it waits at most first, and it sends a
// probe at least every longest.
func NewEngine(random func() float64, first, longest time.Duration) *Engine {
	return &Engine{random: random, first: min(first, firstBackoff), longest: min(longest, maxBackoff), named: map[string]time.Time{}}
}

// Outcome is what an attempt shows of the pace.
type Outcome uint8

const (
	Unclear  Outcome = iota // a failure that shows nothing of it
	Accepted                // a response
	Refused                 // 429, or 503 with Retry-After
)

// Join puts a request in line.
func (e *Engine) Join(t *Ticket) { e.line.join(t) }

// Next returns the ticket of the request that may be sent now; Send follows. If
// it returns nil, at is when to call it again unless something happens before; a
// zero at means not before.
func (e *Engine) Next(now time.Time) (t *Ticket, at time.Time) {
	if len(e.line) == 0 {
		return nil, time.Time{}
	}
	if open, at := e.hold.open(now); !open {
		return nil, at
	}
	allowed := func(t *Ticket) bool { return !now.Before(e.named[t.route]) }
	if e.hold.held { // probes take turns between the routes
		t = e.line.first(func(t *Ticket) bool { return t.route != e.probed && allowed(t) })
	}
	if t == nil {
		t = e.line.first(allowed)
	}
	switch {
	case t == nil:
		for _, named := range e.named {
			if now.Before(named) {
				at = earlier(at, named)
			}
		}
		return nil, at
	case e.inFlight >= e.flights.limit():
		e.crowded = true
		return nil, time.Time{}
	case now.Before(e.flights.next):
		return nil, e.flights.next
	case now.Before(e.rate.next):
		e.waited = true
		return nil, e.rate.next
	}
	return t, now
}

// Send takes t out of line: its request is sent now.
func (e *Engine) Send(now time.Time, t *Ticket) {
	e.line.leave(t)
	e.inFlight++
	t.sent, t.episode, t.inFlight = now, e.episode, e.inFlight
	if e.crowded && !e.hold.held && !e.rate.last.IsZero() {
		e.flights.full += now.Sub(e.rate.last).Seconds()
	}
	e.rate.sent(now, e.waited && !e.hold.held, e.hold.held)
	e.flights.sent(now)
	e.waited, e.crowded = false, false
	if t.probe = e.hold.held; t.probe {
		e.hold.probe = t
		e.probed = t.route
	}
}

// Report records the outcome of the request of t. retryAfter is for how long from
// now the service wants no request, or zero if it names no time.
func (e *Engine) Report(now time.Time, t *Ticket, outcome Outcome, retryAfter time.Duration) {
	e.inFlight--
	switch outcome {
	case Refused:
		e.refuse(now, t, retryAfter)
	case Accepted:
		e.accept(now, t)
	}
	if e.hold.probe == t {
		e.hold.probe = nil
	}
}

func (e *Engine) accept(now time.Time, t *Ticket) {
	e.flights.accept(t.inFlight, now.Sub(t.sent))
	if t.probe && t.episode == e.episode && e.hold.held && !t.sent.Before(e.hold.until) {
		blame := e.blameRate && !e.isOfAnother(t)
		e.hold.release()
		e.rate.recovered(t.sent, pause{t.sent.Sub(e.heldAt).Seconds(), e.certain.Seconds(), e.demanded.Seconds()}, blame)
		e.episode++
	}
	e.rate.measured.accepted++
	e.accepted = now
}

// isOfAnother reports whether the hold concerns another route alone: one that must
// still wait, while the probe t is accepted.
func (e *Engine) isOfAnother(t *Ticket) bool {
	return t.probe && e.hold.held && t.route != e.suspect && t.sent.Before(e.named[e.suspect])
}

func (e *Engine) refuse(now time.Time, t *Ticket, retryAfter time.Duration) {
	first := e.first
	if r := e.rate.known; r > 0 {
		first = time.Duration(float64(time.Second) / r)
	}
	if until := now.Add(retryAfter); retryAfter > 0 && until.After(e.named[t.route]) {
		e.named[t.route] = until
	}
	alone := !e.hold.held || e.suspect == t.route
	e.suspect = ""
	if alone && retryAfter >= longRetryAfter {
		e.suspect = t.route
	}
	switch {
	case t.episode == e.episode && !e.hold.held: // the first one
		e.episode++
		e.heldAt, e.demanded, e.certain = now, retryAfter, 0
		e.blameRate = !e.flights.explains(t.inFlight, e.rate.known > 0)
	case t.episode == e.episode: // a probe
		e.demanded, e.certain = max(e.demanded, retryAfter), t.sent.Sub(e.heldAt)
		if t.inFlight <= max(e.flights.known, 1) {
			e.blameRate = true
		}
	case e.hold.held || retryAfter <= 0: // it was on its way already
		return
	default:
		e.heldAt, e.demanded, e.certain, e.blameRate = now, retryAfter, 0, false
	}
	if e.suspect == "" {
		e.hold.refuse(now, retryAfter, first, e.longest, t.probe, e.random())
	} else { // the other routes are tried at once
		e.hold.refuse(now, 0, first, e.longest, t.probe, e.random())
		e.hold.until = now
	}
}

// lastRefusal returns when the service refused a request, or a probe, most lately.
func (e *Engine) lastRefusal() time.Time { return e.heldAt.Add(e.certain) }

// until returns before which time the service wants no request of a route.
func (e *Engine) until(route string) time.Time {
	if named := e.named[route]; named.After(e.hold.named) {
		return named
	}
	return e.hold.named
}

// perSecond returns the rate of sending, zero if no limit was seen.
func (e *Engine) perSecond() float64 {
	if e.rate.known == 0 {
		return 0
	}
	return e.rate.now()
}

// forget ends a hold, and forgets the limit.
func (e *Engine) forget() {
	e.hold, e.rate, e.flights = hold{}, rate{}, flights{}
	e.episode++
}
