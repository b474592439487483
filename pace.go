package horseracing

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// pace is the rhythm of a poll that goes on until its context ends.
type pace struct {
	interval time.Duration
	failures int // since the last success
}

const (
	slowestPace    = 5 * time.Minute // between failures, unless the interval is longer
	maxPollRefusal = time.Hour       // no longer is a Retry-After obeyed
)

// ok notes a success: the next failure is the first one again.
func (p *pace) ok() { p.failures = 0 }

// rest waits until the next poll is due: an interval after a success, ever
// longer after failures, and never shorter than the service asks for. It
// returns false as soon as the context ends.
func (p *pace) rest(ctx context.Context, err error) bool {
	timer := time.NewTimer(p.wait(err))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

func (p *pace) wait(err error) time.Duration {
	wait := p.interval
	if err != nil {
		slowest := max(slowestPace, p.interval)
		for range p.failures {
			if wait > slowest/2 { // twice that may overflow
				wait = slowest
				break
			}
			wait *= 2
		}
		p.failures = min(p.failures+1, 63)
	}
	wait -= rand.N(wait/10 + 1) // clients that started together drift apart
	if refusal, ok := errors.AsType[*APIError](err); ok {
		wait = max(wait, min(refusal.RetryAfter, maxPollRefusal))
	}
	return wait
}
