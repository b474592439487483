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

	"github.com/horseracing-go/horseracing/internal/redact"
)

// Version is the version of this SDK, as its default User-Agent tells it.
const Version = "0.1.0"

// Client calls the service. Make one with [NewClient] and keep it: it holds
// the connections, the rate limit and the retry budget. It is safe for
// concurrent use. Its values print without the API key.
type Client struct {
	Horses      *HorsesService      // interface document, sections 4.1 to 4.4
	Races       *RacesService       // sections 4.5 to 4.9
	Tournaments *TournamentsService // sections 4.10 to 4.12
	Missions    *MissionsService    // section 4.13

	base     *url.URL
	header   func() http.Header // a new header for a request, the API key in it
	secrets  redact.Keys
	jar      http.CookieJar    // the caller's; nil: none
	reads    http.RoundTripper // for GET
	writes   http.RoundTripper // for everything else: a fresh connection each
	retry    Retry
	budget   *retryBudget
	limiter  Limiter
	logger   *slog.Logger
	timeout  time.Duration // of one attempt
	maxBytes int64
	drift    *driftWatch // nil: nobody wants to know
}

// Limiter decides when a request may be sent: Wait returns when it may, or with
// an error (the context's, when that ends first). Every attempt waits, retries
// too. A *rate.Limiter of golang.org/x/time/rate is one.
type Limiter interface {
	Wait(context.Context) error
}

// Option sets up a Client. Options are checked by [NewClient]; of several that
// set the same the last one counts.
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
	problem    error // the first thing wrong with an option
}

func (c *config) check(ok bool, option, rule string) {
	if !ok && c.problem == nil {
		c.problem = fmt.Errorf("%s: %s", option, rule)
	}
}

// WithHTTPClient makes the client send as the given http.Client does, which is
// never changed: its Transport, its Jar, and its Timeout for one attempt, where
// that is shorter than [WithAttemptTimeout]'s, are used. Its CheckRedirect is
// not, for no redirect is followed. The Transport is the place for a proxy, for
// tracing and for mocks: every attempt passes through it.
//
// Of an *http.Transport a clone without keep-alives sends the registrations, for
// on a stale connection their outcome can stay unknown. Any other RoundTripper,
// one that wraps an *http.Transport included, is used as it is and had better
// not repeat requests by itself.
func WithHTTPClient(client *http.Client) Option {
	return func(c *config) { c.httpClient = client }
}

// WithRetry sets how reads are retried; see [Retry]. Without it that is
// Retry{Max: 3}; Retry{} turns retries off.
func WithRetry(r Retry) Option {
	return func(c *config) {
		c.check(r.Max >= 0 && r.MinWait >= 0 && r.MaxWait >= 0, "WithRetry", "nothing may be negative")
		c.check(r.MaxWait == 0 || r.MinWait <= r.MaxWait, "WithRetry", "MinWait may not exceed MaxWait")
		c.retry = r
	}
}

// WithAttemptTimeout bounds one attempt, from connecting to the last byte of
// the body. The default is 30 seconds. The time of a whole call, retries and
// waits included, is bounded by its context.
func WithAttemptTimeout(d time.Duration) Option {
	return func(c *config) {
		c.check(d > 0, "WithAttemptTimeout", "the time must be positive")
		c.timeout = d
	}
}

// WithRateLimit allows so many requests per second, and bursts of so many at
// once. Every attempt takes a token, retries too. The service's own limits are
// not shown in the interface document (section 8). It sets the same as
// [WithLimiter]; without either there is no limit.
func WithRateLimit(perSecond float64, burst int) Option {
	return func(c *config) {
		c.check(perSecond > 0 && burst > 0, "WithRateLimit", "both numbers must be positive")
		c.limiter = tokenBucket{rate.NewLimiter(rate.Limit(perSecond), burst)}
	}
}

// WithLimiter uses the caller's own limiter, one that several clients or
// several processes share, say. An error of it ends the call.
func WithLimiter(l Limiter) Option {
	return func(c *config) { c.limiter = l }
}

// WithLogger logs every attempt at level Debug and every retry at level Warn:
// operation, status, duration, never a header, a body or a key. Without it
// nothing is logged.
func WithLogger(l *slog.Logger) Option {
	return func(c *config) { c.logger = l }
}

// WithUserAgent replaces the User-Agent header, which is "horseracing-go/" and
// the [Version] by default.
func WithUserAgent(agent string) Option {
	return func(c *config) {
		c.check(!hasControl(agent), "WithUserAgent", "control characters are not allowed")
		c.userAgent = agent
	}
}

