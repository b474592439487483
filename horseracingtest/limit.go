package horseracingtest

import (
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/wire"
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

// String returns the limit's description, as used in 429 responses.
func (l RequestLimit) String() string { return wire.RequestLimit(l).String() }

// WithRequestLimit limits the requests of each API key. A request beyond one of the
// limits is refused with status 429, and counts against the others only if they have
// CountRefused. Limits are checked after a fault's Delay. Requests that get a fault's
// Status are not counted. The option can be repeated. By default there is no limit.
func WithRequestLimit(limits ...RequestLimit) Option {
	return func(s *settings) { s.wire.Limits = append(s.wire.Limits, onWire(limits)...) }
}

// SetRequestLimit replaces the limits of [WithRequestLimit]. All counts start from
// zero. It panics if a limit is invalid.
func (s *Server) SetRequestLimit(limits ...RequestLimit) { must(s.wire.SetLimits(onWire(limits)...)) }

func onWire(limits []RequestLimit) []wire.RequestLimit {
	var list []wire.RequestLimit
	for _, l := range limits {
		list = append(list, wire.RequestLimit(l))
	}
	return list
}
