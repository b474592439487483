package pace

import (
	"math"
	"time"
)

// flights is the learned cap on requests in flight, guessed from the first
// refusal: one less than were in flight then. It is given up for a rate if a
// request is refused with no more in flight. After a time of trust with as many
// in flight one more is tried.
type flights struct {
	known    int           // the cap, zero if none was seen
	full     float64       // seconds with as many in flight since one more was tried
	trust    float64       // seconds until one more is tried
	accepted int           // with one more
	took     time.Duration // the last response
	next     time.Time     // nothing is sent before
}

// limit returns how many may be in flight.
func (f *flights) limit() int {
	switch {
	case f.known == 0:
		return math.MaxInt
	case f.full >= f.trust:
		return f.known + 1
	}
	return f.known
}

// sent spreads the requests while one more is tried: several at once could be
// refused for that alone.
func (f *flights) sent(now time.Time) {
	if f.known > 0 && f.full >= f.trust {
		f.next = now.Add(f.took / time.Duration(f.limit()))
	}
}

// accept records a response to a request with so many in flight.
func (f *flights) accept(inFlight int, took time.Duration) {
	f.took = took
	if f.known == 0 || inFlight <= f.known {
		return
	}
	if f.accepted++; f.accepted >= enough {
		*f = flights{known: inFlight, trust: f.trust, took: took}
	}
}

// explains reports whether a cap explains that a request was refused, and learns it.
func (f *flights) explains(inFlight int, paced bool) bool {
	trust := float64(shortestTrust)
	switch {
	case f.known > 0 && inFlight > f.known:
		trust = min(2*f.trust, longestTrust)
	case f.known > 0 || inFlight == 1 || paced:
		*f = flights{took: f.took}
		return false
	}
	*f = flights{known: inFlight - 1, trust: trust, took: f.took}
	return true
}
