package horseracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"

	"golang.org/x/time/rate"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/redact"
)

// Version is the SDK version sent in the default User-Agent.
const Version = "0.1.0"

// Client calls the service. Make one with [NewClient] and keep it: it holds
// the connections, the rate limit and the retry budget. It is safe for
// concurrent use. Printing a Client never reveals the API key.
type Client struct {
	Horses      *HorsesService      // horses, their missions, and the breeding offers
	Races       *RacesService       // open and finished races, and registering for one
	Tournaments *TournamentsService // open and finished tournaments
	Missions    *MissionsService    // the catalogue of missions

	base      *url.URL
	header    func() http.Header // a new header for a request, the API key in it
	secrets   redact.Keys
	jar       http.CookieJar // the caller's; nil: none
	transport *transport
	send      http.RoundTripper // the transport, or what wraps it
	retry     Retry
	budget    *retryBudget
	gate      *pace.Gate // decides when a request may be sent
	logger    *slog.Logger
	timeout   time.Duration // of one attempt
	maxBytes  int64
	drift     *driftWatch // nil: there is no handler
}

// Close closes the client's idle connections, except those of a Transport
// given with [WithHTTPClient], which is its owner's to close. It is optional:
// idle connections end by themselves after 90 seconds. Requests in flight are
// not interrupted, and calls after Close work, on new connections. Close may be
// called more than once.
func (c *Client) Close() { c.transport.closeIdle() }

// String returns horseracing.Client(https://host).
func (c *Client) String() string { return "horseracing.Client(" + c.secrets.Text(c.BaseURL()) + ")" }

// BaseURL returns the URL that the client sends requests to, without a slash at
// its end.
func (c *Client) BaseURL() string { return c.base.String() }

// Limiter decides when a request may be sent: Wait returns nil when it may, or
// an error, which ends the call. Every attempt waits, retries included. A
// *rate.Limiter of golang.org/x/time/rate is one.
type Limiter interface {
	Wait(context.Context) error
}

// Option sets up a Client. Options are checked by [NewClient]. If options
// conflict, the last one wins.
type Option func(*config)

type config struct {
	httpClient *http.Client
	retry      Retry
	timeout    time.Duration
	limiter    Limiter
	logger     *slog.Logger
	userAgent  string
	maxBytes   int64
	plainHTTP  bool
	drift      func(context.Context, Drift)
	wrappers   []func(http.RoundTripper) http.RoundTripper
	problem    error // the first thing wrong with an option
}

// check notes what is wrong with an option unless ok.
func (c *config) check(ok bool, problem string, args ...any) {
	if !ok && c.problem == nil {
		c.problem = fmt.Errorf(problem, args...)
	}
}

// WithHTTPClient uses client's Transport, Jar and Timeout; client is not
// modified. The Timeout bounds one attempt, where it is shorter than
// [WithAttemptTimeout]'s. CheckRedirect is ignored: redirects are never
// followed. A nil client changes nothing.
//
// The Transport is the place for a proxy and for mocks. To observe or change
// requests, use [WithTransportWrapper] instead.
//
// If the Transport is an *http.Transport, registrations are sent through a
// clone of it without keep-alives, because on a stale connection their outcome
// can stay unknown. Any other RoundTripper sends them itself, and so does an
// *http.Transport with a protocol registered for the base URL's scheme; it must
// not repeat requests. Register protocols before calling NewClient.
func WithHTTPClient(client *http.Client) Option {
	return func(c *config) { c.httpClient = client }
}

// WithTransportWrapper wraps the transport, for tracing, metrics or recording.
// wrap is called once, by [NewClient]; every attempt of every call passes
// through what it returns. The RoundTripper that it is given sends registrations
// on connections of their own, as without a wrapper, and refuses to send one
// attempt of a registration twice. A wrapper must pass on the request's
// context, or a context made from it.
//
// Wrappers nest: each wraps those given before it. A nil wrap, or one that
// returns nil, is ErrInvalidArgument.
func WithTransportWrapper(wrap func(http.RoundTripper) http.RoundTripper) Option {
	return func(c *config) {
		c.check(wrap != nil, "WithTransportWrapper: the wrapper is nil")
		c.wrappers = append(c.wrappers, wrap)
	}
}

