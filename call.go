package horseracing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/redact"
	"github.com/horseracing-go/horseracing/internal/route"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// backend is what a call needs of its client.
type backend struct {
	base        *url.URL
	secrets     redact.Keys
	transport   *transport.Client
	retry       Retry // all fields are set
	pageRetries int   // Retry.Max for the pages of a listing
	logger      *slog.Logger
	drifts      drifts
	onSkip      func(context.Context, error) // of WithSkipHandler; may be nil
}

// call is one call of an operation. internal/transport makes its attempts and
// describes them in the record.
type call struct {
	backend *backend
	op      operation
	config  callConfig
	secrets redact.Keys // those of the client, and those in the request's body
	record  *transport.Record
}

// do is the one way a call is made: it sends the request of an operation,
// decodes the response unless decode is nil, and returns its record.
func do(ctx context.Context, b *backend, op operation, decode decoder, opts []CallOption) (*transport.Record, error) {
	call := call{backend: b, op: op, secrets: b.secrets, config: configOf(opts)}
	request, err := call.request(ctx, decode != nil)
	if err == nil {
		call.record = b.transport.Do(ctx, request)
		err = call.markOutcome(call.result(decode))
	}
	if call.config.capture != nil {
		*call.config.capture = call.captured()
	}
	return call.record, err
}

// request returns the request, and notes the keys in it.
func (c *call) request(ctx context.Context, wantJSON bool) (transport.Request, error) {
	if problem := c.problem(ctx); problem != nil {
		return transport.Request{}, c.secrets.Error(c.op.invalid(problem))
	}
	body, err := c.body()
	if err != nil {
		return transport.Request{}, err
	}
	r := transport.Request{
		Method: c.op.method, Route: c.op.route, ID: c.secrets.Text(c.op.idText()), URL: c.url(), Payload: body, Keys: c.secrets,
		PaceRoute: cmp.Or(c.op.paceRoute, c.op.route), Priority: max(pace.Read, c.op.order), Patient: c.op.isPatient, NoCache: c.op.noCache,
		Retry: transport.Retry(c.config.retry.withDefaults(c.backend.retry)), OnSend: c.config.onSend, WantJSON: wantJSON,
	}
	if c.config.background {
		r.Priority = pace.Walk
	} else if !c.op.isRead() {
		r.Priority = pace.Write
	}
	return r, nil
}

// problem returns why the call cannot be made, or nil.
func (c *call) problem(ctx context.Context) error {
	if c.op.id != nil && c.op.id.problem() != nil {
		return c.op.id.problem()
	}
	switch {
	case ctx == nil:
		return errNilContext
	case c.config.background && !c.op.isRead():
		return errors.New("AsBackground is for reads")
	case len(c.config.onSend) > 0 && c.op.isRead():
		return errors.New("OnSend is for calls that change something")
	}
	return c.config.problem
}

// body returns the body of the request, and notes the keys in it.
func (c *call) body() ([]byte, error) {
	if c.op.body == nil {
		if c.op.isRead() {
			return nil, nil
		}
		return []byte("{}"), nil // net/http repeats requests without a body
	}
	body, keys, err := encodeBody(c.op.body)
	c.secrets = c.secrets.And(keys...)
	if c.op.raw != "" { // the caller may have written a key of the body into the path
		c.op.route = clip(c.secrets.Text(c.op.raw), 200)
	}
	if err != nil {
		return nil, c.op.invalid(errors.New("the body cannot be encoded: " + clip(c.secrets.Text(err.Error()), maxErrorMessage)))
	}
	return body, nil
}

// url returns the URL of the request.
func (c *call) url() *url.URL {
	path := c.op.raw
	if path == "" {
		path = route.Fill(c.op.route, url.PathEscape(c.op.idText()))
	}
	u := *c.backend.base
	u.RawPath = u.EscapedPath() + path
	u.Path, _ = url.PathUnescape(u.RawPath) // both parts were checked
	u.RawQuery = c.op.query
	return &u
}

// result decodes the last response, or returns the error of the call.
func (c *call) result(decode decoder) error {
	r := c.record
	expired, isExpired := errors.AsType[*pace.ExpiredError](r.Stopped)
	switch {
	case isExpired && r.Attempts() == 0:
		return c.expiredError(expired)
	case isExpired && r.Status != 0 && !r.IsSuccess():
		e := c.apiError()
		e.RetryAfter = max(e.RetryAfter, expired.For)
		return e
	case r.Stopped != nil || r.Status == 0:
		return c.transportError()
	case !r.IsSuccess():
		return c.apiError()
	case r.Err != nil: // an HTML page, or an encoding
		return newDecodeError(r, &readError{err: r.Err})
	case c.op.id != nil && (r.Status == http.StatusNoContent || isNothing(r.Body)):
		return notFound(r)
	}
	var err error
	if decode != nil {
		err = decode(r)
	}
	if err == nil && c.op.isRead() && !bytes.Contains(r.Body, []byte(`"error`)) { // most have none, and are long
		return nil
	}
	if words, declared := errorWords(r.Body); declared || err != nil && words != "" {
		return c.apiError()
	}
	return err
}

