package wire

import (
	"sync/atomic"
	"time"
)

// Clock is the fake's time: that of now, plus what it was advanced by.
type Clock struct {
	now      func() time.Time
	advanced atomic.Int64 // nanoseconds
}

// Now is the time, in UTC.
func (c *Clock) Now() time.Time {
	return c.now().Add(time.Duration(c.advanced.Load())).UTC()
}

// millis is the time in epoch milliseconds.
func (c *Clock) millis() int64 { return c.Now().UnixMilli() }

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) { c.advanced.Add(int64(d)) }

func (c *Clock) reset() { c.advanced.Store(0) }
