package transport

import (
	"math"
	"math/rand/v2"
	"time"
)

// Retry is how a call is retried. All fields are set.
type Retry struct {
	Max              int
	MinWait, MaxWait time.Duration
}

// backoff returns a random wait up to MinWait * 2^retries, at most MaxWait. If the
// service demands a wait it is no less than that, and random beyond it, so that
// clients which were refused together do not come back together.
func (r Retry) backoff(demanded time.Duration, retries int) time.Duration {
	longest := min(float64(r.MinWait)*math.Exp2(float64(retries)), float64(r.MaxWait))
	jitter := rand.N(max(time.Duration(longest), demanded/10, 1))
	return demanded + min(jitter, math.MaxInt64-demanded)
}

// tally is what the policy counts of one call.
type tally struct {
	refusals int // attempts that Patience does not count
	damaged  int // attempts whose response was an HTML page or cut
	paid     int // retries that the budget paid for
}
