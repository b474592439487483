package pace

import (
	"iter"
	"time"
)

// Engine decides which request may be sent, and when. It does no I/O, starts
// no goroutine and reads no clock; it is not safe for concurrent use.
type Engine struct {
	random         func() float64 // in [0, 1)
	first, longest time.Duration  // backoff

	line     line
	inFlight int
	all      hold // after a refusal of a read
	writes   hold // after a refusal of a write
	rate     rate
	places   places

	episode   int // counts the refusals that were not on their way already
	heldAt    time.Time
	refused   int  // in this episode
	blameRate bool // for this episode

	accepted        time.Time // the last one
	waited, crowded bool      // what held back the next request: the rate, the places
}

// New returns an engine without a limit. random returns numbers in [0, 1).
// After a refusal without Retry-After it waits no longer than first, and never
// longer than longest before the next probe.
func New(random func() float64, first, longest time.Duration) *Engine {
	return tuned(defaults(), random, first, longest)
}

func tuned(t tuning, random func() float64, first, longest time.Duration) *Engine {
	return &Engine{random: random, first: min(first, t.firstBackoff), longest: min(longest, t.maxBackoff),
		all: hold{tuning: &t}, writes: hold{tuning: &t}, rate: rate{curve: curve{tuning: &t}}, places: places{tuning: &t}}
}

// Ticket is one attempt of one request.
type Ticket struct {
	rank    Rank
	episode int
	place   int       // in flight with it when it was sent
	speed   float64   // the rate at which it was sent
	sent    time.Time // zero: it waits
	probe   bool

	waiting // in a Gate
}

// NewTicket returns the ticket of a request of that rank.
func NewTicket(rank Rank) Ticket { return Ticket{rank: rank} }

// Outcome is what an attempt shows of the pace.
type Outcome uint8

const (
	Unclear  Outcome = iota // a failure that shows nothing of it
	Accepted                // a response
	Refused                 // 429, or 503 with Retry-After
)

// Join puts a request in line.
func (e *Engine) Join(t *Ticket) { e.line.join(t) }

// Abandon takes a request out of line that is not to be sent any more.
func (e *Engine) Abandon(t *Ticket) { e.line.leave(t) }

// Waiting returns who waits and may be sent as far as refusals go, the first
// in line first.
func (e *Engine) Waiting(now time.Time) iter.Seq[*Ticket] {
	writes, _ := e.writes.open(now)
	return func(yield func(*Ticket) bool) {
		for r, waiting := range e.line.waiting {
			if Rank(r) == Write && !writes {
				continue
			}
			for _, t := range waiting {
				if !yield(t) {
					return
				}
			}
		}
	}
}

// Named returns the time before which the service wants no request of that
// rank, by its last Retry-After.
func (e *Engine) Named(rank Rank) time.Time {
	if rank == Write && e.writes.named.After(e.all.named) {
		return e.writes.named
	}
	return e.all.named
}

// Next returns the ticket of the request that may be sent now; Send follows.
// With nil, at is when to call again unless something happens before; the zero
// time: not before.
func (e *Engine) Next(now time.Time) (t *Ticket, at time.Time) {
	if e.line.len() == 0 {
		return nil, time.Time{}
	}
	if open, at := e.all.open(now); !open {
		return nil, at
	}
	writes, at := e.writes.open(now)
	t = e.line.first(func(r Rank) bool { return r != Write || writes })
	switch {
	case t == nil:
		return nil, at
	case e.inFlight >= e.places.limit():
		e.crowded = true
		return nil, time.Time{}
	case now.Before(e.places.next):
		return nil, e.places.next
	case now.Before(e.rate.next):
		e.waited = true
		return nil, e.rate.next
	}
	return t, now
}