// transportError returns the error of a call without a complete response.
func (c *call) transportError() *TransportError {
	r := c.record
	cause := r.Err
	switch {
	case r.Stopped != nil && r.Err != nil:
		cause = fmt.Errorf("%w after: %w", r.Stopped, r.Err)
	case r.Stopped != nil && r.Status != 0:
		cause = fmt.Errorf("%w after status %d", r.Stopped, r.Status)
	case r.Stopped != nil:
		cause = r.Stopped
	}
	return &TransportError{Method: r.Method, Route: r.Route, ID: r.ID, Attempts: r.Attempts(), Err: c.secrets.Error(cause)}
}

// newAPIError returns an error for the last attempt of a call.
func newAPIError(r *transport.Record, status int) *APIError {
	return &APIError{
		StatusCode: status, Method: r.Method, Route: r.Route, ID: r.ID, Header: r.Keys.Header(r.Header),
		RetryAfter: r.RetryAfter, Attempts: r.Attempts(),
	}
}

// expiredError returns the error of a call that was not sent, because the service
// refuses requests for longer than the call may wait.
func (c *call) expiredError(expired *pace.ExpiredError) *APIError {
	e := newAPIError(c.record, expired.Status)
	e.Message, e.RetryAfter = expired.Error(), expired.For
	if 0 < expired.For && expired.For <= time.Hour { // the same instant, and so the same text, until then
		e.Message += " until " + time.Now().Add(expired.For).UTC().Round(time.Second).Format(time.RFC3339)
	}
	return e
}

// notFound returns the error of a successful response without the entry that was
// requested.
func notFound(r *transport.Record) *APIError {
	e := newAPIError(r, r.Status)
	e.absent = true
	return e
}

// notRequested returns the error of a successful response that contains something else
// than the entry that was requested.
func notRequested(r *transport.Record, found string) *DecodeError {
	return newDecodeError(r, &readError{err: fmt.Errorf("it contains %s, which was not requested", clip(redact.Visible(found), 200))})
}

// apiError returns the last response as an error.
func (c *call) apiError() *APIError {
	r, e := c.record, newAPIError(c.record, c.record.Status)
	text := c.redactedBody()
	e.Body = []byte(text[:min(len(text), maxErrorBody)])
	words, _ := errorWords(r.Body)
	switch {
	case isRedirect(r.Status):
		e.Message = "to " + clip(c.secrets.Text(redact.Visible(transport.RedirectOrigin(c.backend.base, r.Header))), 200)
	case words != "":
		e.Message = clip(c.secrets.Text(redact.Visible(words)), maxErrorMessage)
	case transport.IsHTML(r.Body):
		e.Message, e.isPage, e.hadBody = "an HTML page", true, c.op.isRead() && c.op.body != nil
	default:
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		e.Message = clip(redact.Visible(line), 200)
	}
	return e
}

// redactedBody returns the last body as text without keys.
func (c *call) redactedBody() string {
	if c.record.Truncated {
		return c.secrets.Truncated(string(c.record.Body))
	}
	return c.secrets.Text(string(c.record.Body))
}

// markOutcome marks the error of a write whose outcome is unknown.
func (c *call) markOutcome(err error) error {
	if err == nil || !c.record.MayHaveTakenEffect() {
		return err
	}
	return &outcomeUnknown{err: err, hint: c.op.hint}
}

// captured returns the last response for CaptureResponse.
func (c *call) captured() Response {
	r := c.record
	switch {
	case r == nil: // nothing was sent
		return Response{}
	case r.Status == 0:
		return Response{Attempts: r.Attempts()}
	}
	return Response{StatusCode: r.Status, Header: c.secrets.Header(r.Header), Body: []byte(c.redactedBody()), Attempts: r.Attempts()}
}

// operation is one operation of the service, and how its response is decoded.
type operation struct {
	method        string
	route         string // the path, with a {placeholder} for the id
	id            pathID // for the placeholder, or nil if there is none
	body          any
	raw           string // the path, escaped, of a call by Do, of which nothing is documented
	query         string
	objectOrArray bool          // an object is accepted as an array of one, as it is for every id
	noCache       bool          // a cached response must not be used
	paceRoute     string        // that the service may limit on its own, unless it is the route
	order         pace.Priority // of a read: zero for a single one, which goes before polls, and these before walks
	isPatient     bool          // while it is refused it waits, as long as the context allows
	hint          string        // what to do if the outcome of a write is unknown
}

var errNilContext = errors.New("the context is nil")

func (op operation) String() string { return op.method + " " + op.route }

func (op operation) isRead() bool { return op.method == http.MethodGet }

// invalid returns the error of a call that is not made. It does not redact the id.
func (op operation) invalid(problem error) error {
	return fmt.Errorf("%s: %w: %w", operationText(op.method, op.route, op.idText()), ErrInvalidArgument, problem)
}

// idText returns the requested id as text, or the empty string.
func (op operation) idText() string {
	if op.id == nil {
		return ""
	}
	return op.id.text()
}
