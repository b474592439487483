package horseracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/horseracing-go/horseracing/internal/redact"
)

// CallOption changes one call. Every method takes any number of them.
type CallOption func(*callConfig)

type callConfig struct{ capture *Response }

func configOf(opts []CallOption) callConfig {
	if len(opts) == 0 {
		return callConfig{}
	}
	var config callConfig
	for _, opt := range opts {
		if opt != nil {
			opt(&config)
		}
	}
	return config
}

// CaptureResponse stores the last answer of the call in r, whether the call
// succeeds or fails. Where no answer came, only r.Attempts says something.
func CaptureResponse(r *Response) CallOption {
	return func(c *callConfig) { c.capture = r }
}

// Response is an answer as it came: decompressed, and without the keys in its
// header and, where the call failed, in its body. It prints and logs without both.
type Response struct {
	StatusCode int // zero: no answer came
	Header     http.Header
	Body       []byte // of an error status at most the first MiB
	Attempts   int    // attempts made, one that ended before anything was sent included
}

// Format prints a summary: a body may echo keys.
func (r Response) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "{StatusCode:%d Attempts:%d Body:%d bytes}", r.StatusCode, r.Attempts, len(r.Body))
}

// LogValue logs a summary: a body may echo keys.
func (r Response) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(r)) }

// Format prints a summary: a body may echo keys.
func (r RegistrationReceipt) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "{StatusCode:%d Body:%d bytes}", r.StatusCode, len(r.Body))
}

// LogValue logs a summary: a body may echo keys.
func (r RegistrationReceipt) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(r)) }

// operation is one operation of the service, and how its answer is read.
type operation struct {
	method          string
	route           string // the path, with a {placeholder} for the id
	id              any    // HorseNumber, RaceID or TournamentID for the placeholder
	body            any
	custom          bool   // by Do: nothing is documented, and raw and query are used as they are
	raw             string // the path, escaped
	query           string
	emptyIsNotFound bool   // null or an empty array means that there is no such thing
	objectOrArray   bool   // an object may stand for an array of one
	hint            string // what to do when the outcome of a write is unknown
}

func (op operation) String() string { return op.method + " " + op.route }

func (op operation) documented() bool { return !op.custom }

func (op operation) isRead() bool { return op.method == http.MethodGet }

func (op operation) invalid(problem string) error {
	return fmt.Errorf("%v: %w: %s", op, ErrInvalidArgument, problem)
}

func (op operation) notFound() error {
	return fmt.Errorf("%v: %w: the answer is empty", op, ErrNotFound)
}

// path returns the operation's path, decoded and escaped.
func (op operation) path() (path, escaped string, err error) {
	if op.custom {
		path, err = url.PathUnescape(op.raw)
		return path, op.raw, err
	}
	if op.id == nil {
		return op.route, op.route, nil
	}
	var id string
	switch v := op.id.(type) {
	case HorseNumber:
		if v <= 0 {
			return "", "", op.invalid("the horse number is not positive")
		}
		id = strconv.FormatInt(int64(v), 10)
	case RaceID:
		if v <= 0 {
			return "", "", op.invalid("the race id is not positive")
		}
		id = strconv.FormatInt(int64(v), 10)
	case TournamentID:
		if id = string(v); id == "" || id == "." || id == ".." || hasControl(id) {
			return "", "", op.invalid("the tournament id is empty, a dot segment, or holds control characters")
		}
	}
	before, _, _ := strings.Cut(op.route, "{")
	return before + id, before + url.PathEscape(id), nil
}

// hasDotSegment reports whether a path walks: servers on the way resolve . and ..
func hasDotSegment(path string) bool {
	segments := strings.Split(path, "/")
	return slices.Contains(segments, ".") || slices.Contains(segments, "..")
}

// Do calls an operation the SDK has no method for yet. The path is relative to
// the base URL and may carry a query. A body that is not nil is sent as JSON
// (a [UserKey] in it as the key itself); the answer is decoded into into, unless
// that is nil. An empty answer leaves into as it is, but that to a GET is a
// *[DecodeError].
//
// Any method but GET is taken to change something and follows the rules of
// [RacesService.Register]: it is sent once, and what stays open is
// ErrOutcomeUnknown. It always carries a body, {} where none is given, for
// net/http repeats requests without one.
func (c *Client) Do(ctx context.Context, method, path string, body, into any, opts ...CallOption) error {
	op := operation{method: method, body: body, custom: true, hint: "find out by reading before trying again"}
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || u.Fragment != "" || u.Path == "" || hasControl(path) {
		op.route = "(path)"
		return op.invalid("the path must be relative to the base URL, like /api/v1/races/open")
	}
	op.raw, op.query = "/"+strings.TrimLeft(u.EscapedPath(), "/"), u.RawQuery
	op.route = clip(c.secrets.Text(op.raw), 200)
	if hasDotSegment(u.Path) {
		return op.invalid("the path must not hold dot segments")
	}
	if strings.ToUpper(method) != method || method == "" || strings.ContainsFunc(method, func(r rune) bool { return r < 'A' || r > 'Z' }) {
		return operation{method: "Do", route: op.route}.invalid("the method must be an HTTP method in capitals, like GET")
	}
	if v := reflect.ValueOf(into); into != nil && (v.Kind() != reflect.Pointer || v.IsNil()) {
		return op.invalid("the place to decode into must be a pointer")
	}
	_, err = c.call(ctx, op, into, opts)
	return err
}

