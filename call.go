package horseracing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
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
	decoding    json.Options // of responses
	drifts      drifts
	onSkip      func(context.Context, error) // of WithSkipHandler; may be nil

	longWaitLogged atomic.Int64 // when a long wait was logged, unless a request was accepted since
}

// decoder reads a successful response. If that cannot be used and another attempt follows, it reads
// the response of that one, and forgets the first.
type decoder interface {
	decode(*response) error
}

// do makes one call: it sends the request of an operation until an attempt is final, and returns
// nil if into has read the response. If into is nil, any successful response will do.
func (b *backend) do(ctx context.Context, op operation, into decoder, opts []CallOption) (err error) {
	if b == nil {
		return errNotMade
	}
	x := exchange{backend: b, ctx: ctx, into: into, config: callConfig{retry: b.retry}}
	for _, opt := range opts {
		if opt != nil {
			opt(&x.config)
		}
	}
	if x.request, err = newRequest(ctx, b, &op, &x.config); err == nil {
		x.last.request = &x.request
		x.run()
		err = conclude(&x.last, x.stopped)
	}
	if x.config.capture != nil {
		*x.config.capture = x.last.captured()
	}
	return err
}

// attempt is what one attempt found: a complete response, or an error.
type attempt struct {
	number int // counts from 1, or zero if no request was sent
	status int // zero if there is no complete response
	header http.Header
	body   []byte
	isCut  bool  // the body of an error status was longer
	err    error // why there is no response, or why a successful one cannot be used
	ended  time.Time
}

// response is an attempt with the request that it sent. Decoders and errors are made from it.
type response struct {
	*request
	attempt
}

// exchange sends the request of one call until an attempt is final. One goroutine uses it. The
// retry loop of go-retryablehttp sends each attempt with an http.Client, whose transport is
// RoundTrip. After it the loop calls check, to decide whether another attempt follows, and if so
// backoff and prepare.
type exchange struct {
	// Fixed for the call:
	backend *backend
	request request
	config  callConfig
	ctx     context.Context
	into    decoder // may be nil
	client  http.Client
	loop    retryablehttp.Client

	// Changes with each attempt:
	waiter   pace.Waiter       // for how long the call has waited for its turns
	last     response          // of the last attempt that was sent
	meaning  transport.Meaning // of that attempt, or zero before it
	failures int               // attempts that failed and were retried; refusals do not count
	spent    int               // tokens of the budget that these retries cost
	stopped  error             // why no attempt follows the last one although one should have
}

