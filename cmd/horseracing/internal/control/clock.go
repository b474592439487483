package control

import (
	"errors"
	"fmt"
	"net/http"
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

// NewClock returns a clock that runs from begin on, or follows this machine's if that is
// zero.
func NewClock(begin time.Time) *Clock {
	c := &Clock{begin: begin}
	c.set(c.start(), false)
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

// setting is what POST /clock and POST /reset take.
type setting struct {
	Now   string // as in RFC 3339, or empty to leave the clock as it is
	Still *bool
}

// time returns the time that is set, or another one.
func (s *setting) time(otherwise time.Time) (time.Time, error) {
	if s.Now == "" {
		return otherwise, nil
	}
	now, err := time.Parse(time.RFC3339, s.Now)
	if err != nil {
		err = fmt.Errorf("%q is not a time like 2025-06-01T12:00:00Z", s.Now)
	}
	return now, err
}

// longest is how far the clock can be ahead of the fake's start: races that
// opened meanwhile take memory.
const longest = 366 * 24 * time.Hour

// setClock sets the clock, stops it, or lets it run.
func (c *control) setClock(r *http.Request) (any, error) {
	var body setting
	if err := read(r, &body, `like {"now":"2025-06-01T12:00:00Z","still":true}`); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.clock.Now()
	to, err := body.time(from)
	if err != nil {
		return nil, err
	}
	still := c.clock.IsStill()
	if body.Still != nil {
		still = *body.Still
	}
	return c.move(from, to, still)
}

// advance puts the clock forward.
func (c *control) advance(r *http.Request) (any, error) {
	var body struct{ By time.Duration }
	if err := read(r, &body, `like {"by":"1h30m"}`); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.clock.Now()
	return c.move(from, from.Add(body.By), c.clock.IsStill())
}

// move sets the clock, unless that is before the time that it showed.
func (c *control) move(from, to time.Time, still bool) (any, error) {
	switch {
	case to.Before(from):
		return nil, errors.New("the clock cannot be put back: POST /reset starts anew, at any time")
	case to.After(c.begin.Add(longest)):
		return nil, fmt.Errorf("the clock can be at most %d days ahead of the start, %s: POST /reset starts anew, at any time",
			longest/(24*time.Hour), c.begin.Format(time.RFC3339))
	}
	c.clock.set(to, still)
	return object{"now": c.fake.Now(), "still": still}, nil
}

// reset puts the fake back to its start. Without a time its clock starts as it did
// first.
func (c *control) reset(r *http.Request) (any, error) {
	var body setting
	if r.ContentLength != 0 {
		if err := read(r, &body, `empty, or like {"now":"2025-06-01T12:00:00Z","still":true}`); err != nil {
			return nil, err
		}
	}
	now, err := body.time(c.clock.start())
	if err != nil {
		return nil, err
	}
	still := body.Still != nil && *body.Still
	if now.Year() < 2000 || now.Year() > 2100 {
		return nil, fmt.Errorf("the fake can start in the years 2000 to 2100, not %d", now.Year())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock.set(now, still)
	c.fake.Reset()
	c.fake.Inject(c.faults...)
	c.begin = c.fake.Now()
	return object{"now": c.begin, "still": still}, nil
}
