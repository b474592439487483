package control

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// setting is what POST /clock and POST /reset take.
type setting struct {
	Now   *instant `json:"now"`
	Still *bool    `json:"still"`
}

// instant is written as in RFC 3339.
type instant time.Time

func (i *instant) UnmarshalText(text []byte) error {
	parsed, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return fmt.Errorf("%q is not a time like 2025-06-01T12:00:00Z", text)
	}
	*i = instant(parsed)
	return nil
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
	now, still := c.clock.Now(), c.clock.IsStill()
	if body.Now != nil {
		now = time.Time(*body.Now)
	}
	if body.Still != nil {
		still = *body.Still
	}
	return c.move(now, still)
}

// advance puts the clock forward.
func (c *control) advance(r *http.Request) (any, error) {
	var body struct {
		By duration `json:"by"`
	}
	if err := read(r, &body, `like {"by":"1h30m"}`); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.move(c.clock.Now().Add(time.Duration(body.By)), c.clock.IsStill())
}

// move sets the clock to a time that is not before its own.
func (c *control) move(now time.Time, still bool) (any, error) {
	switch {
	case now.Before(c.clock.Now()):
		return nil, errors.New("the clock cannot be put back: POST /reset starts anew, at any time")
	case now.After(c.begin.Add(longest)):
		return nil, fmt.Errorf("the clock can be at most %d days ahead of the start, %s: POST /reset starts anew, at any time",
			longest/(24*time.Hour), c.begin.Format(time.RFC3339))
	}
	c.clock.set(now, still)
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
	now, still := c.clock.start(), body.Still != nil && *body.Still
	if body.Now != nil {
		now = time.Time(*body.Now)
	}
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
