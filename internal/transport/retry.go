package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
)

// backoff returns a random wait up to MinWait * 2^retries, at most MaxWait. If the
// service demands a wait it is no less than that, and random beyond it, so that
// clients which were refused together do not come back together.
func (r Retry) backoff(demanded time.Duration, retries int) time.Duration {
	longest := min(float64(r.MinWait)*math.Exp2(float64(retries)), float64(r.MaxWait))
	jitter := rand.N(max(time.Duration(longest), demanded/10, 1))
	return demanded + min(jitter, math.MaxInt64-demanded)
}

// policy decides whether another attempt follows.
type policy struct {
	budget *budget
	logger *slog.Logger
}

// shouldRetry decides whether another attempt of the call in ctx follows the last
// one, and how long to wait before it.
func (p *policy) shouldRetry(ctx context.Context) bool {
	call, _ := FromContext(ctx)
	if call.Stopped != nil {
		return false
	}
	if isDamaged(call.Err) {
		call.damaged++
	}
	persists := call.persists()
	if !call.isRetryable() && !(persists && isDamaged(call.Err)) {
		if call.Status != 0 && !IsTransient(call.Status) && !isDamaged(call.Err) {
			p.budget.earn(call.paid)
		}
		return false
	}
	if err := ctx.Err(); err != nil {
		if !errors.Is(call.Err, err) {
			call.Stopped = err
		}
		return false
	}
	if call.Patience != nil && call.isRefused() {
		call.refusals++
		call.retrying = call.RetryAfter <= maxHeeded // the gate waits, for as long as the patience lasts
		return call.retrying
	}
	retries := call.Attempts() - call.refusals - 1
	mayRetry := retries < call.Retry.Max && call.RetryAfter <= call.Retry.MaxWait
	if mayRetry && !call.isRefused() {
		if mayRetry = p.budget.spend(); mayRetry {
			call.paid++
		} else if !persists {
			call.Withheld = true
			p.warn(ctx, call, "horseracing: no retry: the retry budget is spent")
		}
	}
	switch {
	case mayRetry:
		call.wait = call.Retry.backoff(call.RetryAfter, retries)
	case persists:
		call.wait = call.Retry.backoff(call.Retry.MaxWait, 0)
	default:
		return false
	}
	p.warn(ctx, call, "horseracing: retry", slog.Duration("wait", call.wait))
	call.retrying = true
	return true
}

// persists reports whether a page that fails is requested again until the patience of
// its walk ends. Before the first accepted page, and in a Follower, which polls again,
// it fails like a single call.
func (c *Call) persists() bool {
	return c.Patience != nil && c.Rank == pace.Walk && c.Retry.Max > 0 && c.Patience.wasAccepted() && c.Patience.left() > 0
}

func (p *policy) warn(ctx context.Context, call *Call, message string, more ...slog.Attr) {
	p.logger.LogAttrs(ctx, slog.LevelWarn, message, append(call.attrs(), more...)...)
}

// isRetryable reports whether a retry can help, and is safe.
func (c *Call) isRetryable() bool {
	switch {
	case isDamaged(c.Err):
		return c.isRead() && c.damaged == 1
	case c.Status != 0:
		return IsTransient(c.Status) && (c.isRead() || c.Status == http.StatusTooManyRequests)
	}
	return !isPermanent(c.Err) && (c.isRead() || c.Unsent)
}

// isPermanent reports whether every attempt would fail with this error.
func isPermanent(err error) bool {
	_, tooLarge := errors.AsType[*TooLargeError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return tooLarge || untrusted || IsPlainServer(err) || errors.Is(err, errBrowser)
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
