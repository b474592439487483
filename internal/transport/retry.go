// Package transport has RoundTrippers and functions that are of use alone: each returns what it has
// found, and keeps nothing of a call.
//
//	meaning.go  what a response or an error means: for retries, and for the pace
//	retry.go    the backoff before a retry, and the budget of retries
//	whole.go    a RoundTripper that returns a complete response or an error
//	once.go     a RoundTripper that sends a write once, and the connections of reads and writes
//
// An attempt passes the following one after the other. The context ends each wait; besides, it ends so:
//
//	the turn    package pace: after MaxWait, for all turns of a call together; for a page never
//	a permit    package pace: never; it does not count for MaxWait
//	Once        does not wait
//	Whole       after its Timeout, from connecting to the last byte of the body
//	Wire        with the Timeout of Whole
//	Backoff     after at most the longest wait that it is given; there is none after a refusal
package transport

import (
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// Backoff is a retryablehttp.Backoff. It returns a random wait of at most least * 2^retries, and never
// more than most. If a Retry-After demands a longer wait, it returns that, and a random time beyond it,
// so that clients that failed together do not come back together, or most if that is shorter.
func Backoff(least, most time.Duration, retries int, resp *http.Response) time.Duration {
	demanded := time.Duration(0)
	if resp != nil {
		demanded = min(RetryAfter(resp.Header), most)
	}
	longest := min(float64(least)*math.Exp2(float64(retries)), float64(most))
	jitter := min(max(time.Duration(longest), demanded/10), most-demanded)
	return demanded + rand.N(max(jitter, 1))
}

// Budget is a number of tokens that the retries of many calls share. A retry takes some, a conclusive
// response after retries gives them back, and one at once earns one. Random faults leave enough, and
// in an outage the load soon falls to one attempt a call. The zero value is full.
type Budget struct {
	mu    sync.Mutex
	spent int
}

const budgetSize = 500

// Add adds tokens, or takes some if their number is negative.
func (b *Budget) Add(tokens int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = max(0, b.spent-tokens)
}

// Left returns how many tokens are left.
func (b *Budget) Left() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return budgetSize - b.spent
}
