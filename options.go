package horseracing

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"github.com/horseracing-go/horseracing/internal/call"
)

// A Limiter lets a request be sent when Wait returns nil; an error fails the call. A *rate.Limiter of
// golang.org/x/time/rate is one.
type Limiter interface {
	Wait(context.Context) error
}

// An Option configures a Client. Of options that conflict the last one wins. Nil is ignored.
type Option func(*config)

type config struct {
	checks
	calls         call.Config
	clientTimeout time.Duration // of WithHTTPClient
	retry         Retry
	userAgent     string
	userKeys      []string
	plainHTTP     bool
	drift         func(context.Context, Drift)
	onSkip        func(context.Context, error)
}

// checks notes the first thing wrong with an option.
type checks struct{ problem error }

// check notes a problem unless ok.
func (c *checks) check(ok bool, problem string, args ...any) {
	if !ok && c.problem == nil {
		c.problem = fmt.Errorf(problem, args...)
	}
}

// WithHTTPClient uses client's Transport, which NewClient reads once, its Jar and its Timeout, which
// limits one attempt. Redirects are never followed. To observe or change requests, use
// [WithTransportWrapper].
//
// If the Transport is an *http.Transport, calls that change something are sent through a clone of it
// without keep-alives, and its idle connections are closed after a read that timed out. The client's
// own transport also finds a dead HTTP/2 connection by pings, as yours does with
// HTTP2.SendPingTimeout and HTTP2.PingTimeout.
//
// WARNING: the clone lacks protocols added with RegisterProtocol. If such a protocol is a mock,
// registrations go to the real service: wrap the Transport in a RoundTripper of your own. That is
// used unchanged for all calls, and must not repeat requests. With it, and with other protocols than
// HTTP/2 in TLSNextProto, a registration that fails to connect is not retried, and its error matches
// ErrOutcomeUnknown.
func WithHTTPClient(client *http.Client) Option {
	return func(c *config) {
		if client != nil {
			c.calls.Transport, c.calls.Jar, c.clientTimeout = client.Transport, client.Jar, client.Timeout
		}
	}
}

// WithTransportWrapper wraps the transport, for tracing, metrics or recording; [CallFromContext]
// returns the call of a request. Every attempt goes through the RoundTripper that wrap returns. It
// must pass on the request's context, or one derived from it, and must send registrations only
// through the RoundTripper that wrap gets. A later wrapper wraps those given before it.
//
// A wrapper must not make calls with the same Client, which may wait for the request that it is
// handling. A cache must not identify requests by URL alone: pages differ only in the request body.
func WithTransportWrapper(wrap func(http.RoundTripper) http.RoundTripper) Option {
	return func(c *config) {
		c.check(wrap != nil, "WithTransportWrapper: the wrapper is nil")
		c.calls.Wrappers = append(c.calls.Wrappers, wrap)
	}
}

// WithRetry sets how reads are retried. Zero fields use the defaults of [Retry], and Retry{Max: -1}
// turns retries off.
func WithRetry(r Retry) Option {
	return func(c *config) {
		problem := r.problem()
		c.check(problem == nil, "WithRetry: %w", problem)
		c.retry = r
	}
}

const defaultAttemptTimeout = 30 * time.Second

// WithAttemptTimeout limits the time of one attempt, from connecting to the last byte of the
// response body. The default is 30 seconds.
func WithAttemptTimeout(d time.Duration) Option {
	return func(c *config) {
		c.check(d > 0, "WithAttemptTimeout: %v is not positive", d)
		c.calls.Timeout = d
	}
}

// WithRateLimit limits the client to perSecond requests per second, retries included, with bursts
// of up to burst. Without it the client learns the service's limits, which are undocumented. When
// calls wait, those that change something go first, then single reads, then the polls of a
// [Follower] or of [RacesService.Watch], then the pages of a [Pager].
func WithRateLimit(perSecond float64, burst int) Option {
	return func(c *config) {
		c.check(perSecond > 0, "WithRateLimit: %v per second is not positive", perSecond)
		c.check(burst > 0, "WithRateLimit: a burst of %d is not positive", burst)
		c.calls.Limiter = tokenBucket{rate.NewLimiter(rate.Limit(perSecond), burst)}
	}
}

