package transport

import (
	"sync"
	"time"
)

// maxHeeded is the longest Retry-After that is waited out.
const maxHeeded = time.Hour

// Patience is how long the requests of a walk are repeated while its listing is
// not accepted. All its requests share one.
type Patience struct {
	Most time.Duration

	mu       sync.Mutex
	calls    int       // in progress
	deadline time.Time // unless a request is accepted before
	accepted bool      // a request, since the walk began
	excused  bool      // a Retry-After is not counted, since the last acceptance
	warned   bool      // of a wait, since then
}

// begin adds a call. The first one starts to wait.
func (p *Patience) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls++; p.calls == 1 {
		p.deadline, p.excused, p.warned = time.Now().Add(p.Most), false, false
	}
}

func (p *Patience) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls--
}

// accept records that the listing was accepted. It reports whether a wait was
// logged before.
func (p *Patience) accept() (warned bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	warned = p.warned
	p.deadline, p.accepted, p.excused, p.warned = time.Now().Add(p.Most), true, false, false
	return warned
}

// wasAccepted reports whether the listing was ever accepted.
func (p *Patience) wasAccepted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// left returns for how long requests are repeated if none is accepted.
func (p *Patience) left() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Until(p.deadline)
}

// excuse reports whether a Retry-After is not counted: the first one between two
// acceptances, of up to an hour.
func (p *Patience) excuse(retryAfter time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.excused || retryAfter <= 0 || retryAfter > maxHeeded || time.Now().After(p.deadline) {
		return false
	}
	p.excused = true
	p.deadline = p.deadline.Add(retryAfter)
	return true
}

// warn reports whether a wait is to be logged: one line for all requests of the walk.
func (p *Patience) warn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := !p.warned
	p.warned = true
	return first
}