// call is the one way a request is made: it builds the request, sends it,
// captures the answer and decodes it. It returns the status of the answer.
func (c *Client) call(ctx context.Context, op operation, into any, opts []CallOption) (int, error) {
	x := exchange{client: c, op: op, secrets: c.secrets, config: configOf(opts)}
	req, err := x.newRequest(ctx)
	if err == nil {
		err = x.send(req)
	}
	if err == nil {
		err = x.read(into)
	}
	if x.config.capture != nil {
		*x.config.capture = x.response(err)
	}
	if _, partly := errors.AsType[*unreadableEntries](err); err != nil && !partly {
		return 0, x.markOutcome(err)
	}
	if c.drift != nil && into != nil {
		c.drift.compare(ctx, op, x.secrets, x.answer.body, typeOf(into))
	}
	return x.answer.status, err
}

// newRequest builds the request, and notes the keys that it carries.
func (x *exchange) newRequest(ctx context.Context) (*retryablehttp.Request, error) {
	c, op := x.client, x.op
	path, escaped, err := op.path()
	if err != nil {
		return nil, err
	}
	if ctx == nil {
		return nil, op.invalid("the context is nil")
	}
	var body []byte
	switch {
	case op.body != nil:
		var keys []string
		body, keys, err = encodeBody(op.body)
		x.secrets = x.secrets.And(keys...)
		if err != nil {
			return nil, op.invalid("the body cannot be encoded: " + clip(x.secrets.Text(err.Error()), maxErrorMessage))
		}
	case !op.isRead():
		body = []byte("{}")
	}
	u := *c.base
	u.Path += path
	if escaped != path || u.RawPath != "" {
		u.RawPath = c.base.EscapedPath() + escaped
	}
	u.RawQuery = op.query
	plain := http.Request{Method: op.method, URL: &u, Host: u.Host, Header: c.header(), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	req := &retryablehttp.Request{Request: plain.WithContext(ctx)}
	if body != nil {
		if err := req.SetBody(body); err != nil {
			return nil, op.invalid(err.Error())
		}
	}
	if !op.isRead() {
		// With GetBody, net/http's HTTP/2 sends a request again by itself,
		// even one that the service has read.
		req.GetBody = nil
	}
	return req, nil
}

// read judges the status of the answer and decodes its body.
func (x *exchange) read(into any) error {
	status, body := x.answer.status, x.answer.body
	if status < 200 || status > 299 {
		return x.apiError()
	}
	var err error
	if into != nil && (len(body) > 0 || x.op.isRead()) {
		err = x.op.decode(body, into)
	}
	if err == nil && !mayDeclareError(body) {
		return nil
	}
	if words, declared := errorWords([]byte(x.answer.text()), false); declared || err != nil && words != "" {
		return x.apiError()
	}
	redactDecodeErrors(err, x.secrets)
	return err
}

// apiError makes an error of the answer.
func (x *exchange) apiError() *APIError {
	a := x.answer
	body := []byte(a.text())
	text := x.secrets.Beginning(string(body), maxErrorBody, a.cut)
	e := &APIError{
		StatusCode: a.status, Method: x.op.method, Route: x.op.route,
		Header: x.secrets.Header(a.header), Body: []byte(text),
		RetryAfter: retryAfter(a.header, time.Now()), Attempts: x.attempts,
	}
	words, _ := errorWords(body, true)
	switch {
	case isRedirect(a.status):
		e.Message = "to " + clip(x.secrets.Text(origin(x.client.base, a.header.Get("Location"))), 200)
	case words != "":
		e.Message = x.secrets.Beginning(redact.Visible(words), maxErrorBody, false)
	case looksLikeHTML(body), strings.HasPrefix(strings.TrimSpace(text), "<") && strings.HasPrefix(a.header.Get("Content-Type"), "text/html"):
		e.Message = "an HTML page"
		e.proxied = x.op.isRead() && x.op.body != nil &&
			(a.status == http.StatusBadRequest || a.status == http.StatusForbidden || a.status == http.StatusLengthRequired)
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
		return "a place that cannot be read"
	}
	return redact.Visible(target.Scheme + "://" + target.Host)
}
