package horseracing

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/redact"
)

// exchange is one call, from its first attempt to its error. It is the
// RoundTripper below go-retryablehttp, which sees nothing of a response but an
// empty body: a response is read and decoded within the attempt, so that a body
// that drips, is cut or is too large falls under the same rules as a connection.
type exchange struct {
	client  *Client
	op      operation
	out     any // what the response is decoded into; nil: nothing
	config  callConfig
	retry   Retry
	secrets redact.Keys

	attempts int
	response *rawResponse // of the last attempt; nil: none
	err      error        // of the last attempt
	unsent   bool         // the last attempt certainly sent nothing
	damaged  int          // attempts whose response was damaged
	waiting  bool         // for the next attempt
	wait     time.Duration
	begun    time.Time   // the call, where patience counts from it
	refusals int         // attempts that a walk does not count
	withheld bool        // the budget withheld a retry
	ticket   pace.Ticket // of the attempt

	loop  retryablehttp.Client
	inner http.Client // below the loop
}

// rawResponse is a response that was read, not decoded.
type rawResponse struct {
	status int
	header http.Header
	body   []byte
	cut    bool // of a failure: there was more
}

func (r *rawResponse) isSuccess() bool { return r.status >= 200 && r.status <= 299 }

// send sends the request until an attempt is final, and returns the error of the
// call. go-retryablehttp runs the loop; every decision is taken here: it logs
// nothing, sees no body and no Location, and has no idle connections to close.
func (x *exchange) send(req *retryablehttp.Request) error {
	if x.op.patience != nil {
		x.begun = time.Now()
	}
	x.inner.Transport, x.inner.Jar = x, x.client.jar
	x.loop.HTTPClient = &x.inner
	x.loop.RetryMax = math.MaxInt // shouldRetry counts
	x.loop.CheckRetry = func(ctx context.Context, _ *http.Response, _ error) (bool, error) { return x.shouldRetry(ctx), nil }
	x.loop.Backoff = func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return x.wait }
	x.loop.ErrorHandler = retryablehttp.PassthroughErrorHandler
	_, err := x.loop.Do(req)
	return x.markOutcome(x.verdict(err, req.Context().Err()))
}

