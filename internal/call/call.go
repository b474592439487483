// Package call makes one call: it sends a request until an attempt is final. In goes a request that
// does not change, and a function that accepts a successful response or says why not. Out comes an
// [Outcome]: the last attempt, and why none follows it. What a response is about, and how an error
// reads, is for the caller to say.
package call

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/redact"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// Request is what a call sends, in each of its attempts. It does not change.
type Request struct {
	Info
	PaceRoute string // what the pace takes for the route, unless it is Info.Route
	URL       url.URL
	Payload   []byte // nil if none is sent
	Keys      redact.Keys
	Priority  pace.Priority
	IsPage    bool // while it is refused it waits, until nothing was accepted for an hour
	NoCache   bool // a cached response must not be used
	Retry     Retry
	OnSend    []func() error // called once, before the first attempt
	OnRetry   []func() error // called before each later one
}

// Info names a request, without keys.
type Info struct {
	Method  string
	Route   string // the path with its placeholder
	ID      string // in place of the placeholder, or empty
	Attempt int    // counts from 1
}

// Retry says how often a request is repeated, and how long it waits.
type Retry struct {
	Max     int           // retries after the first attempt
	MinWait time.Duration // base of the backoff
	MaxWait time.Duration // longest backoff, and longest wait of all attempts together for their turns
}

// Attempt is what one attempt found: a complete response, or an error.
type Attempt struct {
	Number        int // counts from 1, or zero if no request was sent
	Status        int // zero if there is no complete response
	Header        http.Header
	Body          []byte
	IsCut         bool  // the body of an error status was longer
	Err           error // why there is no response, or why a successful one cannot be used
	IsInterrupted bool  // the context ended before it failed
	Ended         time.Time

	meaning    transport.Meaning
	mayRepeat  bool          // the request may be sent again
	refusedFor time.Duration // how long the call has lasted without its route accepting a request
}

// Outcome is how a call ended: what the last attempt found, and why none follows it.
type Outcome struct {
	Attempt         // the last one that was sent
	Before  Attempt // the one before that
	Stopped error   // why another attempt, which should have followed, was not sent: the error of the context or of OnSend, that of the Limiter or a *pace.ExpiredError. It is nil if the last attempt is final
}

// Caller makes the calls of one client. It is safe for concurrent use.
type Caller struct {
	pace   *pace.Scheduler
	budget transport.Budget
	header func(http.Header)
	logger *slog.Logger
	wire   *transport.Wire
	send   http.RoundTripper // from the headers of an attempt to the wire
	loop   retryablehttp.Client

	longWaitLogged atomic.Int64 // when a long wait was logged, unless a request was accepted since
}

// Config is what the calls of a [Caller] share.
type Config struct {
	Transport http.RoundTripper                           // the user's, or nil
	Wrappers  []func(http.RoundTripper) http.RoundTripper // the user's, the first one innermost
	Jar       http.CookieJar                              // may be nil
	Header    func(http.Header)                           // sets the headers of an attempt
	Timeout   time.Duration                               // of an attempt
	SetBy     string                                      // what has set the Timeout
	MaxBytes  int64                                       // of a response
	Limiter   pace.Limiter                                // may be nil
	Logger    *slog.Logger
}

// New returns a Caller. It fails if a wrapper returns nil, or if the Transport is known to repeat requests.
func New(config Config) (*Caller, error) {
	c := &Caller{pace: pace.NewScheduler(config.Limiter), header: config.Header, logger: config.Logger, wire: transport.NewWire(config.Transport)}
	if _, repeats := config.Transport.(*retryablehttp.RoundTripper); repeats {
		return nil, errors.New("WithHTTPClient: the Transport repeats requests, so a fee may be paid twice: pass its HTTPClient, and set retries with WithRetry")
	}
	var next http.RoundTripper = c.wire
	for _, wrap := range config.Wrappers {
		if next = wrap(next); next == nil {
			return nil, errors.New("WithTransportWrapper: the wrapper returned nil")
		}
	}
	c.send = transport.Once{Next: transport.Whole{Next: next, Timeout: config.Timeout, SetBy: config.SetBy, MaxBytes: config.MaxBytes}}
	c.loop = retryablehttp.Client{
		HTTPClient:   &http.Client{Transport: roundTripper(c.attempt), Jar: config.Jar, CheckRedirect: refuseRedirect},
		RetryMax:     math.MaxInt, // decide counts them
		CheckRetry:   c.checkRetry,
		Backoff:      retryWait,
		PrepareRetry: prepareRetry,
	}
	return c, nil
}