// WithLimiter sets, in place of WithRateLimit, the limiter that every attempt waits for, such as one
// that several processes share, or removes it if l is nil. One call to Wait is in progress at a time.
func WithLimiter(l Limiter) Option {
	return func(c *config) { c.calls.Limiter = l }
}

// WithLogger logs every attempt at level Debug, and a retry at level Warn when its wait begins, without
// header, body and keys. Level Warn also reports retries prevented by the retry budget, and waits
// while the service refuses requests; level Info reports their end. A page of a [Pager] or [Follower]
// that is sent again after a refusal is logged at level Debug.
func WithLogger(l *slog.Logger) Option {
	return func(c *config) { c.calls.Logger = cmp.Or(l, slog.New(slog.DiscardHandler)) }
}

// WithUserAgent sets the User-Agent header; the default is horseracing-go/ and [Version].
func WithUserAgent(agent string) Option {
	return func(c *config) {
		c.check(!hasControl(agent), "WithUserAgent: the agent contains a control character")
		c.userAgent = agent
	}
}

// WithUserKeys redacts keys on every call, not only on those that send them.
func WithUserKeys(keys ...UserKey) Option {
	return func(c *config) {
		for _, key := range keys {
			c.userKeys = append(c.userKeys, string(key))
		}
	}
}

// WithMaxResponseBytes limits the size of a response body after decompression; the default is 8 MiB.
// A larger one is not retried.
func WithMaxResponseBytes(n int64) Option {
	return func(c *config) {
		c.check(n > 0, "WithMaxResponseBytes: %d is not positive", n)
		c.calls.MaxBytes = min(n, math.MaxInt64-1) // room for the one byte more that is read to notice
	}
}

// WithPlainHTTP allows an http:// base URL to a host that is not loopback. Everyone on the network
// path can then read the API key.
func WithPlainHTTP() Option {
	return func(c *config) { c.plainHTTP = true }
}

// WithDriftHandler compares every decoded response with the types and calls handler for each
// difference: once per route and path for the life of the client, and at most 1,000 times. It is
// called by the goroutine that made the call, so it must be safe for concurrent use if calls are made
// concurrently, as by a [Pager] with a Concurrency. Members that are missing, undocumented values,
// and responses to [Client.Do] are not reported.
func WithDriftHandler(handler func(context.Context, Drift)) Option {
	return func(c *config) { c.drift = handler }
}

// WithSkipHandler passes the error of an entry that cannot be read, a [*DecodeError] or a
// [*TieOverflowError], to handler, as [WithDriftHandler] does, and leaves the entry out. Without it a
// method that returns a list returns the error alone, the loop of a [Pager] ends with it, and a
// [Follower] and [RacesService.Watch] yield it once and continue.
func WithSkipHandler(handler func(context.Context, error)) Option {
	return func(c *config) { c.onSkip = handler }
}

// tokenBucket is a rate.Limiter that returns the context's errors. If a deadline
// would be missed, rate.Limiter returns an error of its own at once.
type tokenBucket struct{ *rate.Limiter }

func (b tokenBucket) Wait(ctx context.Context) error {
	err := b.Limiter.Wait(ctx)
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("the rate limit allows the next request only after the deadline: %w", context.DeadlineExceeded)
}

// A CallOption configures one call. A nil option is ignored.
type CallOption func(*callConfig)

type callConfig struct {
	checks
	capture    *Response
	background bool
	onSend     []func() error
	retry      Retry // all fields are set
}

// CaptureResponse stores the response of the call's last attempt in r, whether the call succeeds or
// fails.
func CaptureResponse(r *Response) CallOption {
	return func(c *callConfig) { c.capture = r }
}

// AsBackground gives a read the lowest priority, as the pages of a [Pager] have.
func AsBackground() CallOption {
	return func(c *callConfig) { c.background = true }
}

