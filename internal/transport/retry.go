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
// each retry spends five tokens, a success after retries refunds them, and a success at
// once earns one. Random faults leave enough, and in an outage the load soon falls to one
// attempt a call.
type policy struct {
	logger *slog.Logger
	mu     sync.Mutex
	tokens int
}

const (
	budgetSize = 500
	retryCost  = 5
)

// spend reports whether a retry may be made, and pays for it.
func (p *policy) spend() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tokens < retryCost {
		return false
	}
	p.tokens -= retryCost
	return true
}

// earn credits a success after some retries.
func (p *policy) earn(retries int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tokens = min(p.tokens+max(1, retries*retryCost), budgetSize)
}

// outcome classifies an attempt: what can follow it.
type outcome int

const (
	conclusive outcome = iota // a response that another attempt would not change
	permanent                 // another attempt cannot help, or is not safe
	refused                   // because of the pace
	failed                    // another attempt may help
)

// shouldRetry decides whether another attempt follows the last one of the call in ctx,
// and how long to wait before it.
func (p *policy) shouldRetry(ctx context.Context) bool {
	r, _ := FromContext(ctx)
	if r.Stopped != nil {
		return false
	}
	outcome := r.classify()
	switch err := ctx.Err(); {
	case outcome == conclusive:
		p.earn(r.paid)
	case outcome == permanent:
	case err == nil:
		r.retrying = p.decide(ctx, r, outcome)
	case !errors.Is(r.Err, err):
		r.Stopped = err
	}
	return r.retrying
}

// classify returns the outcome of the last attempt.
func (r *Record) classify() outcome {
	switch {
	case r.Err != nil && !isPermanent(r.Err) && (r.isRead() || r.Unsent):
		return failed
	case r.Err != nil:
		return permanent
	case r.isRefused() && (r.isRead() || r.Status == http.StatusTooManyRequests):
		return refused
	case !IsTransient(r.Status):
		return conclusive
	case r.isRead():
		return failed
	}
	return permanent
}

// decide decides whether another attempt follows one that was refused or failed. The
// budget pays for those that follow a failure.
func (p *policy) decide(ctx context.Context, r *Record, outcome outcome) bool {
	if outcome == refused && r.Patient { // the scheduler waits
		r.refusals++
		return true
	}
	retries := r.Attempts() - r.refusals - 1
	if retries >= r.Retry.Max || r.RetryAfter > r.Retry.MaxWait {
		return false
	}
	if outcome == failed {
		if !p.spend() {
			p.logger.LogAttrs(ctx, slog.LevelWarn, "horseracing: no retry: the retry budget is spent", r.attrs()...)
			return false
		}
		r.paid++
	}
	r.wait = r.Retry.backoff(r.RetryAfter, retries)
	p.logger.LogAttrs(ctx, slog.LevelWarn, "horseracing: retry", append(r.attrs(), slog.Duration("wait", r.wait))...)
	return true
}

// isPermanent reports whether every attempt would fail with this error.
func isPermanent(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return untrusted || errors.Is(err, ErrTooLarge) || IsPlainServer(err)
}

// IsPlainServer reports whether the other side of a TLS handshake does not speak
// TLS.
func IsPlainServer(err error) bool {
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	return plain
}

// IsTransient reports whether a status is that of a transient failure.
func IsTransient(status int) bool {
	return status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
}