// run makes the attempts. If another one should have followed the last one, it sets stopped: to the
// error of the context or of OnSend, to a *pace.LimiterError or to a *pace.ExpiredError.
func (x *exchange) run() {
	op, retry := &x.request.op, x.config.retry
	x.waiter.Kind = pace.Kind{Route: cmp.Or(op.paceRoute, op.route), Priority: x.request.priority, Patient: op.isPage, MaxWait: retry.MaxWait}
	x.client = http.Client{Transport: x, Jar: x.backend.jar, CheckRedirect: refuseRedirect}
	x.loop = retryablehttp.Client{
		HTTPClient: &x.client, RetryMax: retry.Max, RetryWaitMin: retry.MinWait, RetryWaitMax: retry.MaxWait,
		CheckRetry: x.check, Backoff: x.backoff, PrepareRetry: x.prepare, ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	if op.isPage && retry.Max > 0 {
		x.loop.RetryMax = math.MaxInt // refusals of a page do not count, and check counts the failures
	}
	r := &x.request
	plain := http.Request{Method: op.method, URL: &r.url, Host: r.url.Host, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	first := retryablehttp.Request{Request: plain.WithContext(context.WithValue(x.ctx, infoKey{}, &r.info))}
	if r.payload != nil {
		_ = first.SetBody(r.payload) // fails only for other types
	}
	if _, err := x.loop.Do(&first); err != nil && err == x.ctx.Err() { //nolint:errorlint // that of an attempt is wrapped
		x.stopped = err // during a backoff
	}
	if x.meaning == transport.Conclusive {
		x.backend.budget.Add(max(1, x.spent))
	}
}

// RoundTrip makes one attempt: it waits for its turn, sends the request, and reports to the pace
// how that went. If the request is not sent, it sets stopped.
func (x *exchange) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	if x.stopped = x.backend.pace.Enter(x.ctx, &x.waiter, x.logLongWait); x.stopped != nil {
		return nil, x.stopped
	}
	defer func() { // also if the caller's code ends the goroutine
		outcome, hold := transport.Report(x.request.op.method, resp, err)
		x.backend.pace.Report(&x.waiter, outcome, hold)
		if outcome == pace.Accepted && x.backend.longWaitLogged.Swap(0) != 0 {
			x.log(slog.LevelInfo, "the service accepts requests again")
		}
	}()
	before := x.last
	if before.number == 0 && len(x.config.onSend) > 0 {
		for _, onSend := range append(x.config.onSend, x.ctx.Err) { // the context may end while they run
			if x.stopped = onSend(); x.stopped != nil {
				return nil, x.stopped
			}
		}
	}
	if before.number > 0 && !(x.request.op.isPage && x.meaning == transport.Refused) {
		x.log(slog.LevelWarn, "retry", slog.Duration("wait", time.Since(before.ended)))
	}
	x.backend.header(req.Header) // that of this attempt, with the cookies that the http.Client has added
	if x.request.op.noCache {
		req.Header.Set("Cache-Control", "no-cache")
	}
	began := time.Now()
	resp, err = x.backend.send.RoundTrip(req)
	x.last.attempt = newAttempt(before.number+1, resp, err)
	switch isStopped := err != nil && x.ctx.Err() != nil && before.status > 299; {
	case isStopped && transport.MayHaveTakenEffect(x.request.op.method, 0, err): // errors.As is not to find the earlier refusal
		x.last.err = fmt.Errorf("%w after status %d", err, before.status)
	case isStopped:
		x.last.err = &stoppedAfter{err, before.apiError()}
	}
	x.log(slog.LevelDebug, "attempt", slog.Duration("duration", x.last.ended.Sub(began)))
	return resp, err
}

// newAttempt returns what an attempt found that had that response, of [transport.Whole], or that
// error.
func newAttempt(number int, resp *http.Response, err error) attempt {
	if err != nil {
		return attempt{number: number, err: err, ended: time.Now()}
	}
	if resp.Header["Location"] != nil {
		if _, err := resp.Location(); err != nil { // the http.Client would hide the response
			resp.Header.Del("Location")
		}
	}
	body := resp.Body.(*transport.Body)
	return attempt{number, resp.StatusCode, resp.Header, body.Bytes, body.Cut, body.Err, time.Now()}
}

// check is the retryablehttp.CheckRetry: it decides whether another attempt follows. A successful
// response is decoded first, since one that is damaged is retried.
func (x *exchange) check(ctx context.Context, resp *http.Response, _ error) (bool, error) {
	if x.stopped != nil {
		return false, nil //nolint:nilerr // conclude makes the error of it
	}
	if x.last.status/100 == 2 {
		x.last.err = x.last.verify(x.into)
	}
	op, retry := &x.request.op, x.config.retry
	meaning, mayRepeat := transport.Classify(op.method, resp, x.last.err)
	x.meaning = meaning
	switch ended := ctx.Err(); {
	case !mayRepeat, ended != nil && errors.Is(x.last.err, ended):
		return false, nil
	case ended != nil:
		x.stopped = ended
		return false, nil //nolint:nilerr // it is stopped
	case meaning == transport.Refused: // the pace makes the next attempt wait, or ends the call
		return true, nil
	case x.failures >= retry.Max, !op.isPage && transport.RetryAfter(x.last.header) > retry.MaxWait:
		return false, nil
	case x.backend.budget.Left() < op.retryCost():
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
	switch {
	case err != nil && transport.IsHTML(r.body):
		err = r.decodeError(&readError{err: transport.ErrHTML})
	case errors.Is(err, transport.ErrEmpty) && r.status == http.StatusAccepted:
		err = r.decodeError(&readError{err: fmt.Errorf("status 202 means that the service has not finished: %w", transport.ErrEmpty)})
	}
	if err == nil && r.op.method == http.MethodGet && !bytes.Contains(r.body, []byte(`"error`)) { // most have none, and are long
		return nil
	}
	if words, declared := errorWords(r.body); declared || err != nil && words != "" {
		return r.apiError()
	}
	return err
}

// backoff is the retryablehttp.Backoff: it takes the tokens of the next retry from the budget,
// and returns how long to wait before it. After a refusal it does not wait, because the pace
// makes all requests of the route wait.
func (x *exchange) backoff(least, most time.Duration, _ int, resp *http.Response) time.Duration {
	if x.meaning == transport.Refused {
		return 0
	}
	wait := transport.Backoff(least, most, x.failures, resp)
	x.failures++
	x.spent += x.request.op.retryCost()
	x.backend.budget.Add(-x.request.op.retryCost())
	return wait
}

// prepare is the retryablehttp.PrepareRetry: it makes the request that of the next attempt, with
// its number and without the headers that the one before had.
func (x *exchange) prepare(req *http.Request) error {
	info := x.request.info
	info.Attempt += x.last.number
	*req = *req.WithContext(context.WithValue(x.ctx, infoKey{}, &info))
	req.Header = http.Header{}
	return nil
}

// conclude returns the error of a call, given its last attempt and, if another one should have
// followed, why it was not sent. It returns nil if the attempt found a response that can be used.
func conclude(r *response, stopped error) (err error) {
	expired, isExpired := errors.AsType[*pace.ExpiredError](stopped)
	isFailure := r.status != 0 && r.status/100 != 2
	switch {
	case isExpired && isFailure:
		refusal := r.apiError()
		left := max(refusal.RetryAfter-time.Since(r.ended), expired.For)
		refusal.RetryAfter = (left + time.Second - 1).Truncate(time.Second)
		err = refusal
	case isExpired:
		err = r.expiredError(expired)
	case stopped != nil || r.status == 0:
		err = r.transportError(stopped)
	case isFailure:
		err = r.apiError()
	default:
		err = r.err
	}
	if err != nil && r.number > 0 && transport.MayHaveTakenEffect(r.op.method, r.status, r.err) {
		err = &outcomeUnknown{err: err, hint: r.op.hint}
	}
	return err
}

// logLongWait logs a long wait, at most once a minute for all requests that wait.
func (x *exchange) logLongWait() {
	now, logged := time.Now().UnixNano(), x.backend.longWaitLogged.Load()
	if now-logged >= int64(time.Minute) && x.backend.longWaitLogged.CompareAndSwap(logged, now) {
		x.log(slog.LevelWarn, "waiting until the service accepts requests")
	}
}

// log logs what the last attempt found, without keys.
func (x *exchange) log(level slog.Level, message string, more ...slog.Attr) {
	logger, r := x.backend.logger, &x.last
	if !logger.Enabled(x.ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("operation", r.op.String()), slog.String("id", r.info.ID), slog.Int("attempt", r.number)}
	if r.status != 0 {
		attrs = append(attrs, slog.Int("status", r.status))
	}
	if r.err != nil {
		attrs = append(attrs, slog.String("error", errorText(r.keys.Text(r.err.Error()))))
	}
	logger.LogAttrs(x.ctx, level, "horseracing: "+message, append(attrs, more...)...)
}

// refuseRedirect has the http.Client return a redirect as the response. To follow it
// would send the API key to another host, and drop the body.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
