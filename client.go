package horseracing

import (
	"cmp"
	"context"
	standard "encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/horseracing-go/horseracing/internal/call"
	"github.com/horseracing-go/horseracing/internal/decode"
	"github.com/horseracing-go/horseracing/internal/entry"
	"github.com/horseracing-go/horseracing/internal/redact"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// Version is the SDK version sent in the default User-Agent.
const Version = "0.1.0"

// Client calls the service. Make one with [NewClient] and keep it: it holds the connections, the rate
// limit and the retry budget. It is safe for concurrent use. Printing it never reveals the API key.
type Client struct {
	Horses      *HorsesService      // horses, their missions, and the breeding offers
	Races       *RacesService       // open and finished races, and registering for one
	Tournaments *TournamentsService // open and finished tournaments
	Missions    *MissionsService    // the catalogue of missions

	*backend
}

// Close closes the client's idle connections, except those of a Transport given with
// [WithHTTPClient]. It is optional, and later calls are possible.
func (c *Client) Close() {
	if c.backend != nil {
		c.calls.CloseIdleConnections()
	}
}

func (c *Client) String() string {
	if c.backend == nil {
		return "horseracing.Client()"
	}
	return "horseracing.Client(" + c.secrets.Text(c.BaseURL()) + ")"
}

// BaseURL returns the base URL, without a slash at its end.
func (c *Client) BaseURL() string {
	if c.backend == nil {
		return ""
	}
	return c.base.String()
}

// Pace returns what the client has learned about the service's rate limit.
func (c *Client) Pace() Pace {
	if c.backend == nil {
		return Pace{}
	}
	return Pace(c.calls.Pace())
}

// Do calls an operation that the SDK has no method for yet. The path is relative to the base URL and
// may carry a query. A body that is not nil is sent as JSON, with each [UserKey] in full. The response
// is decoded into out, unless out is nil, as encoding/json would decode it; [Number] and [BigInt] keep
// all digits. If it is not JSON, or empty although the method is GET, the error is a [*DecodeError].
//
// A call with another method than GET is assumed to change something: as with [RacesService.Register],
// it is retried only if the request certainly had no effect, and may end with ErrOutcomeUnknown. A
// nil body of it is sent as {}, since net/http may repeat a request without a body.
func (c *Client) Do(ctx context.Context, method, path string, body, out any, opts ...CallOption) error {
	if c.backend == nil {
		return errNotMade
	}
	op := operation{method: method, body: body, hint: "check whether it took effect before sending it again"}
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || u.Fragment != "" || u.Path == "" || hasControl(path) {
		op.route = "(path)"
		return op.invalid(errors.New("the path must be relative to the base URL, like /api/v1/races/open"))
	}
	op.raw, op.route = u, redact.Clip(c.secrets.Text("/"+strings.TrimLeft(u.EscapedPath(), "/")), 200)
	if hasDotSegment(u.Path) {
		return op.invalid(errors.New("the path must not contain . or .. segments"))
	}
	if method == "" || strings.ContainsFunc(method, func(r rune) bool { return r < 'A' || r > 'Z' }) {
		return operation{method: "Do", route: op.route}.invalid(errors.New("the method must be an HTTP method in capitals, like GET"))
	}
	if v := reflect.ValueOf(out); out != nil && (v.Kind() != reflect.Pointer || v.IsNil()) {
		return op.invalid(errors.New("out must be a pointer that is not nil"))
	}
	if out == nil {
		return c.do(ctx, op, nil, opts)
	}
	return c.do(ctx, op, func(r response) error { return r.unmarshal(out) }, opts)
}

// unmarshal decodes a response to Do into out, which is unchanged if the body is not JSON.
func (r response) unmarshal(out any) error {
	if len(r.Body) == 0 && r.Method != http.MethodGet {
		return nil
	}
	if err := decode.Read(r.Body, new(jsontext.Value), decode.AnySyntax); err != nil {
		return err
	}
	err := standard.Unmarshal(r.Body, out)
	if wrong, ok := errors.AsType[*standard.UnmarshalTypeError](err); ok {
		return &decode.Error{Field: strings.TrimSuffix("/"+strings.ReplaceAll(wrong.Field, ".", "/"), "/"), Err: fmt.Errorf("%s does not fit %v", wrong.Value, wrong.Type)}
	} else if err != nil {
		return &decode.Error{Err: err}
	}
	return nil
}

// NewClient returns a client for the service at baseURL, https://host or https://host/prefix. http://
// is refused unless the host is loopback or [WithPlainHTTP] is given. No request is sent: the first
// call shows whether URL and key are right. Every error matches ErrInvalidArgument.
func NewClient(baseURL, apiKey string, opts ...Option) (*Client, error) {
	cfg := config{
		userAgent: "horseracing-go/" + Version,
		calls: call.Config{
			Timeout: defaultAttemptTimeout, SetBy: "WithAttemptTimeout", MaxBytes: transport.DefaultMaxBytes,
			Logger: slog.New(slog.DiscardHandler),
		},
	}
	for _, opt := range opts {
		if opt != nil {
			opt(&cfg)
		}
	}
	base, problem := parseBaseURL(baseURL, cfg.plainHTTP)
	if problem = cmp.Or(problem, checkPasted("the API key", apiKey), cfg.problem); problem != nil {
		return nil, fmt.Errorf("horseracing: NewClient: %w: %w", ErrInvalidArgument, problem)
	}
	if 0 < cfg.clientTimeout && cfg.clientTimeout < cfg.calls.Timeout {
		cfg.calls.Timeout, cfg.calls.SetBy = cfg.clientTimeout, "http.Client.Timeout"
	}
	cfg.calls.Header = headers(apiKey, cfg.userAgent)
	calls, err := call.New(cfg.calls)
	if err != nil {
		return nil, fmt.Errorf("horseracing: NewClient: %w: %w", ErrInvalidArgument, err)
	}
	b := &backend{
		base:        base,
		secrets:     redact.New(apiKey).And(cfg.userKeys...),
		calls:       calls,
		retry:       cfg.retry.withDefaults(defaultRetry),
		pageRetries: max(0, cmp.Or(cfg.retry.Max, defaultPageRetries)),
		decoding:    decode.Options{Whole: json.JoinOptions(decode.Lenient, roomForHorses), ID: idOf, Documented: documentedForm},
		drifts:      drifts{handler: cfg.drift, seen: map[Drift]bool{}},
		onSkip:      cfg.onSkip,
		pages:       tierPages{first: map[tierPage]entry.Key{}},
	}
	if cfg.drift != nil {
		b.decoding.Whole = json.JoinOptions(decode.KnownMembers, roomForHorses)
	}
	return &Client{Horses: &HorsesService{b}, Races: &RacesService{b}, Tournaments: &TournamentsService{b}, Missions: &MissionsService{b}, backend: b}, nil
}

// headers returns a function that sets the headers of a request. It keeps the key in its closure,
// where fmt does not print it. One array for all values takes three allocations less than Header.Set.
func headers(apiKey, userAgent string) func(http.Header) {
	return func(h http.Header) {
		values := []string{apiKey, userAgent, "application/json", "application/json"}
		h["X-Api-Key"], h["User-Agent"], h["Content-Type"], h["Accept"] = values[0:1:1], values[1:2:2], values[2:3:3], values[3:4:4]
	}
}

// NewClientFromEnv calls NewClient with the environment variables HORSERACING_BASE_URL and
// HORSERACING_API_KEY.
func NewClientFromEnv(opts ...Option) (*Client, error) {
	const urlName, keyName = "HORSERACING_BASE_URL", "HORSERACING_API_KEY"
	baseURL, apiKey := os.Getenv(urlName), os.Getenv(keyName)
	if baseURL == "" || apiKey == "" {
		return nil, fmt.Errorf("horseracing: NewClientFromEnv: %w: set %s to the service's URL, of the form https://host, and %s to your API key", ErrInvalidArgument, urlName, keyName)
	}
	if problem := cmp.Or(checkPasted(urlName, baseURL), checkPasted(keyName, apiKey)); problem != nil {
		return nil, fmt.Errorf("horseracing: NewClientFromEnv: %w: %w", ErrInvalidArgument, problem)
	}
	return NewClient(baseURL, apiKey, opts...)
}

// checkPasted returns what is wrong with a value that people paste, or read from a file or
// the environment, such as a key. The error contains no more of the value than a character
// that cannot be seen.
func checkPasted(name, value string) error {
	for _, r := range value {
		switch {
		case r == '\n' || r == '\r':
			return fmt.Errorf("%s contains a newline: was it read from a file together with its line end?", name)
		case r == '\ufeff':
			return fmt.Errorf("%s contains a byte order mark: save its file without one", name)
		case unicode.IsControl(r):
			return fmt.Errorf("%s contains the control character %U", name, r)
		case unicode.Is(unicode.Cf, r):
			return fmt.Errorf("%s contains the invisible character %U", name, r)
		}
	}
	switch first, _ := utf8.DecodeRuneInString(value); {
	case value == "":
		return fmt.Errorf("%s is empty", name)
	case strings.TrimSpace(value) != value:
		return fmt.Errorf("%s begins or ends with a space", name)
	case len(value) > 1 && strings.ContainsRune("\"'`", first) && strings.HasSuffix(value, string(first)):
		return fmt.Errorf("%s is in quotes: remove them", name)
	}
	return nil
}

func parseBaseURL(text string, plainHTTP bool) (*url.URL, error) {
	if problem := checkPasted("the base URL", text); problem != nil {
		return nil, problem
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "" || u.Scheme != "https" && u.Scheme != "http": // its text may hold a password
		return nil, errors.New("the base URL must be of the form https://host")
	case u.User != nil || strings.ContainsAny(text, "?#"):
		return nil, errors.New("the base URL must not contain a user, password, query or fragment")
	case u.Scheme == "http" && !plainHTTP && !isLoopback(u.Hostname()):
		return nil, fmt.Errorf("http:// to %s would send the API key in the clear: use https://, or allow it with WithPlainHTTP", redact.Clip(u.Hostname(), 100))
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/"), RawPath: strings.TrimRight(u.RawPath, "/")}, nil
}

func hasControl(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }

// hasDotSegment reports whether a path contains . or .., which servers resolve.
func hasDotSegment(path string) bool {
	segments := strings.Split(path, "/")
	return slices.Contains(segments, ".") || slices.Contains(segments, "..")
}

func isLoopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback() // false if it is no address
}
