// Package transport has RoundTrippers and functions that can be used alone: each returns what
// it has found, and keeps nothing of a call.
//
//	meaning.go  what a response or an error means: for retries, and for the pace
//	retry.go    the backoff before a retry, and the budget of retries
//	whole.go    a RoundTripper that returns a complete response or an error
//	once.go     a RoundTripper that sends a write once, and one that uses a new connection for each write
//
// The table at Retry, in the package horseracing, says how long each wait of a call can be.
// Whole limits the wait for a response, and Backoff returns the wait before a retry. The waits
// for a turn and for a permit are in package pace.
package transport

import (
	"math"
	"sync"
	"time"
)

// Backoff returns how long to wait before a retry: a part of least * 2^retries that random, from 0 to
// 1 without 1, determines. A Retry-After raises the wait to at least what it demands, plus jitter, so
// that clients that failed together do not come back together. No wait exceeds most.
func Backoff(least, most time.Duration, retries int, demanded time.Duration, random float64) time.Duration {
	demanded = min(demanded, most)
	longest := min(float64(least)*math.Exp2(float64(retries)), float64(most))
	jitter := min(max(time.Duration(longest), demanded/10), most-demanded)
	return demanded + time.Duration(random*float64(jitter))
}

// Budget is a number of tokens that the retries of many calls share. Each retry takes some
// tokens. A conclusive response gives back what its call has taken, or adds one token if the
// call had no retry. If faults are random, enough tokens are left for retries. In an outage the
// tokens are soon used up, and then each call makes one attempt. The zero value is full.
type Budget struct {
	mu    sync.Mutex
	spent int
}

const budgetSize = 500

// Spend takes tokens or, below zero, gives tokens back. It reports false, and takes none, if fewer are
// left.
func (b *Budget) Spend(tokens int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent+tokens > budgetSize {
		return false
	}
	b.spent = max(0, b.spent+tokens)
	return true
}
