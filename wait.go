package horseracing

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/horseracing-go/horseracing/internal/transport"
)

// pollSchedule determines when the next poll is due.
type pollSchedule struct {
	interval time.Duration
	failures int // since the last success
}

const (
	longestBackoff = 5 * time.Minute // between failures, unless the interval is longer
	maxRefusal     = time.Hour       // a longer Retry-After is cut to this
)

// wait waits until the next poll is due: an interval after a success, a growing backoff
// after failures, and at least the Retry-After of err. It reports false if ctx is done.
func (s *pollSchedule) wait(ctx context.Context, err error) bool {
	return transport.Sleep(ctx, s.delay(err)) == nil
}

func (s *pollSchedule) delay(err error) time.Duration {
	delay := s.interval
	if err == nil {
		s.failures = 0
	} else {
		for range s.failures {
			delay += max(0, min(delay, longestBackoff-delay))
		}
		s.failures++
	}
	delay -= rand.N(delay/10 + 1) // clients that started together drift apart
	return max(delay, refusal(err))
}

// refusal returns the Retry-After of err, zero if there is none.
func refusal(err error) time.Duration {
	if refused, ok := errors.AsType[*APIError](err); ok {
		return min(refused.RetryAfter, maxRefusal)
	}
	return 0
}