// OnSend calls record just before the first attempt of a call that changes something, when its waits
// are over. If record returns an error, nothing is sent. Use it to note in a database of your own that
// a registration is being sent, as package ledger does. Do not make calls with the same Client in
// record, which may wait for the call that is being recorded.
func OnSend(record func() error) CallOption {
	return func(c *callConfig) {
		c.check(record != nil, "OnSend: the function is nil")
		c.onSend = append(c.onSend, record)
	}
}

// CallRetry sets how one call is retried. Zero fields default to the client's settings. A call that
// changes something is retried only after attempts that had no effect.
func CallRetry(r Retry) CallOption {
	return func(c *callConfig) {
		problem := r.problem()
		c.check(problem == nil, "CallRetry: %w", problem)
		c.retry = r.withDefaults(c.retry)
	}
}

// CallInfo describes the call that a request belongs to.
type CallInfo struct {
	Method  string
	Route   string // the path with its placeholders: /api/v1/races/{raceId}; for Do the path itself, redacted
	ID      string // the horse, race or tournament requested, redacted, or empty if the route has no placeholder
	Attempt int    // counts from 1
}

// CallFromContext returns the call of a request, given the request's context.
func CallFromContext(ctx context.Context) (CallInfo, bool) {
	info, ok := call.FromContext(ctx)
	return CallInfo(info), ok
}

// Retry sets how reads are retried: after connection failures, after the statuses 408, 429 and 500
// to 599, after a 403 with a Retry-After, and after a response with status 2xx that is an HTML page,
// is empty although JSON is documented, or ends early. A budget shared by all calls of a client keeps
// retries after failures from multiplying the load of an outage. No wait lasts longer than this:
//
//	for its turn, as after a refusal   MaxWait in all; for a page an hour of refusals
//	for a permit of the Limiter        no limit
//	for a response with its body       WithAttemptTimeout
//	for the backoff after a failure    MaxWait
//
// A refusal is a 429, or a 403 or 503 with a Retry-After. If the turn does not come, the error is an
// [*APIError] whose RetryAfter is the rest of the wait. Attempts of a page after a refusal do not count.
type Retry struct {
	Max     int           // retries after the first attempt; default 3, or 10 for a page of a Pager or Follower, and none if negative
	MinWait time.Duration // base of the exponential backoff with full jitter; default 200ms, at most MaxWait
	MaxWait time.Duration // longest backoff, and longest Retry-After that is honored; default 15s, at least MinWait
}

var defaultRetry = Retry{Max: 3, MinWait: 200 * time.Millisecond, MaxWait: 15 * time.Second}

// defaultPageRetries is how often a page is retried: for about half a minute. A walk of hours is not to
// end because of a short failure.
const defaultPageRetries = 10

// withDefaults returns r with its zero fields taken from d, and a Max that is
// not negative.
func (r Retry) withDefaults(d Retry) Retry {
	r.Max = max(0, cmp.Or(r.Max, d.Max))
	if r.MaxWait == 0 {
		r.MaxWait = max(d.MaxWait, r.MinWait)
	}
	if r.MinWait == 0 {
		r.MinWait = min(d.MinWait, r.MaxWait)
	}
	return r
}

// problem returns what is wrong with a Retry that a caller gave.
func (r Retry) problem() error {
	switch {
	case r.MinWait < 0 || r.MaxWait < 0:
		return fmt.Errorf("a wait of %+v is negative", r)
	case r.MaxWait != 0 && r.MinWait > r.MaxWait:
		return fmt.Errorf("MinWait %v is longer than MaxWait %v", r.MinWait, r.MaxWait)
	}
	return nil
}

// Pace is what a client has learned about the service's rate limit, for all routes together: from
// limits that the service announces (RateLimit-Remaining) and from refusals. While a route is held,
// during a backoff, a Retry-After, or because an announced limit is used up, its requests wait.
type Pace struct {
	PerSecond float64   // requests per second at present, or zero if the rate is not limited
	Waiting   int       // requests that wait to be sent
	Until     time.Time // until when a route is held; the latest time if several are held, or zero if none is
}
