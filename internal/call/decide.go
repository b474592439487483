package call

import (
	"errors"
	"time"

	"github.com/horseracing-go/horseracing/internal/transport"
)

// decision is what follows an attempt.
type decision struct {
	again   bool          // another attempt follows
	wait    time.Duration // before it; after that it waits for its turn
	cost    int           // tokens of the budget that it takes, or, below zero, that the budget gets
	stopped error         // why none follows although one should
}

const maxRefusal = time.Hour // a page that is refused for so long fails

// decide returns what follows an attempt, given how many attempts before it failed and were retried,
// the error of a context that has ended, and a number from 0 to 1, without 1, for the backoff. After a
// refusal there is no backoff: the pace makes the next attempt wait for its turn, or ends a single call.
func decide(r *Request, a *Attempt, failures int, ended error, random float64) decision {
	cost := 5
	if r.IsPage { // a walk of hours is to survive many failures
		cost = 1
	}
	switch {
	case a.meaning == transport.Conclusive: // the tokens of the retries are given back
		return decision{cost: -max(1, failures*cost)}
	case !a.mayRepeat, ended != nil && errors.Is(a.Err, ended):
		return decision{}
	case ended != nil:
		return decision{stopped: ended}
	case !r.IsPage && a.Number > r.Retry.Max, r.Retry.Max == 0:
		return decision{}
	case a.meaning == transport.RateLimited: // those of a page do not count
		return decision{again: !r.IsPage || a.refusedFor < maxRefusal}
	}
	demanded := transport.RetryAfter(a.Header)
	if failures >= r.Retry.Max || !r.IsPage && demanded > r.Retry.MaxWait {
		return decision{}
	}
	return decision{again: true, cost: cost, wait: transport.Backoff(r.Retry.MinWait, r.Retry.MaxWait, failures, demanded, random)}
}
