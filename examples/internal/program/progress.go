package program

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Progress prints a line about something long every five seconds.
type Progress struct {
	out         io.Writer
	unit        string
	done        int
	began, next time.Time
}

const progressInterval = 5 * time.Second

// NewProgress begins to count units, like "races".
func NewProgress(out io.Writer, unit string) *Progress {
	now := time.Now()
	return &Progress{out: out, unit: unit, began: now, next: now.Add(progressInterval)}
}

// Add counts n more. The details are printed after the figures; empty ones are
// left out.
func (p *Progress) Add(n int, details ...string) {
	p.done += n
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(progressInterval)
	line := fmt.Sprintf("%d %s, %.0f a second", p.done, p.unit, float64(p.done)/now.Sub(p.began).Seconds())
	for _, detail := range details {
		line = strings.TrimSuffix(line+", "+detail, ", ")
	}
	fmt.Fprintln(p.out, line)
}

// Done returns how many units were counted.
func (p *Progress) Done() int { return p.done }

// Took returns the time since the beginning.
func (p *Progress) Took() time.Duration { return time.Since(p.began).Round(time.Millisecond) }