// WithMaxResponseBytes bounds an answer after decompression; the default is
// 32 MiB. A larger one is ErrResponseTooLarge, and is not retried.
func WithMaxResponseBytes(n int64) Option {
	return func(c *config) {
		c.check(n > 0, "WithMaxResponseBytes", "the number must be positive")
		c.maxBytes = min(n, math.MaxInt64-1) // one byte more is asked for, to see whether there is one
	}
}

// WithPlainHTTP allows a base URL of http:// to a host that is not loopback.
// Everyone on the way can then read the API key.
func WithPlainHTTP() Option {
	return func(c *config) { c.plainHTTP = true }
}

// NewClient returns a client of the service at baseURL that sends apiKey.
//
// The base URL is https://host, with a path in front of the operations'
// paths where there is one. http:// is refused unless the host is loopback or
// [WithPlainHTTP] is given. User info, a query and a fragment are refused.
// Nothing is sent: whether the service is there and takes the key shows in the
// first call. Errors are ErrInvalidArgument.
func NewClient(baseURL, apiKey string, opts ...Option) (*Client, error) {
	cfg := config{
		retry:     Retry{Max: 3},
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
		retry:    cfg.retry.withDefaults(),
		budget:   newRetryBudget(),
		limiter:  cfg.limiter,
		logger:   cfg.logger,
		timeout:  cfg.timeout,
		maxBytes: cfg.maxBytes,
		drift:    newDriftWatch(cfg.drift),
	}
	var own http.Client
	if cfg.httpClient != nil {
		own = *cfg.httpClient
	}
	c.jar = own.Jar
	c.reads, c.writes = transports(own.Transport)
	if own.Timeout > 0 {
		c.timeout = min(c.timeout, own.Timeout)
	}
	c.Horses = &HorsesService{c}
	c.Races = &RacesService{c}
	c.Tournaments = &TournamentsService{c}
	c.Missions = &MissionsService{c}
	return c, nil
}

// NewClientFromEnv is [NewClient] with the base URL and the API key from the
// environment variables HORSERACING_BASE_URL and HORSERACING_API_KEY.
func NewClientFromEnv(opts ...Option) (*Client, error) {
	const urlVariable, keyVariable = "HORSERACING_BASE_URL", "HORSERACING_API_KEY"
	for _, name := range []string{urlVariable, keyVariable} {
		if os.Getenv(name) == "" {
			return nil, fmt.Errorf("horseracing: NewClientFromEnv: %w: set the environment variable %s", ErrInvalidArgument, name)
		}
	}
	return NewClient(os.Getenv(urlVariable), os.Getenv(keyVariable), opts...)
}

// transports returns what reads and writes are sent through. Without a
// transport of the caller's own it is Go's default one, with room for as many
// idle connections to the one host as a concurrent crawl uses.
func transports(own http.RoundTripper) (reads, writes http.RoundTripper) {
	if own == nil {
		own = http.DefaultTransport
		if t, ok := own.(*http.Transport); ok {
			t = t.Clone()
			t.MaxIdleConnsPerHost = t.MaxIdleConns
			own = t
		}
	}
	t, ok := own.(*http.Transport)
	if !ok {
		return own, own
	}
	// On a kept-alive connection a write can meet an end of file that leaves
	// open whether it arrived. A connection of its own does not have that.
	fresh := t.Clone()
	fresh.DisableKeepAlives = true
	return t, fresh
}

func parseBaseURL(text string, plainHTTP bool) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return nil, errors.New("the base URL is empty")
	case err != nil: // its text repeats the URL, a password in it included
		return nil, errors.New("the base URL is not a URL of the form https://host")
	case u.User != nil:
		return nil, errors.New("the base URL must not hold a user or password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(text, "#"):
		return nil, errors.New("the base URL must not hold a query or fragment")
	case u.Hostname() == "" || u.Opaque != "":
		return nil, errors.New("the base URL must be of the form https://host")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("the base URL must begin with https://")
	case u.Scheme == "http" && !plainHTTP && !isLoopback(u.Hostname()):
		return nil, fmt.Errorf("http:// to %s would send the API key in the clear: use https://, or allow it with WithPlainHTTP", clip(u.Hostname(), 100))
	}
	if hasDotSegment(u.Path) {
		return nil, errors.New("the path of the base URL must not hold dot segments")
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
		return errors.New("the API key holds a control character: was it read from a file, with the line's end?")
	case strings.TrimSpace(key) != key:
		return errors.New("the API key begins or ends with a space")
	}
	return nil
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, unicode.IsControl)
}

// tokenBucket makes the context's error visible in the one of rate.Limiter,
// which has a text of its own for a deadline that it would miss.
type tokenBucket struct{ *rate.Limiter }

func (b tokenBucket) Wait(ctx context.Context) error {
	err := b.Limiter.Wait(ctx)
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("the next token comes too late: %w", context.DeadlineExceeded)
}
