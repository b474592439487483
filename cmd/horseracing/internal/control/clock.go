package control

import (
	"sync"
	"time"
)

// Clock is the clock of a fake. It runs from its start, until it is set or stopped.
type Clock struct {
	begin   time.Time // zero if it starts at the time of this machine's clock
	mu      sync.Mutex
	ahead   time.Duration // of this machine's clock
	stopped time.Time     // zero while it runs
}

// NewClock returns a clock that follows this machine's.
func NewClock() *Clock { return new(Clock) }

// NewClockAt returns a clock that runs from begin on.
func NewClockAt(begin time.Time) *Clock {
	c := &Clock{begin: begin}
	c.set(begin, false)
	return c
}

// start is the time of a clock that was reset.
func (c *Clock) start() time.Time {
	if c.begin.IsZero() {
		return time.Now()
	}
	return c.begin
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped.IsZero() {
		return c.stopped
	}
	return time.Now().Add(c.ahead)
}

// IsStill reports whether the clock is stopped.
func (c *Clock) IsStill() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.stopped.IsZero()
}

// set sets the clock, and stops it or lets it run.
func (c *Clock) set(now time.Time, still bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead, c.stopped = time.Until(now), time.Time{}
	if still {
		c.stopped = now
	}
}