// CloseIdleConnections closes the idle connections that no one else uses.
func (c *Caller) CloseIdleConnections() { c.wire.CloseIdleConnections() }

// Pace returns what was learned about the service's rate limit.
func (c *Caller) Pace() pace.State { return c.pace.State() }

// flight is a call under way. The context of each attempt has it, so that the hooks of
// go-retryablehttp find it. One goroutine uses it.
type flight struct {
	*Request
	ctx      context.Context
	began    time.Time
	accept   func(*Attempt) error
	waiter   pace.Waiter // for how long the call has waited for its turns
	last     Attempt     // that was sent
	before   Attempt     // the one before that
	failures int         // attempts that failed and were retried; refusals do not count
	next     decision    // what follows the last attempt
}

// Do makes a call. accept is given each response with a status 2xx. If it returns an error, the
// response cannot be used. It is retried if it was damaged on its way.
func (c *Caller) Do(ctx context.Context, r *Request, accept func(*Attempt) error) Outcome {
	f := &flight{Request: r, ctx: ctx, began: time.Now(), accept: accept}
	f.waiter.Kind = pace.Kind{Route: cmp.Or(r.PaceRoute, r.Route), Priority: r.Priority, Endless: r.IsPage, MaxWait: r.Retry.MaxWait}
	plain := http.Request{Method: r.Method, URL: &r.URL, Host: r.URL.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}}
	first := retryablehttp.Request{Request: plain.WithContext(f.nextContext())}
	if r.Payload != nil {
		_ = first.SetBody(r.Payload) // fails only for other types
	}
	_, _ = c.loop.Do(&first) // all is noted
	if f.next.again {        // the context ended during the backoff
		f.next.stopped = ctx.Err()
	}
	return Outcome{Attempt: f.last, Before: f.before, Stopped: f.next.stopped}
}

// nextContext returns the context of the next attempt.
func (f *flight) nextContext() context.Context {
	info := f.Info
	info.Attempt = f.last.Number + 1
	return context.WithValue(f.ctx, attemptKey{}, &attempting{f, info})
}

// attempting is what the context of an attempt has for attemptKey.
type attempting struct {
	*flight
	info Info
}

type attemptKey struct{}

func flightOf(ctx context.Context) *flight {
	return ctx.Value(attemptKey{}).(*attempting).flight
}

// FromContext returns the attempt that a request belongs to, given the context of the request.
func FromContext(ctx context.Context) (Info, bool) {
	a, ok := ctx.Value(attemptKey{}).(*attempting)
	if !ok {
		return Info{}, false
	}
	return a.info, true
}

// checkRetry is the retryablehttp.CheckRetry: whether another attempt follows.
func (c *Caller) checkRetry(ctx context.Context, _ *http.Response, _ error) (bool, error) {
	f := flightOf(ctx)
	if f.next.stopped != nil {
		return false, nil //nolint:nilerr // the outcome has it
	}
	if a := &f.last; a.Status/100 == 2 {
		if a.Err = f.accept(a); a.Err != nil {
			a.classify(f.Method)
		}
	}
	f.last.refusedFor = min(f.waiter.RefusedFor, time.Since(f.began))
	f.next = decide(f.Request, &f.last, f.failures, ctx.Err(), rand.Float64())
	if !c.budget.Spend(f.next.cost) {
		c.log(f, slog.LevelWarn, "no retry: the retry budget is spent")
		f.next = decision{}
	}
	if f.next.cost > 0 {
		f.failures++
	}
	wait := max(f.next.wait, f.waiter.Wait)
	isTooLong := !f.IsPage && wait > f.Retry.MaxWait // the pace ends the call
	if f.next.again && !isTooLong && !(f.IsPage && f.last.meaning == transport.RateLimited) {
		c.log(f, slog.LevelWarn, "retry", slog.Duration("wait", wait))
	}
	return f.next.again, nil
}

// retryWait is the retryablehttp.Backoff: how long to wait before the next attempt.
func retryWait(_, _ time.Duration, _ int, resp *http.Response) time.Duration {
	return flightOf(resp.Request.Context()).next.wait
}

