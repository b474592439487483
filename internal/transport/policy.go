package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"

	"github.com/horseracing-go/horseracing/internal/pace"
)

// policy decides whether another attempt follows.
type policy struct {
	budget *budget
	logger *slog.Logger
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
		p.budget.earn(r.tally.paid)
		return false
	case outcome == permanent:
		return false
	case err != nil:
		if !errors.Is(r.Err, err) {
			r.Stopped = err
		}
		return false
	}
	r.retrying = p.decide(ctx, r, outcome)
	return r.retrying
}

// classify returns the outcome of the last attempt.
func (r *Record) classify() outcome {
	switch {
	case isDamaged(r.Err):
		if r.tally.damaged++; r.isRead() && (r.tally.damaged == 1 || r.persists()) {
			return failed
		}
	case r.isRefused() && (r.isRead() || r.Status == http.StatusTooManyRequests):
		return refused
	case r.Status != 0 && !IsTransient(r.Status):
		return conclusive
	case r.Status != 0 && r.isRead():
		return failed
	case r.Status == 0 && !isPermanent(r.Err) && (r.isRead() || r.Unsent):
		return failed
	}
	return permanent
}

// decide decides whether another attempt follows one that was refused or failed. The
// budget pays for those that follow a failure.
func (p *policy) decide(ctx context.Context, r *Record, outcome outcome) bool {
	if outcome == refused && r.Patience != nil { // the scheduler waits, for as long as the patience lasts
		r.tally.refusals++
		return r.RetryAfter <= maxHeeded
	}
	retries := r.Attempts() - r.tally.refusals - 1
	allowed := retries < r.Retry.Max && r.RetryAfter <= r.Retry.MaxWait
	switch {
	case allowed && outcome == refused:
		r.wait = r.Retry.backoff(r.RetryAfter, retries)
	case allowed && p.budget.spend():
		r.tally.paid++
		r.wait = r.Retry.backoff(r.RetryAfter, retries)
	case r.persists():
		r.wait = r.Retry.backoff(r.Retry.MaxWait, 0)
	default:
		if allowed {
			r.Withheld = true
			p.warn(ctx, r, "horseracing: no retry: the retry budget is spent")
		}
		return false
	}
	p.warn(ctx, r, "horseracing: retry", slog.Duration("wait", r.wait))
	return true
}

// persists reports whether a page that fails is requested again until the patience of
// its walk ends. Before the first accepted page, and in a Follower, which polls again,
// it fails like a single call.
func (r *Record) persists() bool {
	return r.Patience != nil && r.Priority == pace.Walk && r.Retry.Max > 0 && r.Patience.wasAccepted() && r.Patience.left() > 0
}

func (p *policy) warn(ctx context.Context, r *Record, message string, more ...slog.Attr) {
	p.logger.LogAttrs(ctx, slog.LevelWarn, message, append(r.attrs(), more...)...)
}

// isPermanent reports whether every attempt would fail with this error.
func isPermanent(err error) bool {
	_, tooLarge := errors.AsType[*TooLargeError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return tooLarge || untrusted || IsPlainServer(err)
}

// isDamaged reports whether the error is that of a response that is an HTML page
// or cut short.
func isDamaged(err error) bool { return errors.Is(err, ErrCut) || errors.Is(err, ErrHTML) }

// IsPlainServer reports whether the other side of a TLS handshake does not speak
// TLS.
func IsPlainServer(err error) bool {
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	return plain
}

// IsTransient reports whether a status is that of a transient failure.
func IsTransient(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}
