package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress is a line on a terminal that says how far a command is. What else is
// written to the terminal comes above it. A nil progress shows nothing.
type progress struct {
	mu    sync.Mutex // guards what follows
	w     io.Writer
	last  time.Time // when the line was shown
	shown bool
}

// set shows the line, at most five times a second.
func (p *progress) set(format string, args ...any) {
	if p == nil || time.Since(p.last) < time.Second/5 {
		return
	}
	p.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.w, format, args...)
	p.last, p.shown = time.Now(), true
}

// end removes the line.
func (p *progress) end() {
	if p != nil {
		_, _ = above{p, io.Discard}.Write(nil)
	}
}

// above is a writer to the terminal of a progress.
type above struct {
	p *progress
	w io.Writer
}

func (a above) Write(b []byte) (int, error) {
	a.p.mu.Lock()
	defer a.p.mu.Unlock()
	if a.p.shown {
		fmt.Fprint(a.p.w, "\r\x1b[K")
		a.p.shown = false
	}
	return a.w.Write(b)
}