// Send takes t out of line: its request leaves now.
func (e *Engine) Send(now time.Time, t *Ticket) {
	e.line.grant(t)
	e.inFlight++
	t.sent, t.episode, t.place, t.speed = now, e.episode, e.inFlight, e.rate.now()
	if e.crowded && !e.all.held && !e.rate.last.IsZero() {
		e.places.wasFull(now.Sub(e.rate.last).Seconds())
	}
	e.rate.sent(now, e.waited && !e.all.held, e.all.held)
	e.places.sent(now)
	e.waited, e.crowded = false, false
	if e.all.held {
		t.probe = true
		e.all.probe = t
	}
	if t.rank == Write && e.writes.held {
		e.writes.probe = t
	}
}

// Report takes note of the outcome of the request of t. retryAfter is for
// how long from now the service wants no request; zero where it names no time.
func (e *Engine) Report(now time.Time, t *Ticket, outcome Outcome, retryAfter time.Duration) {
	e.inFlight--
	switch {
	case outcome == Refused && t.rank == Write:
		e.writes.refuse(now, retryAfter, e.first, e.longest, e.writes.probe == t, e.random())
	case outcome == Refused:
		e.refuse(now, t, retryAfter)
	case outcome == Accepted:
		e.accept(now, t)
	}
	for _, h := range []*hold{&e.all, &e.writes} {
		if h.probe == t {
			h.probe = nil
		}
	}
}

func (e *Engine) accept(now time.Time, t *Ticket) {
	if t.rank == Write && e.writes.held && !t.sent.Before(e.writes.until) {
		e.writes.release()
	}
	e.places.accepted(t.place, now.Sub(t.sent))
	if t.probe && t.episode == e.episode && e.all.held && !t.sent.Before(e.all.until) {
		e.all.release()
		e.rate.recovered(t.sent, t.sent.Sub(e.heldAt).Seconds(), e.refused, e.blameRate)
		e.episode++
	}
	e.rate.accepted++
	e.accepted = now
}

func (e *Engine) refuse(now time.Time, t *Ticket, retryAfter time.Duration) {
	first := e.first
	if r := e.rate.known; r > 0 {
		first = min(time.Duration(1.1*float64(time.Second)/r), time.Second)
	}
	switch {
	case t.episode < e.episode: // it was on its way already
		e.refused++
		e.places.refusedAgain(t.place)
		if !e.all.held {
			if retryAfter <= 0 {
				return
			}
			e.begin(now, e.rate.now(), retryAfter)
			e.blameRate = false
		}
	case e.all.held: // a probe
		e.refused++
		e.blameRate = true
		e.rate.certain = t.sent.Sub(e.heldAt).Seconds()
		e.rate.demanded = max(e.rate.demanded, retryAfter.Seconds())
	default:
		e.episode++
		e.begin(now, t.speed, retryAfter)
		e.blameRate = !e.places.explain(t.place, e.rate.known > 0)
	}
	e.all.refuse(now, retryAfter, first, e.longest, t.probe, e.random())
}

// begin takes note of a refusal, at that rate, from which on nothing is sent.
func (e *Engine) begin(now time.Time, rate float64, retryAfter time.Duration) {
	e.heldAt, e.refused = now, 1
	e.rate.refusedAt, e.rate.demanded = rate, retryAfter.Seconds()
}

// State is what was learned.
type State struct {
	PerSecond float64   // zero: no limit was seen
	InFlight  int       // zero: no cap was seen
	Waiting   int       // requests in line
	Until     time.Time // nothing is sent before; zero: nothing is held
	Named     time.Time // the latest time that a Retry-After named, of reads
	Accepted  time.Time // the last request was accepted
}

// State returns what was learned so far.
func (e *Engine) State(now time.Time) State {
	s := State{InFlight: e.places.known, Waiting: e.line.len(), Named: e.all.named, Accepted: e.accepted}
	if e.rate.known > 0 {
		s.PerSecond = e.rate.now()
	}
	if e.all.held && now.Before(e.all.until) {
		s.Until = e.all.until
	}
	return s
}
