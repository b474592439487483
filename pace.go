package horseracing

import (
	"cmp"
	"time"

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
