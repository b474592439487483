package pace

import (
	"math"
	"time"
)

// places is what is known of a cap on the requests in flight. A request that
// was refused with n in flight shows that the cap is below n; one that was
// refused although fewer were in flight than were accepted before shows that
// there is another limit.
type places struct {
	*tuning
	known  int       // so many in flight were accepted; zero: no cap is known
	trial  int       // so many more are tried
	full   float64   // seconds with all places taken since the last refusal
	raise  float64   // how long full must be before more are tried
	passed int       // accepted with more than known in flight
	took   float64   // seconds from request to response, about
	next   time.Time // spread over that time, none is sent before

	history []attempt // the last ones
	oldest  int       // the index of the oldest of these
}

type attempt struct {
	place   int
	refused bool
}

// limit returns how many may be in flight.
func (p *places) limit() int {
	if p.known == 0 {
		return math.MaxInt
	}
	return p.known + p.trial
}

func (p *places) note(place int, refused bool) {
	if len(p.history) < p.attempts {
		p.history = append(p.history, attempt{place, refused})
		return
	}
	p.history[p.oldest] = attempt{place, refused}
	p.oldest = (p.oldest + 1) % p.attempts
}

// wasFull takes note that all places were taken for so many seconds.
func (p *places) wasFull(seconds float64) {
	p.full += seconds
	if p.trial == 0 && p.full >= p.raise {
		p.trial, p.passed = 1, 0
	}
}

func (p *places) sent(now time.Time) {
	if p.trial > 0 {
		share := min(1, (p.full-p.raise)/p.spread)
		gap := p.took * ((1-share)*(1-p.ahead)/float64(p.known) + share*(1-p.further)/float64(p.limit()))
		p.next = now.Add(time.Duration(gap * float64(time.Second)))
	}
}

func (p *places) accepted(place int, took time.Duration) {
	p.note(place, false)
	if p.took == 0 {
		p.took = took.Seconds()
	}
	p.took += (took.Seconds() - p.took) / p.smoothing
	if p.trial > 0 && place > p.known {
		p.passed++
		if float64(p.passed) >= p.proof*float64(p.limit()) {
			p.known += p.trial
			p.trial, p.passed = min(2*p.trial, max(p.known/2, 1)), 0
		}
	}
}

// explain reports whether a cap on the requests in flight explains that a
// request was refused, the first since a recovery, and learns that cap.
func (p *places) explain(place int, paced bool) bool {
	p.note(place, true)
	switch {
	case p.known > 0 && place > p.known:
		p.known, p.trial, p.full = place-1, 0, 0
		p.raise = min(2*p.raise, p.slowestRise)
		return true
	case p.known > 0 && place <= p.known:
		*p = places{tuning: p.tuning, took: p.took}
		return false
	case place > 1 && (!paced || p.separated()):
		*p = places{tuning: p.tuning, known: place - 1, raise: p.firstRaise, took: p.took}
		return true
	}
	return false
}

// refusedAgain takes note of another refusal of the same time.
func (p *places) refusedAgain(place int) {
	p.note(place, true)
	if p.known > 0 && p.trial == 0 && place <= p.known {
		p.known = max(place-1, 1)
	}
}

// separated reports whether what was refused lately had more in flight than
// what was accepted, beyond chance.
func (p *places) separated() bool {
	least, refused := math.MaxInt, 0
	for _, a := range p.history {
		if a.refused {
			least, refused = min(least, a.place), refused+1
		}
	}
	if least < 2 {
		return false
	}
	above := 0
	for _, a := range p.history {
		if a.place >= least {
			above++
		}
	}
	return math.Pow(float64(above)/float64(len(p.history)), float64(refused)) < p.byChance
}
