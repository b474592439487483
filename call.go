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

	"github.com/hashicorp/go-retryablehttp"

	"github.com/horseracing-go/horseracing/internal/pace"
)

// CallOption changes one call. Methods with such a parameter take any number of
// options. A nil option changes nothing.
type CallOption func(*callConfig)

type callConfig struct {
	capture    *Response
	background bool
	retry      Retry // its zero members are the client's
	problem    error // the first thing wrong with an option
}

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

// CaptureResponse stores the last response of the call in r, whether the call
// succeeds or fails. If there was no response, only r.Attempts is set.
func CaptureResponse(r *Response) CallOption {
	return func(c *callConfig) { c.capture = r }
}

// AsBackground gives a read the priority of a walk: when requests must wait, it
// is sent after all others. On a call that changes something it is
// ErrInvalidArgument.
func AsBackground() CallOption {
	return func(c *callConfig) { c.background = true }
}

// CallRetry sets how this one call is retried. Fields that are zero have the
// client's values. For a call that changes something only Max applies, to
// attempts that certainly did not arrive.
func CallRetry(r Retry) CallOption {
	return func(c *callConfig) {
		if problem := r.problem(); problem != nil && c.problem == nil {
			c.problem = fmt.Errorf("CallRetry: %w", problem)
		}
		c.retry = r
	}
}

// CallInfo describes the call that a request belongs to.
type CallInfo struct {
	Method  string
	Route   string // the path with its placeholders: /api/v1/races/{raceId}; for Do the path itself, redacted
	ID      string // the horse, race or tournament requested, redacted; empty if the route has no placeholder
	Attempt int    // counts from 1
}

type callKey struct{}

// CallFromContext returns the call that a request belongs to, given the
// request's context. It is meant for [WithTransportWrapper], where a span or a
// metric named by Route does not grow with the number of horses.
func CallFromContext(ctx context.Context) (CallInfo, bool) {
	x, ok := ctx.Value(callKey{}).(*exchange)
	if !ok {
		return CallInfo{}, false
	}
	return CallInfo{Method: x.op.method, Route: x.op.route, ID: x.id(), Attempt: x.attempts}, true
}

// Response is a response as it was received: decompressed, with keys redacted in
// the header and, if the call failed, in the body. Printing or logging a
// Response omits header and body.
type Response struct {
	StatusCode int // zero: there was no response
	Header     http.Header
	Body       []byte // of an error status at most the first MiB
	Attempts   int    // including one that ended before anything was sent
}

// Format prints a summary: a body may echo keys.
func (r Response) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "{StatusCode:%d Attempts:%d Body:%d bytes}", r.StatusCode, r.Attempts, len(r.Body))
}

// LogValue logs a summary: a body may echo keys.
func (r Response) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(r)) }

// operation is one operation of the service, and how its response is decoded.
type operation struct {
	method          string
	route           string  // the path, with a {placeholder} for the id
	id              entryID // for the placeholder; nil: there is none
	body            any
	custom          bool   // by Do: nothing is documented, and raw and query are used as they are
	raw             string // the path, escaped
	query           string
	emptyIsNotFound bool      // null or an empty array means that there is no such entry
	objectOrArray   bool      // an object may stand for an array of one
	noCache         bool      // a cached response will not do
	order           pace.Rank // of a read, when the pace is short; zero: a single read
	patience        *patience // waits refusals out; nil: they count as other failures
	hint            string    // what to do if the outcome of a write is unknown
}

func (op operation) String() string { return op.method + " " + op.route }

func (op operation) documented() bool { return !op.custom }

func (op operation) isRead() bool { return op.method == http.MethodGet }

// idText returns the requested id as text; empty: there is none.
func (op operation) idText() string {
	switch id := op.id.(type) {
	case HorseNumber:
		return strconv.FormatInt(int64(id), 10)
	case RaceID:
		return strconv.FormatInt(int64(id), 10)
	case TournamentID:
		return string(id)
	}
	return ""
}

// invalid returns the error of a call that is not made. It does not redact the id.
func (op operation) invalid(problem string) error {
	return fmt.Errorf("%s: %w: %s", operationText(op.method, op.route, op.idText()), ErrInvalidArgument, problem)
}

// path returns the operation's path, decoded and escaped, or what is wrong with
// its id.
func (op operation) path() (path, escaped, problem string) {
	if op.custom {
		path, _ = url.PathUnescape(op.raw) // Do has parsed it
		return path, op.raw, ""
	}
	if op.id == nil {
		return op.route, op.route, ""
	}
	before, _, _ := strings.Cut(op.route, "{")
	id := op.idText()
	return before + id, before + url.PathEscape(id), op.id.problem()
}

