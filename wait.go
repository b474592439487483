package horseracing

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// pollSchedule determines when the next poll is due.
type pollSchedule struct {
	interval time.Duration
	failures int // since the last success
}

const (
	longestBackoff = 5 * time.Minute // between failures, unless the interval is longer
	maxPollRefusal = time.Hour       // a longer Retry-After is cut to this
)

// succeeded resets the backoff.
func (s *pollSchedule) succeeded() { s.failures = 0 }

// wait waits until the next poll is due: an interval after a success, a growing
// backoff after failures, and at least the Retry-After of err. It reports whether
// the context has not ended.
func (s *pollSchedule) wait(ctx context.Context, err error) bool {
	return sleep(ctx, s.delay(err)) == nil
}

func (s *pollSchedule) delay(err error) time.Duration {
	if err == nil {
		s.failures = 0
	}
	delay := backoff(s.interval, s.failures)
	if err != nil {
		s.failures++
	}
	delay -= rand.N(delay/10 + 1) // clients that started together drift apart
	if refusal, ok := errors.AsType[*APIError](err); ok {
		delay = max(delay, min(refusal.RetryAfter, maxPollRefusal))
	}
	return delay
}

// backoff returns the interval, doubled for each failure up to longestBackoff.
func backoff(interval time.Duration, failures int) time.Duration {
	longest := max(longestBackoff, interval)
	for ; failures > 0; failures-- {
		if interval > longest/2 { // twice that may overflow
			return longest
		}
		interval *= 2
	}
	return interval
}

// sleep waits, and returns the context's error as soon as that ends.
func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}
