package horseracing

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
)

// Pace is what a client learned about how fast the service lets it send. The
// service's limits are undocumented. Without a refusal (429, or 503 with
// Retry-After) the client never slows down; after one, all its calls slow down
// together.
type Pace struct {
	PerSecond float64   // requests per second at present; zero: no limit was seen
	Waiting   int       // requests that wait to be sent
	Until     time.Time // no request is sent before; zero: requests are sent now
}

// Pace returns what the client has learned so far.
func (c *Client) Pace() Pace {
	s := c.gate.State()
	return Pace{PerSecond: s.PerSecond, Waiting: s.Waiting, Until: s.Until}
}

const (
	defaultPatience = 10 * time.Minute
	maxHeeded       = time.Hour // a longer Retry-After is cut to this
)

// rank returns the priority of the operation's requests: first what changes
// something, then single reads, then polls, then walks.
func (op operation) rank() pace.Rank {
	if !op.isRead() {
		return pace.Write
	}
	return max(pace.Read, op.order) // zero: a single read
}

// refusal returns the Retry-After of a response that refuses a request because
// of the pace, and whether it is one.
func (r *rawResponse) refusal() (time.Duration, bool) {
	if r == nil || r.status != http.StatusTooManyRequests && r.status != http.StatusServiceUnavailable {
		return 0, false
	}
	demanded := retryAfter(r.header)
	return demanded, r.status == http.StatusTooManyRequests || demanded > 0
}

// outcome returns what the pace learns from an attempt.
func (x *exchange) outcome() (pace.Outcome, time.Duration) {
	if demanded, refused := x.response.refusal(); refused {
		return pace.Refused, min(demanded, maxHeeded)
	}
	if x.response == nil || isTransient(x.response.status) {
		return pace.Unclear, 0
	}
	return pace.Accepted, 0
}

// patience is how long a walk or a follow waits for a service that refuses
// everything, and whether it waits now. All its requests share one.
type patience struct {
	most time.Duration

	mu      sync.Mutex
	waiting bool
}

func newPatience(most time.Duration) *patience {
	if most == 0 {
		most = defaultPatience
	}
	return &patience{most: most}
}

// noticeable is the shortest wait of a walk that is logged: shorter ones belong to
// learning the pace.
const noticeable = 5 * time.Second

// lasts reports whether a refused request is to be sent again: whether the
// patience has not passed since the request was begun, the last request of the
// client was accepted, and the last Retry-After ended.
func (p *patience) lasts(x *exchange) bool {
	s := x.client.gate.State()
	from, now := x.begun, time.Now()
	for _, t := range []time.Time{s.Accepted, s.Named} {
		if t.After(from) {
			from = t
		}
	}
	return now.Sub(from) < p.most
}

// refused logs that the walk begins to wait.
func (p *patience) refused(ctx context.Context, x *exchange) {
	s, now := x.client.gate.State(), time.Now()
	if s.Named.Sub(now) < noticeable && (s.Accepted.IsZero() || now.Sub(s.Accepted) < noticeable) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting {
		return
	}
	p.waiting = true
	if log := x.client.logger; log != nil {
		log.LogAttrs(ctx, slog.LevelWarn, "horseracing: waiting for the service, which refuses requests", slog.String("operation", x.operation()),
			slog.Int("status", x.response.status), slog.Duration("retry_after", max(0, s.Named.Sub(now))))
	}
}

// accepted logs that the walk goes on.
func (p *patience) accepted(ctx context.Context, x *exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.waiting {
		return
	}
	p.waiting = false
	if log := x.client.logger; log != nil {
		log.LogAttrs(ctx, slog.LevelInfo, "horseracing: the service accepts requests again", slog.String("operation", x.operation()))
	}
}

// persistence is for how long after the last accepted request a page that fails
// is requested again.
const persistence = time.Minute

// persist makes a request for a page. If it fails with a transient error, it is
// made again as long as the service accepts other requests: in a long walk some
// page is bound to meet several failures in a row. Requests accepted shortly
// before count, because a walk with one request in flight makes no others
// meanwhile. The patience bounds the whole. A follow makes the request only once
// more: its next poll comes back to the page.
func (c *Client) persist(ctx context.Context, op operation, request func() error) error {
	begun := time.Now()
	for round := 1; ; round++ {
		started := time.Now()
		err := request()
		responds := c.gate.State().Accepted.After(started.Add(-persistence))
		spent := time.Since(begun) > op.patience.most || op.order == pace.Poll && round == 2
		if err == nil || !isTransientError(err) || c.retry.Max == 0 || !responds || spent {
			return err
		}
		if sleep(ctx, c.retry.backoff(c.retry.Max+round)) != nil {
			return err
		}
	}
}

// isTransientError reports whether a call failed with a transient error other
// than a refusal.
func isTransientError(err error) bool {
	if e, ok := errors.AsType[*TransportError](err); ok {
		return e.transient
	}
	e, ok := errors.AsType[*APIError](err)
	return ok && isTransient(e.StatusCode) && e.StatusCode != http.StatusTooManyRequests && e.RetryAfter == 0
}
