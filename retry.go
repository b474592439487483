package horseracing

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Retry says how reads are retried: after connection failures and the statuses
// 408, 429, 500, 502, 503 and 504, with full jitter between attempts.
//
// A Retry-After is honoured up to MaxWait; where the service asks for longer,
// the call returns at once with [APIError].RetryAfter set. Whatever is set
// here, a client-wide budget keeps retries from multiplying the load of an
// outage, and the context ends a wait at once. Not tried again is what asking
// again cannot mend: an answer that is too large or cannot be read, a server
// without TLS or with a certificate that is not trusted, an error of the Limiter.
type Retry struct {
	Max     int           // retries after the first attempt; zero: none
	MinWait time.Duration // the first wait is random up to this, the next up to twice this, and so on; zero: 200 ms
	MaxWait time.Duration // no wait is longer; zero: 15 s, or MinWait where that is longer
}

func (r Retry) withDefaults() Retry {
	if r.MaxWait == 0 {
		r.MaxWait = max(15*time.Second, r.MinWait)
	}
	if r.MinWait == 0 {
		r.MinWait = min(200*time.Millisecond, r.MaxWait)
	}
	return r
}

// wait returns a random time up to MinWait * 2^retries, at most MaxWait.
func (r Retry) wait(retries int) time.Duration {
	ceiling := r.MaxWait
	if retries < 62 && r.MinWait <= r.MaxWait>>retries {
		ceiling = r.MinWait << retries
	}
	return rand.N(max(ceiling, 1))
}

// retryBudget is a bucket of tokens that all calls of a client share. A retry
// costs some, one that succeeds gives them back, and a success at once earns
// one: faults at random leave enough, and in an outage the load soon falls to
// one attempt a call.
type retryBudget struct {
	mu     sync.Mutex
	tokens int
}

const (
	budgetSize = 500
	retryCost  = 5
)

func newRetryBudget() *retryBudget { return &retryBudget{tokens: budgetSize} }

func (b *retryBudget) spend() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens < retryCost {
		return false
	}
	b.tokens -= retryCost
	return true
}

// earn takes note of a success, after that many attempts.
func (b *retryBudget) earn(attempts int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	earned := 1
	if attempts > 1 {
		earned = retryCost
	}
	b.tokens = min(b.tokens+earned, budgetSize)
}
