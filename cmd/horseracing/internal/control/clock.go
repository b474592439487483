package control

import (
	"sync"
	"time"
)

// Clock is the clock of a fake: that of this machine, until it is set or stopped.
type Clock struct {
	mu      sync.Mutex
	ahead   time.Duration // of this machine's clock
	stopped time.Time     // zero while it runs
}

// NewClock returns a clock that follows this machine's.
func NewClock() *Clock { return new(Clock) }

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
