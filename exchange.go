package horseracing

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/horseracing-go/horseracing/internal/redact"
)

// exchange is one call: its attempts, and what came of the last one. It is the
// RoundTripper below go-retryablehttp, which sees nothing of an answer but an
// empty body: the answer is read whole within the attempt, so that a body that
// drips, is cut or is too large falls under the same rules as a connection.
type exchange struct {
	client  *Client
	op      operation
	config  callConfig
	secrets redact.Keys

	attempts int
	answer   *answer // of the last attempt; nil: none
	err      error   // of the last attempt
	unsent   bool    // the last attempt certainly sent nothing
	wait     time.Duration

	loop  retryablehttp.Client
	inner http.Client // below the loop
}

// answer is an HTTP response that was read.
type answer struct {
	status int
	header http.Header
	body   []byte
	cut    bool // of a failure: there was more
}

// text returns the body in UTF-8, as far as its encoding is known.
func (a *answer) text() string { return redact.Decode(a.body, a.header.Get("Content-Type")) }

// send sends the request until an attempt is final. go-retryablehttp runs the
// loop; every decision is taken here: it logs nothing, sees no body and no
// Location, and has no idle connections to close.
func (x *exchange) send(req *retryablehttp.Request) error {
	x.inner = http.Client{Transport: x, Jar: x.client.jar}
	x.loop = retryablehttp.Client{
		HTTPClient:   &x.inner,
		RetryMax:     x.client.retry.Max,
		CheckRetry:   func(ctx context.Context, _ *http.Response, _ error) (bool, error) { return x.shouldRetry(ctx), nil },
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return x.wait },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	_, err := x.loop.Do(req)
	ended := req.Context().Err()
	switch {
	case x.answer != nil && err == nil && ended != nil && x.isRetryable():
		x.err = fmt.Errorf("%w after status %d", ended, x.answer.status)
	case x.answer != nil && err == nil:
		if !isTransient(x.answer.status) {
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
	return &TransportError{Method: x.op.method, Route: x.op.route, Attempts: x.attempts, Err: x.secrets.Error(x.err)}
}

// RoundTrip makes one attempt.
func (x *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	x.attempts++
	x.answer, x.err, x.unsent = nil, nil, false
	started := time.Now()
	resp, err := x.attempt(req)
	x.err = err
	x.log(req.Context(), started, err)
	if err != nil {
		return nil, err
	}
	resp.Body = http.NoBody
	if resp.Header.Get("Location") != "" {
		// The http.Client above would follow it, with the key.
		resp.Header = resp.Header.Clone()
		resp.Header.Del("Location")
	}
	return resp, nil
}

func (x *exchange) attempt(req *http.Request) (*http.Response, error) {
	c := x.client
	x.unsent = true
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	if c.limiter != nil {
		if err := c.limiter.Wait(req.Context()); err != nil {
			return nil, &limiterError{err}
		}
	}
	ctx, cancel := context.WithTimeoutCause(req.Context(), c.timeout, errAttemptTimeout)
	defer cancel()
	transport, unsent := c.reads, func() bool { return false }
	if !x.op.isRead() {
		transport = c.writes
		ctx, unsent = traced(ctx)
	}
	resp, err := transport.RoundTrip(req.WithContext(ctx))
	if err == nil && resp == nil {
		err = errors.New("the RoundTripper returned neither an answer nor an error")
	}
	if err != nil {
		x.unsent = unsent()
		return nil, timeoutOr(ctx, err)
	}
	x.unsent = false
	if resp.Body == nil { // not every RoundTripper gives one
		resp.Body = http.NoBody
	}
	defer resp.Body.Close()
	x.answer, err = c.readAnswer(resp)
	return resp, timeoutOr(ctx, err)
}

// traced returns a context to send a request with, and a function that tells
// afterwards whether it certainly was not sent, for want of a connection. A
// RoundTripper of the caller's own may trace nothing at all: so that a
// connection was asked for must have been seen as well.
func traced(ctx context.Context) (context.Context, func() bool) {
	var asked, got atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { got.Store(true) },
	})
	return ctx, func() bool { return asked.Load() && !got.Load() }
}

