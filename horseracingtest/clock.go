package horseracingtest

import (
	"sync/atomic"
	"time"
)

// Now returns the fake's time, in UTC. Without [WithClock] and [WithHistoryOf] it
// starts at 2025-06-01 12:00.
func (s *Server) Now() time.Time { return s.clock.Now() }

// Advance moves the fake's clock forward. Whatever happens in that time (races open,
// fill up, run and are published) has happened by the next request. With [WithClock],
// the fake's time is that clock's time plus all advances. Advancing by a year
// takes about 140 MB. It panics if d is negative.
func (s *Server) Advance(d time.Duration) {
	if d < 0 {
		panic("horseracingtest: the clock cannot be put back")
	}
	s.clock.Advance(d)
}

// clock is the fake's time: that of now, plus what it was advanced by.
type clock struct {
	now      func() time.Time
	advanced atomic.Int64 // nanoseconds
}

// Now is the time, in UTC.
func (c *clock) Now() time.Time {
	return c.now().Add(time.Duration(c.advanced.Load())).UTC()
}

// millis is the time in epoch milliseconds.
func (c *clock) millis() int64 { return c.Now().UnixMilli() }

// Advance moves the clock forward.
func (c *clock) Advance(d time.Duration) { c.advanced.Add(int64(d)) }

func (c *clock) reset() { c.advanced.Store(0) }