// prepareRetry is the retryablehttp.PrepareRetry: it makes the request of the next attempt, without the
// headers that the one before had.
func prepareRetry(req *http.Request) error {
	*req = *req.WithContext(flightOf(req.Context()).nextContext())
	req.Header = http.Header{}
	return nil
}

// refuseRedirect has the http.Client return a redirect as the response. To follow it
// would send the API key to another host, and drop the body.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// roundTripper is a function that is an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// attempt makes one attempt, from top to bottom: it waits for its turn, calls the OnSend functions before
// the first one, sets the headers, sends, notes what it found, and reports to the pace how it went.
func (c *Caller) attempt(req *http.Request) (resp *http.Response, _ error) {
	f := flightOf(req.Context())
	if err := c.pace.Enter(f.ctx, &f.waiter, func() { c.logLongWait(f) }); err != nil {
		f.next = decision{stopped: err}
		return noResponse(req), nil
	}
	outcome, hold := pace.Unclear, pace.Hold{}
	defer func() { // also if the user's code ends the goroutine
		c.pace.Report(&f.waiter, outcome, hold)
		if outcome == pace.Accepted && c.longWaitLogged.Swap(0) != 0 {
			c.log(f, slog.LevelInfo, "the service accepts requests again")
		}
	}()
	hooks := f.OnSend
	if f.last.Number > 0 {
		hooks = f.OnRetry
	}
	for _, hook := range hooks {
		if err := cmp.Or(hook(), f.ctx.Err()); err != nil { // the context may end while it runs
			f.next = decision{stopped: err}
			return noResponse(req), nil
		}
	}
	if c.header(req.Header); f.NoCache { // beside the cookies that the http.Client has added
		req.Header.Set("Cache-Control", "no-cache")
	}
	began := time.Now()
	resp, err := c.send.RoundTrip(req)
	a := Attempt{Number: f.last.Number + 1, Err: err, IsInterrupted: err != nil && f.ctx.Err() != nil, Ended: time.Now()}
	if err == nil {
		body := resp.Body.(*transport.Body)
		a.Status, a.Header, a.Body, a.IsCut, a.Err = resp.StatusCode, resp.Header, body.Bytes, body.Cut, body.Err
	}
	a.classify(f.Method)
	f.before, f.last = f.last, a
	c.log(f, slog.LevelDebug, "attempt", slog.Duration("duration", a.Ended.Sub(began)))
	if err != nil {
		return noResponse(req), nil
	}
	outcome, hold = transport.Report(a.meaning, a.Status, a.Header)
	resp.Request = req
	return resp, nil
}

// noResponse is for the loop, since its Backoff finds the call by the request of a response alone.
func noResponse(req *http.Request) *http.Response {
	return &http.Response{Body: http.NoBody, Request: req}
}

// classify determines what the attempt of a request with that method means.
func (a *Attempt) classify(method string) {
	a.meaning, a.mayRepeat = transport.Classify(method, a.Status, a.Header, a.Err)
}

// logLongWait logs a long wait, at most once a minute for all requests that wait.
func (c *Caller) logLongWait(f *flight) {
	now, logged := time.Now().UnixNano(), c.longWaitLogged.Load()
	if now-logged >= int64(time.Minute) && c.longWaitLogged.CompareAndSwap(logged, now) {
		c.log(f, slog.LevelWarn, "waiting until the service accepts requests")
	}
}

// maxLogged is the length of an error in the log.
const maxLogged = 1800

// log logs what the last attempt found, without keys.
func (c *Caller) log(f *flight, level slog.Level, message string, more ...slog.Attr) {
	if !c.logger.Enabled(f.ctx, level) {
		return
	}
	a := &f.last
	attrs := []slog.Attr{slog.String("operation", f.Method+" "+f.Route), slog.String("id", f.ID), slog.Int("attempt", a.Number)}
	if a.Status != 0 {
		attrs = append(attrs, slog.Int("status", a.Status))
	}
	if a.Err != nil {
		attrs = append(attrs, slog.String("error", redact.Clip(f.Keys.Visible(a.Err.Error()), maxLogged)))
	}
	c.logger.LogAttrs(f.ctx, level, "horseracing: "+message, append(attrs, more...)...)
}
