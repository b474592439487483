package horseracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"github.com/horseracing-go/horseracing/internal/call"
)

// Limiter decides when a request may be sent. Wait blocks until then; a non-nil
// error fails the call. Every attempt waits, retries included. A *rate.Limiter of
// golang.org/x/time/rate is a Limiter.
type Limiter interface {
	Wait(context.Context) error
}

// An Option configures a Client. Options are checked by [NewClient]. If options
// conflict, the last one wins.
type Option func(*config)

type config struct {
	calls         call.Config
	clientTimeout time.Duration // of WithHTTPClient
	retry         Retry
	userAgent     string
	userKeys      []string
	plainHTTP     bool
	drift         func(context.Context, Drift)
	onSkip        func(context.Context, error)
	problem       error // the first thing wrong with an option
}

// check notes what is wrong with an option unless ok.
func (c *config) check(ok bool, problem string, args ...any) {
	if !ok && c.problem == nil {
		c.problem = fmt.Errorf(problem, args...)
	}
}

// WithHTTPClient uses client's Transport, Jar and Timeout; client is not modified. The
// Timeout limits one attempt, if it is shorter than [WithAttemptTimeout]'s.
// CheckRedirect is ignored: redirects are never followed. A nil client is ignored.
//
// Set a proxy or a mock in the Transport. To observe or change requests, use
// [WithTransportWrapper] instead. The Transport is read once, by NewClient: a library that
// replaces it, such as httpmock.ActivateNonDefault, has to do so before.
//
// If the Transport is an *http.Transport, registrations and other calls that change
// something are sent through a clone of it without keep-alives, because their outcome
// may remain unknown if a reused connection fails.
//
// If a read times out, the idle connections of the Transport are closed before the next read,
// because they may be dead, too: a NAT forgets connections, and so does the network while a
// laptop sleeps. Calls that share a dead HTTP/2 connection can keep it in use for longer. The
// client's own transport finds it by pings, after 15 seconds; set HTTP2.SendPingTimeout and
// HTTP2.PingTimeout of an *http.Transport to have the same.
//
// WARNING: the clone lacks protocols added with RegisterProtocol. If such a protocol is a
// mock, reads would go to the mock and registrations to the real service: wrap the Transport
// in a RoundTripper of your own. Any RoundTripper other than an *http.Transport is used
// unchanged for all calls; it must not repeat requests. With such a RoundTripper, and with an
// *http.Transport whose TLSNextProto has protocols other than HTTP/2, the client cannot know
// whether a failed connection sent anything. A registration that fails to connect is then not
// retried, and its error matches ErrOutcomeUnknown.
func WithHTTPClient(client *http.Client) Option {
	return func(c *config) {
		if client != nil {
			c.calls.Transport, c.calls.Jar, c.clientTimeout = client.Transport, client.Jar, client.Timeout
		}
	}
}

// WithTransportWrapper wraps the transport, for tracing, metrics or recording;
// [CallFromContext] returns the call of a request. wrap is called once, by [NewClient], and
// every attempt of every call goes through the RoundTripper that it returns. That RoundTripper
// must pass on the request's context, or one derived from it, and must send registrations only
// through the RoundTripper that wrap gets as its argument. The argument refuses to send the
// same attempt of a registration twice. It sends each registration on a new connection, unless
// [WithHTTPClient] has a Transport that is not an *http.Transport.
//
// A wrapper that makes calls with the same Client can deadlock: if the service limits
// requests in flight, its call may wait for the very request that the wrapper is
// handling. A cache must not identify requests by URL alone, because the pages of a
// listing differ only in the request body.
//
// If the option is given several times, each wrapper wraps those given before it. If
// wrap is nil or returns nil, NewClient fails with ErrInvalidArgument.
func WithTransportWrapper(wrap func(http.RoundTripper) http.RoundTripper) Option {
	return func(c *config) {
		c.check(wrap != nil, "WithTransportWrapper: the wrapper is nil")
		c.calls.Wrappers = append(c.calls.Wrappers, wrap)
	}
}

// WithRetry sets how reads are retried; see [Retry]. Zero fields use their defaults. Retry{Max:
// -1} turns retries off, but the first attempt may still wait for its turn. [CallRetry] sets it
// for one call.
func WithRetry(r Retry) Option {
	return func(c *config) {
		problem := r.problem()
		c.check(problem == nil, "WithRetry: %w", problem)
		c.retry = r
	}
}

const defaultAttemptTimeout = 30 * time.Second

// WithAttemptTimeout limits the time of one attempt, from connecting to the
// last byte of the response body. The default is 30 seconds. The context limits
// the time of a whole call, retries and waits included.
func WithAttemptTimeout(d time.Duration) Option {
	return func(c *config) {
		c.check(d > 0, "WithAttemptTimeout: %v is not positive", d)
		c.calls.Timeout = d
	}
}

