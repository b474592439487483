package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing"
)

// progress is a line on a terminal that says how far a command is. A nil progress
// shows nothing.
type progress struct {
	mu     sync.Mutex // guards what follows
	w      io.Writer
	client *horseracing.Client
	text   string
	shown  bool
	stop   func()
}

// show shows the line twice a second from now on.
func (p *progress) show(client *horseracing.Client) {
	if p == nil {
		return
	}
	p.client = client
	ticker := time.NewTicker(500 * time.Millisecond)
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stopped:
				return
			case <-ticker.C:
				p.draw()
			}
		}
	}()
	p.stop = func() {
		ticker.Stop()
		close(stopped)
		<-ended
	}
}

// set sets the text of the line.
func (p *progress) set(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = fmt.Sprintf(format, args...)
}

func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	parts := []string{p.text}
	pace := p.client.Pace()
	if wait := time.Until(pace.Until); wait > time.Second {
		parts = append(parts, fmt.Sprintf("the service refuses requests for %v", wait.Round(time.Second)))
	} else if pace.PerSecond > 0 {
		parts = append(parts, fmt.Sprintf("the service allows about %.1f requests a second", pace.PerSecond))
	}
	p.clear()
	fmt.Fprint(p.w, strings.TrimPrefix(strings.Join(parts, ", "), ", "))
	p.shown = true
}

// clear removes the line from the terminal.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	p.shown = false
}

// above returns a writer to the same terminal that writes above the line.
func (p *progress) above(w io.Writer) io.Writer { return lineWriter{p, w} }

type lineWriter struct {
	p *progress
	w io.Writer
}

func (l lineWriter) Write(b []byte) (int, error) {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	l.p.clear()
	return l.w.Write(b)
}

// end removes the line for good.
func (p *progress) end() {
	if p == nil || p.stop == nil {
		return
	}
	p.stop()
	p.stop = nil
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}
