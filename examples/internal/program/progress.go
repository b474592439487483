package program

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing"
)

// noticeable is how long nothing may move without a word about why.
const noticeable = 5 * time.Second

// Progress shows how far something long has come: on a terminal a line that is
// redrawn, elsewhere a line every five seconds.
type Progress struct {
	mu    sync.Mutex // guards what follows
	out   io.Writer
	width func() int // columns of the terminal; nil: it is none
	unit  string
	total int // zero: unknown
	now   func() time.Time

	done          int
	began, redraw time.Time
	drawn         int // columns of the line on the terminal; zero: there is none
}

// NewProgress begins to count units, like "races", of which there are about
// total; zero: unknown. width returns the columns of the terminal that out
// is, and is nil if out is none.
func NewProgress(out io.Writer, width func() int, unit string, total int) *Progress {
	p := &Progress{out: out, width: width, unit: unit, total: total, now: time.Now}
	p.start()
	return p
}

func (p *Progress) start() {
	p.began = p.now()
	p.redraw = p.began.Add(p.every())
}

func (p *Progress) every() time.Duration {
	if p.width != nil {
		return 100 * time.Millisecond
	}
	return 5 * time.Second
}

// Done returns how many units were counted.
func (p *Progress) Done() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// Took returns the time since the beginning.
func (p *Progress) Took() time.Duration { return p.now().Sub(p.began).Round(time.Millisecond) }

// Add counts n more. The details are shown behind the figures, as far as the
// terminal is wide enough; empty ones are left out.
func (p *Progress) Add(n int, details ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	now := p.now()
	if p.done == 0 || now.Before(p.redraw) {
		return
	}
	p.redraw = now.Add(p.every())
	parts := append(p.figures(now), details...)
	if p.width == nil {
		fmt.Fprintln(p.out, join(parts, 0))
		return
	}
	width := p.width()
	line := join(parts, width-1) // a full line would move the cursor on
	fmt.Fprint(p.out, p.toBeginning(width), line, "\x1b[J")
	p.drawn = len(line)
}

func (p *Progress) figures(now time.Time) []string {
	count := fmt.Sprintf("%d %s", p.done, p.unit)
	if p.total > p.done { // the total may be an estimate
		count = fmt.Sprintf("%d of %d %s", p.done, p.total, p.unit)
	}
	rate := float64(p.done) / max(now.Sub(p.began).Seconds(), 0.001)
	parts := []string{count, fmt.Sprintf("%.0f a second", rate)}
	if left := p.total - p.done; left > 0 {
		parts = append(parts, time.Duration(float64(left)/rate*float64(time.Second)).Round(time.Second).String()+" left")
	}
	return parts
}

// join joins the parts that are not empty, as many as fit; zero: all.
func join(parts []string, columns int) string {
	line := ""
	for _, part := range parts {
		if part == "" {
			continue
		}
		longer := strings.TrimPrefix(line+", "+part, ", ")
		if columns != 0 && len(longer) > columns {
			break
		}
		line = longer
	}
	return line
}

// toBeginning moves to where the line on the terminal begins. A terminal that
// became narrower has broken the line into several.
func (p *Progress) toBeginning(width int) string {
	if up := (p.drawn - 1) / max(width, 1); width > 0 && up > 0 {
		return fmt.Sprintf("\r\x1b[%dA", up)
	}
	return "\r"
}

// Println prints a line that stays.
func (p *Progress) Println(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintln(p.out, text)
}

// End takes the line off the terminal.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func (p *Progress) clear() {
	if p.drawn > 0 {
		fmt.Fprint(p.out, p.toBeginning(p.width()), "\x1b[J")
		p.drawn = 0
	}
}

// AnnouncePauses prints a line whenever the service makes the client pause for
// long, until stop is called.
func (p *Progress) AnnouncePauses(client *horseracing.Client) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var watcher sync.WaitGroup
	watcher.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		var announced time.Time
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			until := client.Pace().Until
			if pause := time.Until(until); pause > noticeable && until.Sub(announced) > noticeable {
				announced = until
				p.Println(fmt.Sprintf("the service refuses requests; the next one is sent in %v", pause.Round(time.Second)))
			}
		}
	})
	return func() {
		cancel()
		watcher.Wait()
	}
}