// WithRateLimit limits the client to perSecond requests per second, with bursts of up to
// burst. Every attempt counts, retries included. The default is no limit: the service's own
// limits are undocumented, and the client learns them. When calls wait, the one with the
// highest priority goes first: calls that change something, then single reads, then the polls
// of a [Follower] or of [RacesService.Watch], then the pages of a [Pager]. If [WithLimiter] is
// given too, the last of the two options wins.
//
// API reference: https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#8-limits
func WithRateLimit(perSecond float64, burst int) Option {
	return func(c *config) {
		c.check(perSecond > 0, "WithRateLimit: %v per second is not positive", perSecond)
		c.check(burst > 0, "WithRateLimit: a burst of %d is not positive", burst)
		c.calls.Limiter = tokenBucket{rate.NewLimiter(rate.Limit(perSecond), burst)}
	}
}

// WithLimiter sets the limiter that every attempt waits for, such as one that several clients
// or several processes share. Each call to Wait that returns nil lets one attempt be sent. If
// several attempts wait, the one with the highest priority is sent; see [WithRateLimit]. One
// call to Wait is in progress at a time.
func WithLimiter(l Limiter) Option {
	return func(c *config) { c.calls.Limiter = l }
}

// WithLogger logs every attempt at level Debug, and a retry at level Warn when its wait begins,
// with its cause and how long it will wait, with operation, status and duration, and never with a header, a body or a key. Level Warn
// also reports retries prevented by the retry budget, and waits while the service refuses
// requests (after five seconds, then once a minute). Level Info reports the end of such a
// wait. A page of a [Pager] or [Follower] that is sent again after a refusal is logged only at
// level Debug, because a walk at the service's limit is refused again and again. The default
// is to log nothing.
func WithLogger(l *slog.Logger) Option {
	return func(c *config) { c.calls.Logger = cmp.Or(l, slog.New(slog.DiscardHandler)) }
}

// WithUserAgent sets the User-Agent header. The default is "horseracing-go/"
// followed by [Version].
func WithUserAgent(agent string) Option {
	return func(c *config) {
		c.check(!hasControl(agent), "WithUserAgent: the agent contains a control character")
		c.userAgent = agent
	}
}

// WithUserKeys redacts keys of users on every call. Without it a UserKey is redacted only
// on the calls that send it.
func WithUserKeys(keys ...UserKey) Option {
	return func(c *config) {
		for _, key := range keys {
			c.userKeys = append(c.userKeys, string(key))
		}
	}
}

// WithMaxResponseBytes limits the size of a response body after decompression. The
// default is 8 MiB. A larger response fails with ErrResponseTooLarge and is not
// retried.
func WithMaxResponseBytes(n int64) Option {
	return func(c *config) {
		c.check(n > 0, "WithMaxResponseBytes: %d is not positive", n)
		c.calls.MaxBytes = min(n, math.MaxInt64-1) // room for the one byte more that is read to notice
	}
}

// WithPlainHTTP allows an http:// base URL to a host that is not loopback.
// Everyone on the network path can then read the API key.
func WithPlainHTTP() Option {
	return func(c *config) { c.plainHTTP = true }
}

// WithDriftHandler compares every decoded response with the types and calls handler for
// each difference: once per route and path for the life of the client. A handler may
// log, or in a test call t.Error (not t.Fatal, which would end the goroutine that made
// the call). Without a handler nothing is compared.
//
// The handler is called by the goroutine that made the call, before the call returns.
// It must be safe for concurrent use if calls are made concurrently, for example by a
// [Pager] with a Concurrency above one.
//
// These are not reported: members that are missing, the members of an [AdditionalPrize],
// values outside the documented sets (which are incomplete), and responses to [Client.Do].
// At most 100 differences of one response are reported, and 1,000 in all.
func WithDriftHandler(handler func(context.Context, Drift)) Option {
	return func(c *config) { c.drift = handler }
}

// WithSkipHandler passes the error of an entry that cannot be read to handler, and leaves the
// entry out. The method or loop then continues with the other entries. The error is a
// [*DecodeError], or a [*TieOverflowError] if a whole page has one start time.
//
// Without a handler, such an error is handled like any other. A method that returns a list
// returns the error alone. The loop of a [Pager] ends with it; range again to continue after
// it. A [Follower] and [RacesService.Watch] yield it once and continue to poll.
//
// The handler is called by the goroutine that made the call, as with [WithDriftHandler].
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
	capture    *Response
	background bool
	onSend     []func() error
	retry      Retry // all fields are set
	problem    error // the first thing wrong with an option
}

// CaptureResponse stores the response of the call's last attempt in r, whether the call
// succeeds or fails. If that attempt got no response, only r.Attempts is set.
func CaptureResponse(r *Response) CallOption {
	return func(c *callConfig) { c.capture = r }
}

