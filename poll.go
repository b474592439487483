package horseracing

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// This file says when something is read again: when the next poll of a follower or a watch is due,
// and how long the pause after an empty list is. It also determines when a response was made.

// pollSchedule determines when the next poll is due.
type pollSchedule struct {
	interval time.Duration
	failures int // since the last success
}

const (
	longestBackoff = 5 * time.Minute // between failures, unless the interval is longer
	maxRefusal     = time.Hour       // a longer Retry-After is cut to this

	emptyDelay = 200 * time.Millisecond // the pause before an empty list is requested again, since a replica that lags may show one
)

// wait waits until the next poll is due: an interval after a success, a growing backoff
// after failures, and at least the Retry-After of err. It reports false if ctx is done.
func (s *pollSchedule) wait(ctx context.Context, err error) bool {
	return sleep(ctx, s.delay(err)) == nil
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
	return max(delay, retryAfterOf(err))
}

// retryAfterOf returns the Retry-After of err, zero if there is none.
func retryAfterOf(err error) time.Duration {
	if refused, ok := errors.AsType[*APIError](err); ok {
		return min(refused.RetryAfter, maxRefusal)
	}
	return 0
}

// sleep waits, and returns the context's error as soon as ctx is done.
func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// responseTime returns when the service made a response: Date minus Age. Without a
// Date it counts from when the request was made.
func responseTime(header http.Header, requested time.Time) time.Time {
	made := requested
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		made = date
	}
	return made.Add(-ageOf(header))
}

// ageOf returns for how long a cache has kept a response, zero if it comes from the service itself.
func ageOf(header http.Header) time.Duration {
	age, _ := strconv.ParseInt(header.Get("Age"), 10, 32) // zero if unreadable, the largest one if too large
	return time.Duration(max(age, 0)) * time.Second
}
