package horseracing

import (
	"cmp"
	"fmt"
	"time"
)

// Retry sets how reads are retried: after connection failures, after the statuses 408,
// 429, 500, 502, 503 and 504, and once after a response with status 2xx that is an HTML
// page or ends early.
//
// A Retry-After is honored up to MaxWait. If the service demands a longer wait, the
// call returns at once, with [APIError].RetryAfter set. While the service refuses all
// requests of the client, a call waits for at most MaxWait, then fails without being
// sent. MaxWait limits each wait, not their sum: the context limits the whole call, and
// ends every wait at once.
//
// A budget shared by all calls of a client keeps retries from multiplying the load of
// an outage. Rate-limit responses (429, or 503 with Retry-After) do not consume it; see
// [Client.Pace].
//
// These are not retried, because a retry cannot help: a response that is too large, or
// that is JSON of another shape or other types than documented, a server without TLS or
// with an untrusted certificate, and an error of the [Limiter].
type Retry struct {
	Max     int           // retries after the first attempt; default 3, and none if negative
	MinWait time.Duration // base of the exponential backoff with full jitter; default 200ms, at most MaxWait
	MaxWait time.Duration // longest backoff, and longest Retry-After that is honored; default 15s, at least MinWait
}

var defaultRetry = Retry{Max: 3, MinWait: 200 * time.Millisecond, MaxWait: 15 * time.Second}

// withDefaults returns r with its zero fields taken from d, and a Max that is
// not negative.
func (r Retry) withDefaults(d Retry) Retry {
	r.Max = max(0, cmp.Or(r.Max, d.Max))
	if r.MaxWait == 0 {
		r.MaxWait = max(d.MaxWait, r.MinWait)
	}
	if r.MinWait == 0 {
		r.MinWait = min(d.MinWait, r.MaxWait)
	}
	return r
}

// problem returns what is wrong with a Retry that a caller gave.
func (r Retry) problem() error {
	switch {
	case r.MinWait < 0 || r.MaxWait < 0:
		return fmt.Errorf("a wait of %+v is negative", r)
	case r.MaxWait != 0 && r.MinWait > r.MaxWait:
		return fmt.Errorf("MinWait %v is longer than MaxWait %v", r.MinWait, r.MaxWait)
	}
	return nil
}

// withheldAdvice explains that the retry budget withheld a retry.
const withheldAdvice = "not retried, because many calls of this client failed and its retry budget is spent"
