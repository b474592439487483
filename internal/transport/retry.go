// Package transport has the parts of a call that are of use alone. None of them keeps anything of a
// call, or knows that there are calls: each returns what it has found.
//
//	meaning.go  what a response or an error means: for retries, and for the pace
//	retry.go    the backoff before a retry, and the budget of retries
//	whole.go    a RoundTripper that returns a complete response or an error
//	once.go     a RoundTripper that sends a write once, and the connections of reads and writes
//
// A request passes them in this order, and each wait ends as follows, or when the context ends:
//
//	the turn            package pace: after MaxWait, which all turns of a call share, or for a page never
//	a Limiter's permit  package pace: never; it does not count for MaxWait
//	Once                does not wait
//	Whole               after its Timeout, from connecting to the last byte of the body
//	Wire                does not wait for itself; the Timeout of Whole ends its connections
//	Backoff             by itself, after at most RetryWaitMax; after a refusal it is left out for the next turn
//
// RetryMax ends a call after so many retries; those of a page count only if they failed.
package transport

import (
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// Backoff is a retryablehttp.Backoff. It returns a random wait up to least * 2^retries, at most
// most. If the response demands a wait of up to most, it is no less than that, and random beyond
// it, so that clients which were refused together do not come back together.
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