// WithRetry sets how reads are retried; see [Retry]. A field that is zero has
// its default; Retry{Max: -1} turns retries off. [CallRetry] sets it for one call.
func WithRetry(r Retry) Option {
	return func(c *config) {
		problem := r.problem()
		c.check(problem == nil, "WithRetry: %w", problem)
		c.retry = r
	}
}

// WithAttemptTimeout limits the time of one attempt, from connecting to the
// last byte of the response body. The default is 30 seconds. The context limits
// the time of a whole call, retries and waits included.
func WithAttemptTimeout(d time.Duration) Option {
	return func(c *config) {
		c.check(d > 0, "WithAttemptTimeout: %v is not positive", d)
		c.timeout = d
	}
}

// WithRateLimit limits the client to perSecond requests per second, with bursts
// of up to burst. Every attempt counts, retries included. The default is no
// limit: the service's own limits are undocumented, and the client learns them.
// When calls wait, the one with the highest priority goes first: calls that change
// something, then single reads, then polls, then walks, as the package comment
// describes. WithRateLimit and [WithLimiter] conflict.
//
// API reference: https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#8-limits
func WithRateLimit(perSecond float64, burst int) Option {
	return func(c *config) {
		c.check(perSecond > 0, "WithRateLimit: %v per second is not positive", perSecond)
		c.check(burst > 0, "WithRateLimit: a burst of %d is not positive", burst)
		c.limiter = tokenBucket{rate.NewLimiter(rate.Limit(perSecond), burst)}
	}
}

// WithLimiter sets the limiter that every attempt waits for, such as one that
// several clients or several processes share. At most four attempts are in Wait at
// a time; each Wait that returns lets the attempt with the highest priority go, in
// the order of [WithRateLimit].
func WithLimiter(l Limiter) Option {
	return func(c *config) { c.limiter = l }
}

// WithLogger logs every attempt at level Debug and every retry at level Warn,
// with operation, status and duration, and never with a header, a body or a
// key. At level Warn it also logs a retry that the retry budget withheld, and
// that a [Pager] or a [Follower] begins to wait for a service that refuses its
// requests; at level Info, that it goes on. The default is to log nothing.
func WithLogger(l *slog.Logger) Option {
	return func(c *config) { c.logger = l }
}

// WithUserAgent sets the User-Agent header. The default is "horseracing-go/"
// followed by [Version].
func WithUserAgent(agent string) Option {
	return func(c *config) {
		c.check(!hasControl(agent), "WithUserAgent: the agent contains a control character")
		c.userAgent = agent
	}
}

// WithMaxResponseBytes limits the size of a response body after decompression.
// The default is 32 MiB. A larger response is ErrResponseTooLarge and is not
// retried.
func WithMaxResponseBytes(n int64) Option {
	return func(c *config) {
		c.check(n > 0, "WithMaxResponseBytes: %d is not positive", n)
		c.maxBytes = min(n, math.MaxInt64-1) // room for the one byte more that is read to notice
	}
}

// WithPlainHTTP allows an http:// base URL to a host that is not loopback.
// Everyone on the network path can then read the API key.
func WithPlainHTTP() Option {
	return func(c *config) { c.plainHTTP = true }
}

