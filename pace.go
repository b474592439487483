package horseracing

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// Pace is what a client learned about how fast the service lets it send. The
// service's limits are undocumented. Without a refusal (429, or 503 with
// Retry-After) the client never slows down; after one, all its calls slow down
// together.
type Pace struct {
	PerSecond float64   // requests per second at present; zero if no limit was seen
	Waiting   int       // requests that wait to be sent
	Until     time.Time // no request is sent before; the zero time if requests are sent now
}

// defaultPatience is the Patience of a query that sets none.
const defaultPatience = 10 * time.Minute

func newPatience(most time.Duration) *transport.Patience {
	return &transport.Patience{Most: cmp.Or(most, defaultPatience)}
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
		spent := time.Since(begun) > op.patience.Most || op.order == pace.Poll && round == 2
		if err == nil || !isTransientError(err) || c.retry.Max == 0 || !responds || spent {
			return err
		}
		if sleep(ctx, transport.Retry(c.retry).Backoff(c.retry.Max+round)) != nil {
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
	return ok && transport.IsTransient(e.StatusCode) && e.StatusCode != http.StatusTooManyRequests && e.RetryAfter == 0
}
