package horseracingtest

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// RequestLimit limits how many requests the fake accepts from one API key. It is a
// bucket (PerSecond), a window (PerWindow) or a cap on requests in flight (InFlight):
// exactly one of the three is set. It uses the fake's clock: without WithClock it
// refills only with [Server.Advance].
type RequestLimit struct {
	Path string // for requests whose path has this prefix; default all

	PerSecond float64 // a bucket that refills at this rate
	Burst     int     // how many requests a full bucket holds; default 1

	PerWindow int           // this many requests in every Window
	Window    time.Duration // windows start at multiples of it
	Sliding   bool          // PerWindow applies to any interval of length Window, not to fixed windows

	InFlight int // maximum requests in flight; a request counts until just before the last byte of its response is sent

	RetryAfter   string // form of the Retry-After header: "seconds", "date", or "" for none
	Headers      bool   // send RateLimit-Limit, -Remaining and, in seconds, -Reset with every response
	CountRefused bool   // refused requests count too: a client that does not pause is refused forever
}

// WithRequestLimit limits the requests of each API key. A request beyond one of the
// limits is refused with status 429, and counts against the others only if they have
// CountRefused. Limits are checked after a fault's Delay. Requests that get a fault's
// Status are not counted. The option can be repeated. By default there is no limit.
func WithRequestLimit(limits ...RequestLimit) Option {
	return func(s *settings) { s.limits = append(s.limits, limits...) }
}

// SetRequestLimit replaces the limits of [WithRequestLimit]. All counts start from
// zero. It panics if a limit is invalid.
func (s *Server) SetRequestLimit(limits ...RequestLimit) {
	for i := range limits {
		must(limits[i].check())
	}
	s.limiter.set(limits)
}

// check returns what is wrong with the limit.
func (l *RequestLimit) check() error {
	kinds := 0
	for _, set := range []bool{l.PerSecond != 0, l.PerWindow != 0, l.InFlight != 0} {
		if set {
			kinds++
		}
	}
	var wrong string
	switch {
	case l.Path != "" && l.Path[0] != '/':
		wrong = "its Path does not begin with /"
	case kinds != 1:
		wrong = "it needs exactly one of PerSecond, PerWindow and InFlight"
	case l.PerSecond < 0 || l.PerWindow < 0 || l.InFlight < 0 || l.Burst < 0 || l.Window < 0:
		wrong = "nothing in it can be negative"
	case l.PerSecond != 0 && !(l.PerSecond >= 1e-6 && l.PerSecond <= 1e6):
		wrong = "PerSecond can be 0.000001 to 1000000"
	case l.PerSecond == 0 && l.Burst != 0:
		wrong = "Burst needs PerSecond"
	case l.PerWindow != 0 && l.Window == 0:
		wrong = "PerWindow needs a Window"
	case l.PerWindow == 0 && (l.Window != 0 || l.Sliding):
		wrong = "Window and Sliding need PerWindow"
	case !slices.Contains([]string{"", "seconds", "date"}, l.RetryAfter):
		wrong = `RetryAfter can be "seconds", "date" or ""`
	}
	if wrong != "" {
		return errors.New("request limit " + l.String() + ": " + wrong)
	}
	return nil
}

// size is how many requests the limit accepts from a client that was silent.
func (l *RequestLimit) size() int { return max(1, l.Burst, l.PerWindow, l.InFlight) }

// String returns the limit's description, as used in 429 responses.
func (l RequestLimit) String() string {
	requests := "requests"
	if l.Path != "" {
		requests = "requests to " + l.Path
	}
	switch {
	case l.PerSecond != 0:
		return fmt.Sprintf("%v %s per second with bursts of %d", l.PerSecond, requests, l.size())
	case l.PerWindow != 0:
		return fmt.Sprintf("%d %s per %v", l.PerWindow, requests, l.Window)
	}
	return fmt.Sprintf("%d %s in flight", l.InFlight, requests)
}
