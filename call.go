package horseracing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/redact"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// backend is what calls need of their client.
type backend struct {
	base        *url.URL
	secrets     redact.Keys
	header      func(http.Header) // sets the headers of every request
	jar         http.CookieJar    // may be nil
	send        http.RoundTripper // what an attempt is sent through
	pace        *pace.Scheduler   // decides when a request may be sent
	retry       Retry             // all fields are set
	pageRetries int               // Retry.Max for the pages of a listing
	budget      transport.Budget
	logger      *slog.Logger
	warned      atomic.Int64 // when a long wait was logged, unless a request was accepted since
	how         json.Options // of decoding
	drifts      drifts
	onSkip      func(context.Context, error) // of WithSkipHandler; may be nil
}

// decoder reads a successful response. It is called again if another attempt has followed.
type decoder interface {
	decode(*response) error
}

// do makes one call: it sends the request of an operation until an attempt is final, and returns
// nil if into has read the response. If into is nil, any successful response will do.
func (b *backend) do(ctx context.Context, op operation, into decoder, opts []CallOption) error {
	if b == nil {
		return errNotMade
	}
	x := exchange{backend: b, ctx: ctx, config: callConfig{retry: b.retry, clientRetry: b.retry}, into: into}
	for _, opt := range opts {
		if opt != nil {
			opt(&x.config)
		}
	}
	x.last.request = &x.request
	err := x.request.init(ctx, b, op, &x.config)
	if err == nil {
		stopped := x.run()
		err = conclude(&x.last, stopped)
	}
	if x.config.capture != nil {
		*x.config.capture = x.last.captured()
	}
	return err
}

// attempt is what one attempt found: a complete response, or an error.
type attempt struct {
	number int // counts from 1; zero if no request was sent
	status int // zero if there is no complete response
	header http.Header
	body   []byte
	isCut  bool  // the body of an error status was longer
	err    error // why there is no response, or why a successful one cannot be used
}

// response is an attempt with the request that it sent. Decoders and errors are made from it.
type response struct {
	*request
	attempt
}

// exchange sends the request of one call until an attempt is final. One goroutine uses it. The
// http.Client calls its RoundTrip for each attempt. The retry loop of go-retryablehttp calls check
// after an attempt, to decide whether another one follows, and backoff and prepare before that.
type exchange struct {
	// Fixed for the call:
	*backend
	request
	config callConfig
	ctx    context.Context
	into   decoder // may be nil
	http   http.Client
	loop   retryablehttp.Client

	// What the loop counts:
	waiter   pace.Waiter       // for how long the call has waited for its turns
	last     response          // of the last attempt that was sent
	meaning  transport.Meaning // of that attempt
	failures int               // attempts that failed and were retried; refusals do not count
	paid     int               // tokens of the budget that these retries cost
}

