package horseracingtest

import "time"

// Now returns the fake's time, in UTC. Without [WithClock] and [WithHistoryOf] it
// starts at 2025-06-01 12:00.
func (s *Server) Now() time.Time { return s.wire.Clock.Now() }

// Advance moves the fake's clock forward. Whatever happens in that time (races open,
// fill up, run and are published) has happened by the next request. With [WithClock],
// the fake's time is that clock's time plus all advances. Advancing by a year
// takes about 140 MB. It panics if d is negative.
func (s *Server) Advance(d time.Duration) {
	if d < 0 {
		panic("horseracingtest: the clock cannot be put back")
	}
	s.wire.Clock.Advance(d)
}