// AsBackground gives a read the lowest priority, which the pages of a [Pager] have, too. It
// matters when requests must wait. A call that changes something fails with
// ErrInvalidArgument.
func AsBackground() CallOption {
	return func(c *callConfig) { c.background = true }
}

// OnSend calls record once, just before the first attempt of a call that changes something. By
// then the call has waited for rate limits and for other calls, so a call that ends while it
// waits is not recorded. If record returns an error, nothing is sent, and the error of the
// call wraps it. Use it to note in a database of your own that a registration is being sent;
// package ledger does so in a file.
//
// If the option is given several times, the functions are called in the order given, until
// one returns an error. [WithAttemptTimeout] does not limit them. Do not make calls with the
// same Client in record: they may wait for the call that is being recorded. A read with this
// option fails with ErrInvalidArgument.
func OnSend(record func() error) CallOption {
	return func(c *callConfig) {
		if record == nil && c.problem == nil {
			c.problem = errors.New("OnSend: the function is nil")
		}
		c.onSend = append(c.onSend, record)
	}
}

// CallRetry sets how one call is retried. Zero fields default to the client's settings.
// A call that changes something is retried only after attempts that certainly had no
// effect.
func CallRetry(r Retry) CallOption {
	return func(c *callConfig) {
		if problem := r.problem(); problem != nil && c.problem == nil {
			c.problem = fmt.Errorf("CallRetry: %w", problem)
		}
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

// CallFromContext returns the call that a request belongs to, given the request's
// context. Use it in a wrapper of [WithTransportWrapper]: naming spans and metrics by
// Route keeps ids out of their names.
func CallFromContext(ctx context.Context) (CallInfo, bool) {
	info, ok := call.FromContext(ctx)
	return CallInfo(info), ok
}

// Retry sets how reads are retried: after connection failures, after the statuses 408, 429
// and 500 to 599, after a 403 with a Retry-After, and after a response with status 2xx that
// is an HTML page, is empty although JSON is documented, or ends early.
//
// The context ends every wait of a call, except [OnSend] and a response that package ledger
// waits for. In addition, no wait lasts longer than this:
//
//	for the turn of the call (other requests, a       MaxWait for all attempts of a call together,
//	Retry-After or an announced limit can delay it)   for a page until it is refused, and for an
//	                                                  hour no page of its listing was accepted
//	for a permit of the Limiter                       no limit, and MaxWait does not include it
//	for a response with its body                      WithAttemptTimeout, or the Timeout of
//	                                                  WithHTTPClient if that is shorter
//	for the backoff after a failure                   MaxWait for each attempt
//
// After a refusal there is no backoff: the next attempt waits for its turn.
//
// Max limits how many attempts follow the first one. For a page, which is a request of a
// [Pager] or [Follower], attempts after a refusal do not count, but it fails when it is refused after
// an hour in which no request of its listing was accepted. With a negative Max a call
// ends at the first refusal or failure. Even then, later calls wait for their turn after a
// refusal.
//
// If the turn of a call does not come within MaxWait, or a Retry-After shows that it will not,
// the error is an [*APIError] that says why. Its RetryAfter is the rest of the wait, rounded
// up to a second. After a refusal a page honors a Retry-After of up to an hour. After another
// failure, such as a status 502, it is retried after at most MaxWait, even if a Retry-After is
// longer.
//
// A budget shared by all calls of a client keeps retries from multiplying the load of an
// outage. Retries after a refusal (429, or 403 or 503 with a Retry-After) do not consume it;
// see [Client.Pace].
//
// Some failures are not retried, because a retry cannot help. These are a response that is too
// large, has a Content-Encoding other than gzip, or is JSON of another shape or other types
// than documented, a server without TLS or with an untrusted certificate, and an error of the
// [Limiter].
type Retry struct {
	Max     int           // retries after the first attempt; default 3, or 10 for a page of a Pager or Follower, and none if negative
	MinWait time.Duration // base of the exponential backoff with full jitter; default 200ms, at most MaxWait
	MaxWait time.Duration // longest backoff, and longest Retry-After that is honored; default 15s, at least MinWait
}

var defaultRetry = Retry{Max: 3, MinWait: 200 * time.Millisecond, MaxWait: 15 * time.Second}

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

// Pace is what a client has learned about the service's rate limit. The client heeds a limit
// that the service announces (RateLimit-Remaining). Otherwise it slows down only after a
// refusal: status 429 or 503, or 403 with a Retry-After. PerSecond is for all routes together.
// While a route is held, its requests wait. It is held during a backoff, until a Retry-After
// has passed, and while an announced limit is used up.
type Pace struct {
	PerSecond float64   // requests per second at present, or zero if the rate is not limited
	Waiting   int       // requests that wait to be sent
	Until     time.Time // until when a route is held; the latest time if several are held, or zero if none is
}
