package listing

import (
	"context"
	"math/rand/v2"
	"time"
)

const longestBackoff = 5 * time.Minute // between failures, unless the interval is longer

// EmptyDelay is the pause before an empty list is requested again, since a replica that lags may show one.
const EmptyDelay = 200 * time.Millisecond

// Schedule determines when the next poll is due.
type Schedule struct {
	Interval time.Duration
	Failures int // since the last success, which for a Poll is a page that was read
}

// Wait waits until the next poll is due: an interval after a success, a growing backoff after failures,
// and at least the time that a refusal demands. It reports false if ctx is done.
func (s *Schedule) Wait(ctx context.Context, failed bool, demanded time.Duration) bool {
	delay := s.Interval
	if failed {
		for range s.Failures {
			delay += max(0, min(delay, longestBackoff-delay))
		}
		s.Failures++
	} else {
		s.Failures = 0
	}
	delay -= rand.N(delay/10 + 1) // clients that started together drift apart
	return Sleep(ctx, max(delay, demanded)) == nil
}

// Sleep waits, and returns the context's error as soon as ctx is done.
func Sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}
