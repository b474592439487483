package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// Retry is how a call is retried. All fields are set.
type Retry struct {
	Max              int
	MinWait, MaxWait time.Duration
}

// backoff returns a random wait up to MinWait * 2^retries, at most MaxWait. If the
// service demands a wait it is no less than that, and random beyond it, so that
// clients which were refused together do not come back together.
func (r Retry) backoff(demanded time.Duration, retries int) time.Duration {
	longest := min(float64(r.MinWait)*math.Exp2(float64(retries)), float64(r.MaxWait))
	jitter := rand.N(max(time.Duration(longest), demanded/10, 1))
	return demanded + min(jitter, math.MaxInt64-demanded)
}

// policy decides whether another attempt follows. All calls of a client share its budget:
// each retry spends five tokens, and one if it is of a page of a walk, of which many may be
// in flight. A conclusive response after retries refunds them, and one at once earns one
// token. Random faults leave enough, and in an outage the load soon falls to one attempt a
// call.
type policy struct {
	logger *slog.Logger
	mu     sync.Mutex
	tokens int
}

const (
	budgetSize = 500
	retryCost  = 5
	pageCost   = 1
)

// spend reports whether a retry may be made, and pays for it.
func (p *policy) spend(cost int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tokens < cost {
		return false
	}
	p.tokens -= cost
	return true
}

// earn credits a conclusive response after retries that cost so many tokens.
func (p *policy) earn(paid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tokens = min(p.tokens+max(1, paid), budgetSize)
}

// shouldRetry decides whether another attempt follows the last one of the call in ctx,
// and how long to wait before it.
func (p *policy) shouldRetry(ctx context.Context) bool {
	r, _ := FromContext(ctx)
	if r.Stopped != nil {
		return false
	}
	switch meaning, err := r.meaning(), ctx.Err(); {
	case meaning == conclusive:
		p.earn(r.paid)
	case !r.mayRepeat(meaning):
	case err == nil:
		r.retrying = p.decide(ctx, r, meaning)
	case !errors.Is(r.Err, err):
		r.Stopped = err
	}
	return r.retrying
}

// mayRepeat reports whether the request may be sent again after its last attempt. A write
// may be only if the attempt had no effect.
func (r *Record) mayRepeat(meaning meaning) bool {
	switch meaning {
	case refused:
		return r.isRead() || r.Status == http.StatusTooManyRequests
	case transient:
		return r.isRead() || r.Unsent
	}
	return false
}

// decide decides whether another attempt follows one that was refused or failed. After a
// refusal the scheduler waits, or ends the call. The budget pays for retries after a failure.
func (p *policy) decide(ctx context.Context, r *Record, meaning meaning) bool {
	if meaning == refused && r.Patient {
		r.refusals++
		return true
	}
	retries := r.Attempts() - r.refusals - 1
	if retries >= r.Retry.Max {
		return false
	}
	if meaning == transient {
		if r.RetryAfter > r.Retry.MaxWait && !r.Patient {
			return false
		}
		cost := retryCost
		if r.Patient {
			cost = pageCost
		}
		if !p.spend(cost) {
			p.logger.LogAttrs(ctx, slog.LevelWarn, "horseracing: no retry: the retry budget is spent", r.attrs()...)
			return false
		}
		r.paid += cost
		r.wait = r.Retry.backoff(min(r.RetryAfter, r.Retry.MaxWait), retries)
	}
	p.logger.LogAttrs(ctx, slog.LevelWarn, "horseracing: retry", append(r.attrs(), slog.Duration("wait", r.wait))...)
	return true
}

// isPermanent reports whether every attempt would fail with this error.
func isPermanent(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return untrusted || errors.Is(err, ErrTooLarge) || errors.Is(err, ErrEncoding) || IsPlainServer(err)
}

// IsPlainServer reports whether the other side of a TLS handshake does not speak
// TLS.
func IsPlainServer(err error) bool {
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	return plain
}
