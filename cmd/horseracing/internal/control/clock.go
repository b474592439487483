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
	begin time.Time // zero if it starts at the time of this machine's clock

	mu    sync.Mutex
	shown time.Time // when it was set
	set   time.Time // when that was, by this machine's clock
	still bool
}

// NewClock returns a clock that runs from begin on, or follows this machine's if that is
// zero.
func NewClock(begin time.Time) *Clock {
	c := &Clock{begin: begin}
	c.put(c.start(), false)
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
	now, _ := c.state()
	return now
}

// state returns the time, and whether the clock is stopped.
func (c *Clock) state() (now time.Time, still bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.still {
		return c.shown, true
	}
	return c.shown.Add(time.Since(c.set)), false
}

// put sets the clock, and stops it or lets it run.
func (c *Clock) put(now time.Time, still bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown, c.set, c.still = now, time.Now(), still
}

// setting is what POST /clock and POST /reset take. What is nil stays as it is.
type setting struct {
	Now   *time.Time
	Still *bool
}

// over returns the setting of a clock that has this one.
func (s *setting) over(now time.Time, still bool) (time.Time, bool) {
	if s.Now != nil {
		now = *s.Now
	}
	if s.Still != nil {
		still = *s.Still
	}
	return now, still
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
	return c.move(body.over)
}

// advance puts the clock forward.
func (c *control) advance(r *http.Request) (any, error) {
	var body struct{ By time.Duration }
	if err := read(r, &body, `like {"by":"1h30m"}`); err != nil {
		return nil, err
	}
	return c.move(func(now time.Time, still bool) (time.Time, bool) { return now.Add(body.By), still })
}

// move sets the clock, unless that is before the time that it showed.
func (c *control) move(setting func(now time.Time, still bool) (time.Time, bool)) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	from, still := c.clock.state()
	to, still := setting(from, still)
	switch {
	case to.Before(from):
		return nil, errors.New("the clock cannot be put back: POST /reset starts anew, at any time")
	case to.After(c.begin.Add(longest)):
		return nil, fmt.Errorf("the clock can be at most %d days ahead of the start, %s: POST /reset starts anew, at any time",
			longest/(24*time.Hour), c.begin.Format(time.RFC3339))
	}
	c.clock.put(to, still)
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
	now, still := body.over(c.clock.start(), false)
	if now.Year() < 2000 || now.Year() > 2100 {
		return nil, fmt.Errorf("the fake can start in the years 2000 to 2100, not %d", now.Year())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock.put(now, still)
	c.fake.Reset()
	c.fake.Inject(c.faults...)
	c.begin = c.fake.Now()
	return object{"now": c.begin, "still": still}, nil
}