// run makes the attempts. If another one should have followed the last one, it returns why that was
// not sent: the error of the context or of OnSend, a *pace.LimiterError or a *pace.ExpiredError.
func (x *exchange) run() (stopped error) {
	x.waiter = pace.NewWaiter(x.priority, cmp.Or(x.op.paceRoute, x.op.route))
	x.waiter.Patient, x.waiter.MaxWait = x.op.isPatient, x.config.retry.MaxWait
	x.http = http.Client{Transport: x, Jar: x.jar, CheckRedirect: refuseRedirect}
	x.loop = retryablehttp.Client{
		HTTPClient: &x.http, RetryMax: x.config.retry.Max, RetryWaitMin: x.config.retry.MinWait, RetryWaitMax: x.config.retry.MaxWait,
		CheckRetry: x.check, Backoff: x.backoff, PrepareRetry: x.prepare, ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	if x.op.isPatient && x.config.retry.Max > 0 {
		x.loop.RetryMax = math.MaxInt // refusals of a page do not count, and check counts the failures
	}
	plain := http.Request{Method: x.op.method, URL: &x.url, Host: x.url.Host, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	req := retryablehttp.Request{Request: plain.WithContext(context.WithValue(x.ctx, infoKey{}, &x.info))}
	if x.payload != nil {
		_ = req.SetBody(x.payload) // fails only for other types
	}
	_, err := x.loop.Do(&req)
	if notSent, ok := errors.AsType[*notSentError](err); ok {
		return notSent.cause
	}
	if _, isOfAttempt := errors.AsType[*url.Error](err); err != nil && !isOfAttempt {
		return err // the context ended during a backoff
	}
	if x.meaning == transport.Conclusive {
		x.budget.Add(max(1, x.paid))
	}
	return nil
}

// notSentError is the error of an attempt that was not sent.
type notSentError struct{ cause error }

func (e *notSentError) Error() string { return e.cause.Error() }

// RoundTrip makes one attempt: it waits for its turn, sends the request, and reports to the pace
// how that went.
func (x *exchange) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	if err := x.pace.Enter(x.ctx, &x.waiter, x.late); err != nil {
		return nil, &notSentError{err}
	}
	defer func() { // also if the caller's code ends the goroutine
		outcome, hold := transport.Report(x.op.method, resp, err)
		x.pace.Leave(&x.waiter, outcome, hold)
		if outcome == pace.Accepted && x.warned.Swap(0) != 0 {
			x.log(slog.LevelInfo, "the service accepts requests again")
		}
	}()
	if x.last.number == 0 && len(x.config.onSend) > 0 {
		for _, onSend := range append(x.config.onSend, x.ctx.Err) { // the context may end while they run
			if err := onSend(); err != nil {
				return nil, &notSentError{err}
			}
		}
	}
	x.header(req.Header) // that of this attempt, with the cookies that the http.Client has added
	if x.op.noCache {
		req.Header.Set("Cache-Control", "no-cache")
	}
	began := time.Now()
	resp, err = x.send.RoundTrip(req)
	x.last.attempt = newAttempt(x.last.number+1, resp, err)
	x.log(slog.LevelDebug, "attempt", slog.Duration("duration", time.Since(began)))
	return resp, err
}

// newAttempt returns what an attempt found that had that response, of [transport.Whole], or that
// error.
func newAttempt(number int, resp *http.Response, err error) attempt {
	if err != nil {
		return attempt{number: number, err: err}
	}
	if resp.Header["Location"] != nil {
		if _, err := resp.Location(); err != nil { // the http.Client would hide the response
			resp.Header.Del("Location")
		}
	}
	body := resp.Body.(*transport.Body)
	return attempt{number, resp.StatusCode, resp.Header, body.Bytes, body.Cut, body.Err}
}

// check is the retryablehttp.CheckRetry: it decides whether another attempt follows. A successful
// response is decoded first.
func (x *exchange) check(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if _, ok := errors.AsType[*notSentError](err); ok {
		return false, nil
	}
	if x.last.status/100 == 2 {
		x.last.err = x.last.verify(x.into)
	}
	meaning, mayRepeat := transport.Classify(x.op.method, resp, x.last.err)
	x.meaning = meaning
	switch ended := ctx.Err(); {
	case !mayRepeat, ended != nil && errors.Is(err, ended):
		return false, nil
	case ended != nil:
		return false, &notSentError{ended}
	case meaning == transport.Refused: // the pace makes the next attempt wait, or ends the call
		return true, nil
	case x.failures >= x.config.retry.Max, !x.op.isPatient && transport.RetryAfter(x.last.header) > x.config.retry.MaxWait:
		return false, nil
	case x.budget.Add(0) < x.op.retryCost():
		x.log(slog.LevelWarn, "no retry: the retry budget is spent")
		return false, nil
	}
	return true, nil
}

// verify decodes a successful response. It returns why the response cannot be used, if so.
func (r *response) verify(into decoder) (err error) {
	switch {
	case r.err != nil: // the encoding of the body
		return r.decodeError(&readError{err: r.err})
	case r.op.id != nil && (r.status == http.StatusNoContent || isNothing(r.body)):
		return r.notFound()
	case into != nil:
		err = into.decode(r)
	}
	if err != nil && transport.IsHTML(r.body) {
		err = r.decodeError(&readError{err: transport.ErrHTML})
	}
	if err == nil && r.op.method == http.MethodGet && !bytes.Contains(r.body, []byte(`"error`)) { // most have none, and are long
		return nil
	}
	if words, declared := errorWords(r.body); declared || err != nil && words != "" {
		return r.apiError()
	}
	return err
}

// backoff is the retryablehttp.Backoff: it pays for the retry that follows, and returns how long
// to wait before it. After a refusal it does not wait, because the pace makes all requests of the
// route wait.
func (x *exchange) backoff(least, most time.Duration, _ int, resp *http.Response) (wait time.Duration) {
	isRefusal := x.meaning == transport.Refused
	if !isRefusal {
		wait = transport.Backoff(least, most, x.failures, resp)
		x.failures++
		x.paid += x.op.retryCost()
		x.budget.Add(-x.op.retryCost())
	}
	if !isRefusal || !x.op.isPatient {
		x.log(slog.LevelWarn, "retry", slog.Duration("wait", wait))
	}
	return wait
}

// prepare is the retryablehttp.PrepareRetry: it makes the request that of the next attempt, with
// its number and without the headers that the one before had.
func (x *exchange) prepare(req *http.Request) error {
	info := x.info
	info.Attempt += x.last.number
	*req = *req.WithContext(context.WithValue(x.ctx, infoKey{}, &info))
	req.Header = http.Header{}
	return nil
}

// conclude returns the error of a call, given its last attempt and, if another one should have
// followed, why it was not sent. It returns nil if the attempt found a response that can be used.
func conclude(r *response, stopped error) (err error) {
	expired, isExpired := errors.AsType[*pace.ExpiredError](stopped)
	isSuccess := r.status/100 == 2
	switch {
	case isExpired && r.number == 0:
		err = r.expiredError(expired)
	case isExpired && r.status != 0 && !isSuccess:
		refusal := r.apiError()
		refusal.RetryAfter = max(refusal.RetryAfter, expired.For)
		err = refusal
	case stopped != nil || r.status == 0:
		err = r.transportError(stopped)
	case !isSuccess:
		err = r.apiError()
	default:
		err = r.err
	}
	if err != nil && transport.MayHaveTakenEffect(r.op.method, r.number, r.status, r.err) {
		err = &outcomeUnknown{err: err, hint: r.op.hint}
	}
	return err
}

// late logs a long wait, at most once a minute for all requests that wait.
func (x *exchange) late() {
	now, last := time.Now().UnixNano(), x.warned.Load()
	if now-last >= int64(time.Minute) && x.warned.CompareAndSwap(last, now) {
		x.log(slog.LevelWarn, "waiting until the service accepts requests")
	}
}

// log logs what the last attempt found, without keys.
func (x *exchange) log(level slog.Level, message string, more ...slog.Attr) {
	if !x.logger.Enabled(x.ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("operation", x.op.String()), slog.String("id", x.info.ID), slog.Int("attempt", x.last.number)}
	if x.last.status != 0 {
		attrs = append(attrs, slog.Int("status", x.last.status))
	}
	if x.last.err != nil {
		attrs = append(attrs, slog.String("error", errorText(x.keys.Text(x.last.err.Error()))))
	}
	x.logger.LogAttrs(x.ctx, level, "horseracing: "+message, append(attrs, more...)...)
}

// infoKey is the key of a request's context for the *CallInfo.
type infoKey struct{}

// refuseRedirect has the http.Client return a redirect as the response. To follow it
// would send the API key to another host, and drop the body.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
