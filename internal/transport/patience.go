package transport

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// maxHeeded is the longest Retry-After that is waited out; a longer one is cut to it.
const maxHeeded = time.Hour

// noticeable is the shortest wait of a walk that is logged: shorter ones belong to
// learning the pace.
const noticeable = 5 * time.Second

// Patience is how long a walk or a follow waits for a service that refuses
// everything, and whether it waits now. All its requests share one.
type Patience struct {
	Most time.Duration

	mu      sync.Mutex
	waiting bool
}

// lasts reports whether a refused request is to be sent again: whether the
// patience has not passed since the call was begun, the last request of the client
// was accepted, and the last Retry-After ended.
func (p *Patience) lasts(policy *policy, call *Call) bool {
	s := policy.gate.State()
	from, now := call.begun, time.Now()
	for _, t := range []time.Time{s.Accepted, s.Named} {
		if t.After(from) {
			from = t
		}
	}
	return now.Sub(from) < p.Most
}

// refused logs that the walk begins to wait.
func (p *Patience) refused(ctx context.Context, policy *policy, call *Call) {
	s, now := policy.gate.State(), time.Now()
	if s.Named.Sub(now) < noticeable && (s.Accepted.IsZero() || now.Sub(s.Accepted) < noticeable) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting {
		return
	}
	p.waiting = true
	if policy.logger != nil {
		policy.logger.LogAttrs(ctx, slog.LevelWarn, "horseracing: waiting for the service, which refuses requests",
			slog.String("operation", call.Name), slog.Int("status", call.Status), slog.Duration("retry_after", max(0, s.Named.Sub(now))))
	}
}

// accepted logs that the walk continues.
func (p *Patience) accepted(ctx context.Context, policy *policy, call *Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.waiting || call.Status == 0 || IsTransient(call.Status) {
		return
	}
	p.waiting = false
	if policy.logger != nil {
		policy.logger.LogAttrs(ctx, slog.LevelInfo, "horseracing: the service accepts requests again", slog.String("operation", call.Name))
	}
}