// timeoutOr tells an attempt that ran out of its own time from a call whose
// context ended, and both from the rest.
func timeoutOr(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(context.Cause(ctx), errAttemptTimeout) {
		return fmt.Errorf("%w: %w", errAttemptTimeout, context.DeadlineExceeded)
	}
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		return fmt.Errorf("%w: %w", ended, err)
	}
	return err
}

// readAnswer reads a body whole. Of a failure the status is what matters: the
// beginning of its body will do, even where the rest cannot be read.
func (c *Client) readAnswer(resp *http.Response) (*answer, error) {
	limit := c.maxBytes
	failed := resp.StatusCode < 200 || resp.StatusCode > 299
	if failed {
		limit = min(limit, maxFailureBody)
	} else if resp.ContentLength > limit {
		return nil, fmt.Errorf("%w: %d bytes, and the limit is %d (WithMaxResponseBytes)", ErrResponseTooLarge, resp.ContentLength, limit)
	}
	body, err := readUpTo(resp.Body, limit+1, resp.ContentLength)
	a := &answer{status: resp.StatusCode, header: resp.Header, body: body}
	tooLarge := int64(len(a.body)) > limit
	switch {
	case failed:
		a.body, a.cut = a.body[:min(int64(len(a.body)), limit)], tooLarge || err != nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: %w", errTruncated, io.ErrUnexpectedEOF)
	case err != nil:
		return nil, err
	case tooLarge:
		return nil, fmt.Errorf("%w: more than %d bytes (WithMaxResponseBytes)", ErrResponseTooLarge, limit)
	}
	return a, nil
}

// readUpTo reads to the end, but no more than limit bytes. What is promised
// saves growing; it is no reason to take a lot of memory before it comes.
func readUpTo(r io.Reader, limit, promised int64) ([]byte, error) {
	body := make([]byte, 0, min(max(promised, 0), 1<<20)+1) // one more, to meet the end
	for int64(len(body)) < limit {
		if len(body) == cap(body) {
			body = slices.Grow(body, max(bytes.MinRead, len(body)))
		}
		n, err := r.Read(body[len(body):min(int64(cap(body)), limit)])
		body = body[:len(body)+n]
		if err == io.EOF {
			return body, nil
		}
		if err != nil {
			return body, err
		}
	}
	return body, nil
}

// shouldRetry decides whether the last attempt is to be followed by another, and how
// long to wait before it.
func (x *exchange) shouldRetry(ctx context.Context) bool {
	policy := x.client.retry
	if ctx.Err() != nil || x.attempts > policy.Max || !x.isRetryable() {
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

// isRetryable reports whether sending again can help, and is safe.
func (x *exchange) isRetryable() bool {
	if x.answer != nil {
		return isTransient(x.answer.status) && (x.op.isRead() || x.answer.status == http.StatusTooManyRequests)
	}
	var limited *limiterError
	var untrusted *tls.CertificateVerificationError
	if errors.As(x.err, &limited) || errors.As(x.err, &untrusted) || speaksNoTLS(x.err) || errors.Is(x.err, ErrResponseTooLarge) {
		return false
	}
	return x.op.isRead() || x.unsent
}

// isTransient reports whether a failure of that status may be over soon.
func isTransient(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
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

// markOutcome marks the error of a write whose outcome stays open: of every one but
// a refusal and what certainly was not sent.
func (x *exchange) markOutcome(err error) error {
	refused := x.answer != nil && x.answer.status >= 400 && x.answer.status <= 499 && x.answer.status != http.StatusRequestTimeout
	unsent := x.attempts == 0 || x.answer == nil && x.unsent
	if x.op.isRead() || refused || unsent {
		return err
	}
	return &outcomeUnknown{err, x.op.hint}
}

// response returns the last answer as the caller may see it.
func (x *exchange) response(err error) Response {
	r := Response{Attempts: x.attempts}
	if a := x.answer; a != nil {
		r.StatusCode, r.Header, r.Body = a.status, x.secrets.Header(a.header), slices.Clone(a.body)
		if err != nil {
			r.Body = []byte(x.secrets.Beginning(a.text(), math.MaxInt, a.cut))
		}
	}
	return r
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
		attrs = append(attrs, slog.String("error", errorText(x.secrets.Text(err.Error()))))
	} else {
		attrs = append(attrs, slog.Int("status", x.answer.status))
	}
	log.LogAttrs(ctx, slog.LevelDebug, "horseracing: attempt", attrs...)
}
