package horseracing

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// Retry sets how reads are retried: after connection failures, after the
// statuses 408, 429, 500, 502, 503 and 504, and once after a response with
// status 200 that is an HTML page or cut short. Waits between attempts are
// random.
//
// A Retry-After is honored up to MaxWait. If the service demands a longer wait,
// the call returns at once, with [APIError].RetryAfter set. A budget that all
// calls of a client share keeps retries from multiplying the load of an outage,
// and the end of the context ends a wait at once. Refusals (429, or 503 with
// Retry-After) take nothing from the budget; [Client.Pace] is about these.
//
// These are not retried, because a retry cannot help: a response that is too
// large or that cannot be decoded, a server without TLS or with an untrusted
// certificate, and an error of the [Limiter].
type Retry struct {
	Max     int           // retries after the first attempt; default 3, and none if negative
	MinWait time.Duration // base of the exponential backoff with full jitter; default 200ms, or MaxWait if that is shorter
	MaxWait time.Duration // longest backoff, and longest Retry-After that is honored; default 15s, or MinWait if that is longer
}

var defaultRetry = Retry{Max: 3, MinWait: 200 * time.Millisecond, MaxWait: 15 * time.Second}

// withDefaults returns r with its zero fields taken from d, and a Max that is
// not negative.
func (r Retry) withDefaults(d Retry) Retry {
	maxRetries := max(0, cmp.Or(r.Max, d.Max))
	switch {
	case r.MinWait == 0 && r.MaxWait == 0:
		r.MinWait, r.MaxWait = d.MinWait, d.MaxWait
	case r.MinWait == 0:
		r.MinWait = min(d.MinWait, r.MaxWait)
	case r.MaxWait == 0:
		r.MaxWait = max(d.MaxWait, r.MinWait)
	}
	r.Max = maxRetries
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

// backoff returns a random wait up to MinWait * 2^retries, at most MaxWait.
func (r Retry) backoff(retries int) time.Duration {
	return rand.N(max(r.ceiling(retries), 1))
}

// backoffAfter returns how long to wait where the service demands a wait: no
// less than that, and a random time more, so that clients which were refused
// together do not come back together.
func (r Retry) backoffAfter(demanded time.Duration, retries int) time.Duration {
	jitter := rand.N(max(r.ceiling(retries), demanded/10, 1))
	return demanded + min(jitter, math.MaxInt64-demanded)
}

func (r Retry) ceiling(retries int) time.Duration {
	if retries < 62 && r.MinWait <= r.MaxWait>>retries {
		return r.MinWait << retries
	}
	return r.MaxWait
}

// retryBudget is a bucket of tokens that all calls of a client share. Each
// retry spends some. A success refunds what its own retries spent; a success at
// once earns one. Random faults leave enough, and in an outage the load soon
// falls to one attempt a call.
type retryBudget struct {
	mu     sync.Mutex
	tokens int
}

// withheldAdvice is said where the budget withheld a retry.
const withheldAdvice = "not retried: too many calls of this client fail, and its retry budget is spent"

const (
	budgetSize = 500
	retryCost  = 5
)

func newRetryBudget() *retryBudget { return &retryBudget{tokens: budgetSize} }

// spend reports whether a retry may be made, and pays for it.
func (b *retryBudget) spend() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens < retryCost {
		return false
	}
	b.tokens -= retryCost
	return true
}

// earn credits a success after some retries.
func (b *retryBudget) earn(retries int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.tokens+max(1, retries*retryCost), budgetSize)
}