// NewClient returns a client for the service at baseURL that authenticates with
// apiKey.
//
// The base URL is https://host, with the path that comes before the operations'
// paths, if there is one. http:// is refused unless the host is loopback or
// [WithPlainHTTP] is given. User info, a query and a fragment are refused.
// NewClient sends nothing: the first call shows whether the service is there
// and accepts the key. Every error is ErrInvalidArgument.
func NewClient(baseURL, apiKey string, opts ...Option) (*Client, error) {
	cfg := config{
		timeout:   30 * time.Second,
		userAgent: "horseracing-go/" + Version,
		maxBytes:  32 << 20,
	}
	for _, opt := range opts {
		if opt != nil {
			opt(&cfg)
		}
	}
	base, problem := parseBaseURL(baseURL, cfg.plainHTTP)
	if problem == nil {
		problem = checkAPIKey(apiKey)
	}
	if problem == nil {
		problem = cfg.problem
	}
	if problem != nil {
		return nil, fmt.Errorf("horseracing: NewClient: %w: %w", ErrInvalidArgument, problem)
	}

	c := &Client{
		base: base,
		header: func() http.Header {
			v := [...]string{apiKey, "application/json", "application/json", cfg.userAgent}
			return http.Header{"X-Api-Key": v[:1:1], "Content-Type": v[1:2:2], "Accept": v[2:3:3], "User-Agent": v[3:]}
		},
		secrets:  redact.New(apiKey),
		retry:    cfg.retry.withDefaults(defaultRetry),
		budget:   newRetryBudget(),
		logger:   cfg.logger,
		timeout:  cfg.timeout,
		maxBytes: cfg.maxBytes,
		drift:    newDriftWatch(cfg.drift),
	}
	c.gate = pace.NewGate(cfg.limiter, c.retry.MinWait, c.retry.MaxWait)
	var own http.Client
	if cfg.httpClient != nil {
		own = *cfg.httpClient
	}
	c.jar = own.Jar
	c.transport = newTransport(own.Transport, base.Scheme)
	c.send = c.transport
	for _, wrap := range cfg.wrappers {
		if c.send = wrap(c.send); c.send == nil {
			return nil, fmt.Errorf("horseracing: NewClient: %w: WithTransportWrapper: the wrapper returned nil", ErrInvalidArgument)
		}
	}
	if own.Timeout > 0 {
		c.timeout = min(c.timeout, own.Timeout)
	}
	c.Horses = &HorsesService{c}
	c.Races = &RacesService{c}
	c.Tournaments = &TournamentsService{c}
	c.Missions = &MissionsService{c}
	return c, nil
}

// NewClientFromEnv calls [NewClient] with the base URL and the API key from the
// environment variables HORSERACING_BASE_URL and HORSERACING_API_KEY.
func NewClientFromEnv(opts ...Option) (*Client, error) {
	const urlVariable, keyVariable = "HORSERACING_BASE_URL", "HORSERACING_API_KEY"
	var missing []string
	if os.Getenv(urlVariable) == "" {
		missing = append(missing, urlVariable+" to the service's URL, of the form https://host")
	}
	if os.Getenv(keyVariable) == "" {
		missing = append(missing, keyVariable+" to your API key")
	}
	if missing != nil {
		return nil, fmt.Errorf("horseracing: NewClientFromEnv: %w: set %s", ErrInvalidArgument, strings.Join(missing, " and "))
	}
	return NewClient(os.Getenv(urlVariable), os.Getenv(keyVariable), opts...)
}

func parseBaseURL(text string, plainHTTP bool) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return nil, errors.New("the base URL is empty")
	case err != nil: // its text repeats the URL, a password in it included
		return nil, errors.New("the base URL is not a URL of the form https://host")
	case u.User != nil:
		return nil, errors.New("the base URL must not contain a user or password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(text, "#"):
		return nil, errors.New("the base URL must not contain a query or fragment")
	case u.Hostname() == "" || u.Opaque != "":
		return nil, errors.New("the base URL must be of the form https://host")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("the base URL must begin with https://")
	case u.Scheme == "http" && !plainHTTP && !isLoopback(u.Hostname()):
		return nil, fmt.Errorf("http:// to %s would send the API key in the clear: use https://, or allow it with WithPlainHTTP", clip(u.Hostname(), 100))
	}
	if hasDotSegment(u.Path) {
		return nil, errors.New("the path of the base URL must not contain . or .. segments")
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/"), RawPath: strings.TrimRight(u.RawPath, "/")}, nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func checkAPIKey(key string) error {
	switch {
	case key == "":
		return errors.New("the API key is empty")
	case hasControl(key):
		return errors.New("the API key contains a control character: was it read from a file together with the newline?")
	case strings.TrimSpace(key) != key:
		return errors.New("the API key begins or ends with a space")
	}
	return nil
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, unicode.IsControl)
}

// tokenBucket is a rate.Limiter whose errors are the context's: of a deadline
// that it would miss, rate.Limiter returns an error of its own, at once.
type tokenBucket struct{ *rate.Limiter }

func (b tokenBucket) Wait(ctx context.Context) error {
	err := b.Limiter.Wait(ctx)
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("the rate limit allows the next request only after the deadline: %w", context.DeadlineExceeded)
}
