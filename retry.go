package horseracing

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// Retry says how reads are retried: after connection failures and the statuses
// 408, 429, 500, 502, 503 and 504, with full jitter between attempts.
//
// A Retry-After is honoured up to MaxWait; where the service asks for longer,
// the call returns at once with [APIError].RetryAfter set. Whatever is set
// here, a client-wide budget keeps retries from multiplying the load of an
// outage, and the context ends a wait at once. Not tried again is what asking
// again cannot mend: an answer that is too large or cannot be read, a server
// without TLS or with a certificate that is not trusted, an error of the Limiter.
type Retry struct {
	Max     int           // retries after the first attempt; zero: none
	MinWait time.Duration // the first wait is random up to this, the next up to twice this, and so on; zero: 200 ms
	MaxWait time.Duration // no wait is longer; zero: 15 s, or MinWait where that is longer
}

func (r Retry) withDefaults() Retry {
	if r.MaxWait == 0 {
		r.MaxWait = max(15*time.Second, r.MinWait)
	}
	if r.MinWait == 0 {
		r.MinWait = min(200*time.Millisecond, r.MaxWait)
	}
	return r
}

// wait returns a random time up to MinWait * 2^retries, at most MaxWait.
func (r Retry) wait(retries int) time.Duration {
	ceiling := r.MaxWait
	if retries < 62 && r.MinWait <= r.MaxWait>>retries {
		ceiling = r.MinWait << retries
	}
	return rand.N(max(ceiling, 1))
}

// retryAfter reads a Retry-After header, in seconds or as a date; zero where
// there is none that can be read.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if text != "" && strings.Trim(text, "0123456789") == "" {
		const most = int64(math.MaxInt64 / time.Second)
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > most {
			seconds = most // too large for the type is too long for anyone
		}
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(0, date.Sub(now)) // Sub saturates
	}
	return 0
}

// retryBudget is a bucket of tokens that all calls of a client share. A retry
// costs some, one that succeeds gives them back, and a success at once earns
// one: faults at random leave enough, and in an outage the load soon falls to
// one attempt a call.
type retryBudget struct {
	mu     sync.Mutex
	tokens int
}

const (
	budgetSize = 500
	retryCost  = 5
)

func newRetryBudget() *retryBudget { return &retryBudget{tokens: budgetSize} }

func (b *retryBudget) spend() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens < retryCost {
		return false
	}
	b.tokens -= retryCost
	return true
}

// earn takes note of a success, after that many attempts.
func (b *retryBudget) earn(attempts int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	earned := 1
	if attempts > 1 {
		earned = retryCost
	}
	b.tokens = min(b.tokens+earned, budgetSize)
}

// do sends the request until an attempt is final. go-retryablehttp runs the
// loop; every decision is taken here: it logs nothing, sees no body and no
// Location, and has no idle connections to close.
func (x *exchange) do(req *retryablehttp.Request) error {
	x.inner = http.Client{Transport: x, Jar: x.client.jar}
	x.loop = retryablehttp.Client{
		HTTPClient:   &x.inner,
		RetryMax:     x.client.retry.Max,
		CheckRetry:   func(ctx context.Context, _ *http.Response, _ error) (bool, error) { return x.again(ctx), nil },
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return x.wait },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	_, err := x.loop.Do(req)
	ended := req.Context().Err()
	switch {
	case x.answer != nil && err == nil && ended != nil && x.repeatable():
		x.err = fmt.Errorf("%w after status %d", ended, x.answer.status)
	case x.answer != nil && err == nil:
		if !mayPass(x.answer.status) {
			x.client.budget.earn(x.attempts)
		}
		return nil
	case x.answer != nil:
		x.err = fmt.Errorf("%w while waiting to try again after status %d", err, x.answer.status)
	case x.err == nil: // refused before it came to an attempt
		x.err = err
	case ended != nil && !errors.Is(x.err, ended):
		x.err = fmt.Errorf("%w while waiting to try again after: %w", ended, x.err)
	}
	return &TransportError{Method: x.op.method, Route: x.op.route, Attempts: x.attempts, Err: x.secrets.scrubError(x.err)}
}

// again decides whether the last attempt is to be followed by another, and how
// long to wait before it.
func (x *exchange) again(ctx context.Context) bool {
	policy := x.client.retry
	if ctx.Err() != nil || x.attempts > policy.Max || !x.repeatable() {
		return false
	}
	x.wait = policy.wait(x.attempts - 1)
	if x.answer != nil {
		asked := retryAfter(x.answer.header, time.Now())
		if asked > policy.MaxWait {
			return false
		}
		x.wait = max(x.wait, asked)
	}
	if !x.client.budget.spend() {
		return false
	}
	if log := x.client.logger; log != nil {
		log.LogAttrs(ctx, slog.LevelWarn, "horseracing: trying again", slog.String("operation", x.op.String()),
			slog.Int("attempt", x.attempts), slog.Duration("wait", x.wait))
	}
	return true
}

// repeatable reports whether sending again can help, and is safe.
func (x *exchange) repeatable() bool {
	if x.answer != nil {
		return mayPass(x.answer.status) && (x.op.isRead() || x.answer.status == http.StatusTooManyRequests)
	}
	var limited *limiterError
	var untrusted *tls.CertificateVerificationError
	if errors.As(x.err, &limited) || errors.As(x.err, &untrusted) || speaksNoTLS(x.err) || errors.Is(x.err, ErrResponseTooLarge) {
		return false
	}
	return x.op.isRead() || x.unsent
}

// mayPass reports whether a failure of that status may be over soon.
func mayPass(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// judge marks the error of a write whose outcome stays open: of every one but
// a refusal and what certainly was not sent.
func (x *exchange) judge(err error) error {
	refused := x.answer != nil && x.answer.status >= 400 && x.answer.status <= 499 && x.answer.status != http.StatusRequestTimeout
	unsent := x.attempts == 0 || x.answer == nil && x.unsent
	if x.op.isRead() || refused || unsent {
		return err
	}
	return &outcomeUnknown{err, x.op.hint}
}

// limiterError is an error of the Limiter, which no retry helps against.
type limiterError struct{ err error }

func (e *limiterError) Error() string { return "waiting for the limiter: " + e.err.Error() }
func (e *limiterError) Unwrap() error { return e.err }

// log reports an attempt.
func (x *exchange) log(ctx context.Context, started time.Time, err error) {
	log := x.client.logger
	if log == nil || !log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{
		slog.String("operation", x.op.String()), slog.Int("attempt", x.attempts), slog.Duration("duration", time.Since(started)),
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", x.secrets.scrub(err.Error())))
	} else {
		attrs = append(attrs, slog.Int("status", x.answer.status))
	}
	log.LogAttrs(ctx, slog.LevelDebug, "horseracing: attempt", attrs...)
}