// hasDotSegment reports whether a path contains . or .., which servers resolve.
func hasDotSegment(path string) bool {
	segments := strings.Split(path, "/")
	return slices.Contains(segments, ".") || slices.Contains(segments, "..")
}

// Do calls an operation that the SDK has no method for yet. The path is relative
// to the base URL and may carry a query. A body that is not nil is sent as JSON,
// a [UserKey] in it as the key itself. The response is decoded into out unless
// out is nil. A response that is not JSON leaves out as it is, and is a
// *[DecodeError]; so is an empty one to a GET.
//
// Any method except GET is assumed to change something and follows the rules of
// [RacesService.Register]: it is sent once, and ErrOutcomeUnknown means that it
// may have taken effect. Without a body it carries {}, because net/http repeats
// requests that have none.
func (c *Client) Do(ctx context.Context, method, path string, body, out any, opts ...CallOption) error {
	op := operation{method: method, body: body, custom: true, hint: "read what it changes before sending it again"}
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || u.Fragment != "" || u.Path == "" || hasControl(path) {
		op.route = "(path)"
		return op.invalid("the path must be relative to the base URL, like /api/v1/races/open")
	}
	op.raw, op.query = "/"+strings.TrimLeft(u.EscapedPath(), "/"), u.RawQuery
	op.route = clip(c.secrets.Text(op.raw), 200)
	if hasDotSegment(u.Path) {
		return op.invalid("the path must not contain . or .. segments")
	}
	if strings.ToUpper(method) != method || method == "" || strings.ContainsFunc(method, func(r rune) bool { return r < 'A' || r > 'Z' }) {
		return operation{method: "Do", route: op.route}.invalid("the method must be an HTTP method in capitals, like GET")
	}
	if v := reflect.ValueOf(out); out != nil && (v.Kind() != reflect.Pointer || v.IsNil()) {
		return op.invalid("out must be a pointer that is not nil")
	}
	_, err = c.call(ctx, op, out, opts)
	return err
}

// call is the one way a request is made. It builds the request, sends it until
// an attempt is final, decodes the response into out, and returns it.
func (c *Client) call(ctx context.Context, op operation, out any, opts []CallOption) (*rawResponse, error) {
	x := exchange{client: c, op: op, out: out, secrets: c.secrets, config: configOf(opts)}
	x.retry = x.config.retry.withDefaults(c.retry)
	if x.config.background {
		x.op.order = pace.Walk
	}
	req, err := x.newRequest(ctx)
	if err == nil {
		err = x.send(req)
	}
	if x.config.capture != nil {
		*x.config.capture = x.captured(err)
	}
	if _, partly := errors.AsType[*unreadableEntries](err); err != nil && !partly {
		return nil, err
	}
	if c.drift != nil && out != nil {
		c.drift.compare(ctx, op, x.secrets, x.response.body, reflect.TypeOf(out))
	}
	return x.response, err
}

// invalid returns the error of a call that is not made.
func (x *exchange) invalid(problem string) error {
	operation, _, _ := strings.Cut(x.operation(), "{") // an empty id leaves its placeholder
	return fmt.Errorf("%s: %w: %s", operation, ErrInvalidArgument, problem)
}

// newRequest builds the request, and notes the keys in it.
func (x *exchange) newRequest(ctx context.Context) (*retryablehttp.Request, error) {
	c, op := x.client, x.op
	path, escaped, problem := op.path()
	if problem == "" && ctx == nil {
		problem = "the context is nil"
	}
	switch {
	case problem != "":
	case x.config.problem != nil:
		problem = x.config.problem.Error()
	case x.config.background && !op.isRead():
		problem = "AsBackground is for reads"
	}
	if problem != "" {
		return nil, x.invalid(problem)
	}
	var body []byte
	var err error
	switch {
	case op.body != nil:
		var keys []string
		body, keys, err = encodeBody(op.body)
		x.secrets = x.secrets.And(keys...)
		if op.custom { // the caller may have written a key of the body into the path
			x.op.route = clip(x.secrets.Text(op.raw), 200)
		}
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
	// The headers are set for each attempt: net/http's Client would copy them.
	plain := http.Request{Method: op.method, URL: &u, Host: u.Host, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	req := &retryablehttp.Request{Request: plain.WithContext(ctx)}
	if body != nil {
		if err := req.SetBody(body); err != nil {
			return nil, op.invalid(err.Error())
		}
	}
	if !op.isRead() {
		// With GetBody, net/http's HTTP/2 repeats a request by itself, even
		// one that the service has read.
		req.GetBody = nil
	}
	return req, nil
}
