package horseracing

import (
	"cmp"
	"time"

	"github.com/horseracing-go/horseracing/internal/transport"
)

// Pace is what a client knows about the service's rate limit. The client sends no more
// requests than the service announces (RateLimit-Remaining), and otherwise slows down
// only after a refusal (429, or 503 with Retry-After). A Pace describes all routes except those that the client has found to
// be limited separately.
type Pace struct {
	PerSecond float64   // requests per second at present, or zero if the rate is not limited
	Waiting   int       // requests that wait to be sent
	Until     time.Time // no request is sent before this time, which is zero if requests may be sent now
	AtRandom  bool      // refusals seem not to depend on the rate of sending, which is not limited then
}

// defaultPatience is the Patience of a query that sets none.
const defaultPatience = 10 * time.Minute

func newPatience(most time.Duration) *transport.Patience {
	return &transport.Patience{Most: cmp.Or(most, defaultPatience)}
}