// RoundTrip makes one attempt.
func (x *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	x.attempts++
	x.response, x.err, x.unsent, x.waiting = nil, nil, false, false
	var started time.Time
	if x.client.logger != nil {
		started = time.Now()
	}
	resp, err := x.attempt(req)
	if x.err = err; err == nil && x.response.isSuccess() {
		x.err = x.decode()
	}
	x.log(req.Context(), started)
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

// attempt sends the request once, and reads the response.
func (x *exchange) attempt(req *http.Request) (*http.Response, error) {
	c := x.client
	x.unsent = true
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	longest := x.retry.MaxWait
	if x.op.patience != nil {
		longest = maxHeeded
	}
	x.ticket = pace.NewTicket(x.op.rank(), x.op.method+" "+x.op.route)
	if err := c.gate.Enter(req.Context(), &x.ticket, longest); err != nil {
		return nil, err
	}
	defer func() {
		outcome, demanded := x.outcome()
		c.gate.Leave(&x.ticket, outcome, demanded)
	}()
	x.unsent = false
	ctx, cancel := context.WithTimeoutCause(req.Context(), c.timeout, errAttemptTimeout)
	defer cancel()
	sent := context.WithValue(ctx, callKey{}, x)
	var w *write // nil: a read
	if !x.op.isRead() {
		w = new(write)
		sent = w.context(sent)
	}
	out := req.WithContext(sent)
	out.Header = c.header()
	if x.op.noCache {
		out.Header.Set("Cache-Control", "no-cache")
	}
	maps.Copy(out.Header, req.Header) // the cookies
	clear(req.Header)                 // which net/http's Client adds anew to each attempt
	resp, err := c.send.RoundTrip(out)
	if err == nil && resp == nil {
		err = errors.New("the RoundTripper returned neither a response nor an error")
	}
	if err != nil {
		x.unsent = w != nil && w.isUnsent()
		return nil, orContext(ctx, err)
	}
	if resp.Body == nil { // not every RoundTripper sets one
		resp.Body = http.NoBody
	}
	defer resp.Body.Close()
	x.response, err = c.readResponse(resp)
	return resp, orContext(ctx, err)
}

// orContext adds to an error that the attempt ran out of time, or that the
// call's context ended, where that is the cause.
func orContext(ctx context.Context, err error) error {
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

// readResponse reads a response whole. Of a failure the status is what matters:
// the beginning of its body will do, even where the rest cannot be read.
func (c *Client) readResponse(resp *http.Response) (*rawResponse, error) {
	r := &rawResponse{status: resp.StatusCode, header: resp.Header}
	limit := c.maxBytes
	if !r.isSuccess() {
		limit = min(limit, maxFailureBody)
	} else if resp.ContentLength > limit {
		return nil, fmt.Errorf("%w: %d bytes, and the limit is %d (WithMaxResponseBytes)", ErrResponseTooLarge, resp.ContentLength, limit)
	}
	body, err := readUpTo(resp.Body, limit+1, resp.ContentLength)
	r.body = body[:min(int64(len(body)), limit)]
	tooLarge := int64(len(body)) > limit
	switch {
	case !r.isSuccess():
		r.cut = tooLarge || err != nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: %w", errTruncated, io.ErrUnexpectedEOF)
	case err != nil:
		return nil, err
	case tooLarge:
		return nil, fmt.Errorf("%w: more than %d bytes (WithMaxResponseBytes)", ErrResponseTooLarge, limit)
	}
	return r, nil
}

// readUpTo reads to the end, but no more than limit bytes. The announced length
// saves growing; it is no reason to take a lot of memory before the bytes come.
func readUpTo(r io.Reader, limit, announced int64) ([]byte, error) {
	body := make([]byte, 0, min(max(announced, 0), 1<<20)+1) // one more, to meet the end
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

// decode decodes the body of a successful response.
func (x *exchange) decode() error {
	body := x.response.body
	var err error
	if x.out != nil && (len(body) > 0 || x.op.isRead()) {
		err = x.op.decode(body, x.out)
	}
	if isDamaged(err) {
		x.damaged++
		if x.op.documented() {
			reflect.ValueOf(x.out).Elem().SetZero() // what the cut body held
		}
	}
	if err == nil && !mayDeclareError(body) {
		return nil
	}
	if words, declared := errorWords(x.response.body, false); declared || err != nil && words != "" {
		return x.apiError()
	}
	if errors.Is(err, ErrNotFound) {
		absent := x.client.notFound(x.op)
		absent.StatusCode, absent.Header, absent.Attempts = x.response.status, x.secrets.Header(x.response.header), x.attempts
		return absent
	}
	redactDecodeErrors(err, x.secrets)
	return err
}

// notFound returns the error of a successful response without the entry that was
// requested.
func (c *Client) notFound(op operation) *APIError {
	return &APIError{StatusCode: http.StatusOK, Method: op.method, Route: op.route, ID: c.secrets.Text(op.idText()), absent: true}
}

// shouldRetry decides whether another attempt follows the last one, and how long
// to wait before it.
func (x *exchange) shouldRetry(ctx context.Context) bool {
	policy := x.retry
	_, refused := x.response.refusal()
	if p := x.op.patience; p != nil && ctx.Err() == nil {
		if refused {
			x.refusals++
			x.wait = 0 // the gate waits
			p.refused(ctx, x)
			return p.lasts(x)
		}
		if x.response != nil && !isTransient(x.response.status) {
			p.accepted(ctx, x)
		}
	}
	retries := x.attempts - x.refusals - 1
	if ctx.Err() != nil || retries >= policy.Max || !x.isRetryable() {
		return false
	}
	x.wait = policy.backoff(retries)
	if x.response != nil {
		demanded := retryAfter(x.response.header)
		if demanded > policy.MaxWait {
			return false
		}
		if demanded > 0 {
			x.wait = policy.backoffAfter(demanded, retries)
		}
	}
	log := x.client.logger
	if !refused && !x.client.budget.spend() {
		x.withheld = true
		if log != nil {
			log.LogAttrs(ctx, slog.LevelWarn, "horseracing: no retry: the retry budget is spent", slog.String("operation", x.operation()),
				slog.Int("attempt", x.attempts))
		}
		return false
	}
	if log != nil {
		log.LogAttrs(ctx, slog.LevelWarn, "horseracing: retry", slog.String("operation", x.operation()),
			slog.Int("attempt", x.attempts), slog.Duration("wait", x.wait))
	}
	x.waiting = true
	return true
}

// isRetryable reports whether a retry can help, and is safe.
func (x *exchange) isRetryable() bool {
	switch {
	case x.response != nil && x.err != nil: // it cannot be decoded
		return x.op.isRead() && isDamaged(x.err) && x.damaged == 1
	case x.response != nil:
		return isTransient(x.response.status) && (x.op.isRead() || x.response.status == http.StatusTooManyRequests)
	}
	var limited *pace.LimiterError
	var held *pace.HeldError
	var untrusted *tls.CertificateVerificationError
	if errors.As(x.err, &limited) || errors.As(x.err, &held) || errors.As(x.err, &untrusted) || speaksNoTLS(x.err) || errors.Is(x.err, ErrResponseTooLarge) {
		return false
	}
	return x.op.isRead() || x.unsent
}

// isTransient reports whether a failure with that status may be over soon.
func isTransient(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// isDamaged reports whether a response with a successful status is an HTML page
// or cut short: the next one is likely to be whole.
func isDamaged(err error) bool {
	d, ok := errors.AsType[*DecodeError](err)
	return ok && (errors.Is(d.Err, errHTMLPage) || errors.Is(d.Err, io.ErrUnexpectedEOF))
}

// retryAfter reads a Retry-After header, in seconds or as a date; zero: there is
// none that can be read. A date is compared with the response's own Date, where
// it has one: this machine's clock may be wrong.
func retryAfter(header http.Header) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if text != "" && strings.Trim(text, "0123456789") == "" {
		const most = int64(math.MaxInt64 / time.Second)
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > most {
			seconds = most // too large for the type is too long for anyone
		}
		return time.Duration(seconds) * time.Second
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, until.Sub(now)) // Sub saturates
}

// verdict returns the error of the call after its last attempt. The loop's own
// error matters only where no attempt was made; ended is the context's error.
func (x *exchange) verdict(loop, ended error) error {
	r := x.response
	cause := x.err
	switch {
	case x.attempts == 0:
		cause = loop
	case x.waiting && r != nil && x.err == nil:
		cause = fmt.Errorf("%w while waiting to retry after status %d", ended, r.status)
	case x.waiting:
		cause = fmt.Errorf("%w while waiting to retry after: %w", ended, x.err)
	case r != nil && x.err == nil && ended != nil && x.isRetryable():
		cause = fmt.Errorf("%w after status %d", ended, r.status)
	case r == nil && ended != nil && x.isRetryable() && !errors.Is(x.err, ended):
		cause = fmt.Errorf("%w after: %w", ended, x.err)
	case r != nil && !r.isSuccess():
		if !isTransient(r.status) {
			x.client.budget.earn(x.attempts - 1)
		}
		return x.apiError()
	case r != nil:
		if !isDamaged(x.err) {
			x.client.budget.earn(x.attempts - 1)
		}
		return x.err
	}
	if held, ok := errors.AsType[*pace.HeldError](x.err); ok {
		return &APIError{
			StatusCode: http.StatusTooManyRequests, Method: x.op.method, Route: x.op.route, ID: x.id(),
			Message: "not sent, because an earlier request was refused", RetryAfter: held.For, Attempts: x.attempts,
		}
	}
	if x.withheld {
		cause = fmt.Errorf("%w; %s", cause, withheldAdvice)
	}
	return &TransportError{
		Method: x.op.method, Route: x.op.route, ID: x.id(), Attempts: x.attempts, Err: x.secrets.Error(cause),
		transient: ended == nil && x.isRetryable(),
	}
}

// apiError returns the error that the response is.
func (x *exchange) apiError() *APIError {
	r := x.response
	text := x.secrets.Beginning(string(r.body), maxErrorBody, r.cut)
	e := &APIError{
		StatusCode: r.status, Method: x.op.method, Route: x.op.route, ID: x.id(),
		Header: x.secrets.Header(r.header), Body: []byte(text),
		RetryAfter: retryAfter(r.header), Attempts: x.attempts, withheld: x.withheld,
	}
	words, _ := errorWords(r.body, true)
	switch {
	case isRedirect(r.status):
		e.Message = "to " + clip(x.secrets.Text(origin(x.client.base, r.header.Get("Location"))), 200)
	case words != "":
		e.Message = x.secrets.Beginning(redact.Visible(words), maxErrorBody, false)
	case looksLikeHTML(r.body), strings.HasPrefix(strings.TrimSpace(text), "<") && strings.HasPrefix(r.header.Get("Content-Type"), "text/html"):
		e.Message = "an HTML page"
		e.proxied = x.op.isRead() && x.op.body != nil &&
			(r.status == http.StatusBadRequest || r.status == http.StatusForbidden || r.status == http.StatusLengthRequired)
	default:
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		e.Message = clip(redact.Visible(line), 200)
	}
	return e
}

// origin returns the scheme and host that a Location names, and no more: its
// path and query may hold anything.
func origin(base *url.URL, location string) string {
	target, err := base.Parse(location)
	if err != nil || location == "" {
		return "an unreadable location"
	}
	return redact.Visible(target.Scheme + "://" + target.Host)
}

// markOutcome marks the error of a write whose outcome is unknown: every one
// except a refusal, and except what certainly was not sent.
func (x *exchange) markOutcome(err error) error {
	r := x.response
	refused := r != nil && r.status >= 400 && r.status <= 499 && r.status != http.StatusRequestTimeout
	unsent := x.attempts == 0 || r == nil && x.unsent
	if err == nil || x.op.isRead() || refused || unsent {
		return err
	}
	return &outcomeUnknown{err, x.op.hint}
}

// captured returns the last response as the caller may see it.
func (x *exchange) captured(err error) Response {
	c := Response{Attempts: x.attempts}
	if r := x.response; r != nil {
		c.StatusCode, c.Header, c.Body = r.status, x.secrets.Header(r.header), slices.Clone(r.body)
		if err != nil {
			c.Body = []byte(x.secrets.Beginning(string(r.body), math.MaxInt, r.cut))
		}
	}
	return c
}

// id returns the id that was requested, redacted.
func (x *exchange) id() string { return x.secrets.Text(x.op.idText()) }

// operation returns the operation with the id that was requested, redacted.
func (x *exchange) operation() string { return operationText(x.op.method, x.op.route, x.id()) }

// log logs an attempt.
func (x *exchange) log(ctx context.Context, started time.Time) {
	log := x.client.logger
	if log == nil || !log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{
		slog.String("operation", x.operation()), slog.Int("attempt", x.attempts), slog.Duration("duration", time.Since(started)),
	}
	if x.response != nil {
		attrs = append(attrs, slog.Int("status", x.response.status))
	}
	if x.err != nil {
		attrs = append(attrs, slog.String("error", errorText(x.secrets.Text(x.err.Error()))))
	}
	log.LogAttrs(ctx, slog.LevelDebug, "horseracing: attempt", attrs...)
}
