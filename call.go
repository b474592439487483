package horseracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/redact"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// backend is what a call needs of its client.
type backend struct {
	base      *url.URL
	secrets   redact.Keys
	transport *transport.Client
	retry     Retry // all fields are set
	logger    *slog.Logger
	drifts    drifts
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
		err = call.result(decode)
	}
	if call.config.capture != nil {
		*call.config.capture = call.captured(err)
	}
	return call.record, err
}

// request returns the request, and notes the keys in it.
func (c *call) request(ctx context.Context, wantJSON bool) (transport.Request, error) {
	u, body, err := c.urlAndBody(ctx)
	if err != nil {
		return transport.Request{}, err
	}
	r := transport.Request{
		Method: c.op.method, Route: c.op.route, URL: u, Payload: body, Keys: c.secrets,
		PaceRoute: c.op.paceRoute(), Rank: c.op.rank(), Retry: transport.Retry(c.config.retry.withDefaults(c.backend.retry)),
		Patience: c.op.patience, NoCache: c.op.noCache, WantJSON: wantJSON,
	}
	if c.op.id != nil {
		r.ID = c.secrets.Text(c.op.id.text())
	}
	if c.backend.logger.Enabled(ctx, slog.LevelError) {
		r.Name = operationText(r.Method, r.Route, r.ID)
	}
	if c.config.background {
		r.Rank = pace.Walk
	}
	return r, nil
}

// urlAndBody returns the URL and the body of the request, and notes the keys in it.
func (c *call) urlAndBody(ctx context.Context) (*url.URL, []byte, error) {
	path, escaped, problem := c.op.path()
	switch {
	case problem != nil:
	case ctx == nil:
		problem = errNilContext
	case c.config.problem != nil:
		problem = c.config.problem
	case c.config.background && !c.op.isRead():
		problem = errors.New("AsBackground is for reads")
	}
	if problem != nil {
		name := operationText(c.op.method, c.op.route, c.secrets.Text(c.op.idText()))
		return nil, nil, fmt.Errorf("%s: %w: %w", name, ErrInvalidArgument, problem)
	}
	var body []byte
	switch {
	case c.op.body != nil:
		encoded, keys, err := encodeBody(c.op.body)
		c.secrets = c.secrets.And(keys...)
		if c.op.custom { // the caller may have written a key of the body into the path
			c.op.route = clip(c.secrets.Text(c.op.raw), 200)
		}
		if err != nil {
			return nil, nil, c.op.invalid(errors.New("the body cannot be encoded: " + clip(c.secrets.Text(err.Error()), maxErrorMessage)))
		}
		body = encoded
	case !c.op.isRead():
		body = []byte("{}") // net/http repeats requests without a body
	}
	u := *c.backend.base
	u.Path += path
	if escaped != path || u.RawPath != "" {
		u.RawPath = c.backend.base.EscapedPath() + escaped
	}
	u.RawQuery = c.op.query
	return &u, body, nil
}

// result decodes the last response, or returns the error of the call.
func (c *call) result(decode decoder) error {
	r := c.record
	held, isHeld := errors.AsType[*pace.HeldError](r.Stopped)
	var err error
	switch {
	case isHeld && r.Attempts() == 0:
		err = c.heldError(held)
	case isHeld && r.Status != 0 && !r.IsSuccess():
		last := c.apiError()
		last.RetryAfter = max(last.RetryAfter, held.For)
		err = last
	case r.Stopped != nil, r.Status == 0:
		err = c.transportError()
	case !r.IsSuccess():
		err = c.apiError()
	default:
		err = c.decode(decode)
	}
	return c.markOutcome(err)
}

// decode decodes a successful response.
func (c *call) decode(decode decoder) error {
	r := c.record
	var err error
	switch {
	case r.Err != nil: // an HTML page or cut
		err = newDecodeError(r, &readError{err: r.Err})
	case c.op.emptyIsNotFound && isNothing(r.Body):
		return notFound(r)
	case decode != nil && (len(r.Body) > 0 || c.op.isRead()):
		err = decode(r)
	}
	if err == nil && !mayDeclareError(r.Body) {
		return nil
	}
	if words, declared := errorWords(r.Body, false); declared || err != nil && words != "" {
		return c.apiError()
	}
	return err
}

// transportError returns the error of a call without a complete response.
func (c *call) transportError() *TransportError {
	r := c.record
	cause := r.Err
	tooLarge, isTooLarge := errors.AsType[*transport.TooLargeError](r.Err)
	switch {
	case isTooLarge:
		cause = fmt.Errorf("%w: %w (WithMaxResponseBytes)", ErrResponseTooLarge, tooLarge)
	case r.Stopped != nil && r.Err != nil:
		cause = fmt.Errorf("%w after: %w", r.Stopped, r.Err)
	case r.Stopped != nil && r.Status != 0:
		cause = fmt.Errorf("%w after status %d", r.Stopped, r.Status)
	case r.Stopped != nil:
		cause = r.Stopped
	}
	if r.Withheld {
		cause = fmt.Errorf("%w; %s", cause, withheldAdvice)
	}
	return &TransportError{Method: r.Method, Route: r.Route, ID: r.ID, Attempts: r.Attempts(), Err: c.secrets.Error(cause)}
}

// newAPIError returns an error for the last attempt of a call.
func newAPIError(r *transport.Record, status int) *APIError {
	return &APIError{
		StatusCode: status, Method: r.Method, Route: r.Route, ID: r.ID, Header: r.Keys.Header(r.Header),
		RetryAfter: r.RetryAfter, Attempts: r.Attempts(), withheld: r.Withheld,
	}
}

// heldError returns the error of a call that was not sent, because the service
// refuses requests for longer than the call may wait.
func (c *call) heldError(held *pace.HeldError) *APIError {
	e := newAPIError(c.record, held.Status)
	e.Message, e.RetryAfter = "not sent, because an earlier request was refused", held.For
	if held.Spent {
		e.Message = "not sent, because the service announced that it accepts no more requests"
	}
	if 0 < held.For && held.For <= time.Hour { // the same instant, and so the same text, until then
		e.Message += " until " + time.Now().Add(held.For).UTC().Round(time.Second).Format(time.RFC3339)
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

// proxyRefusals are the statuses with which proxies refuse a GET with a body.
var proxyRefusals = []int{http.StatusBadRequest, http.StatusForbidden, http.StatusLengthRequired}

// apiError returns the last response as an error.
func (c *call) apiError() *APIError {
	r, e := c.record, newAPIError(c.record, c.record.Status)
	text := c.secrets.Beginning(string(r.Body), maxErrorBody, r.Truncated)
	e.Body = []byte(text)
	words, _ := errorWords(r.Body, true)
	switch {
	case isRedirect(r.Status):
		e.Message = "to " + clip(c.secrets.Text(redact.Visible(transport.RedirectOrigin(c.backend.base, r.Header))), 200)
	case words != "":
		e.Message = c.secrets.Beginning(redact.Visible(words), maxErrorBody, false)
	case transport.IsHTML(r.Header, r.Body):
		e.Message = "an HTML page"
		e.proxied = c.op.isRead() && c.op.body != nil && slices.Contains(proxyRefusals, r.Status)
	default:
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		e.Message = clip(redact.Visible(line), 200)
	}
	return e
}

// markOutcome marks the error of a write whose outcome is unknown: every error except
// that of a refusal, and of a request that certainly was not sent.
func (c *call) markOutcome(err error) error {
	r := c.record
	refused := r.Status >= 400 && r.Status <= 499 && r.Status != http.StatusRequestTimeout
	unsent := r.Attempts() == 0 || r.Status == 0 && r.Unsent
	if err == nil || c.op.isRead() || refused || unsent {
		return err
	}
	return &outcomeUnknown{err, c.op.hint}
}

// captured returns the last response for CaptureResponse.
func (c *call) captured(err error) Response {
	r := c.record
	if r == nil { // nothing was sent
		return Response{}
	}
	captured := Response{StatusCode: r.Status, Attempts: r.Attempts()}
	if r.Status == 0 {
		return captured
	}
	captured.Header, captured.Body = c.secrets.Header(r.Header), slices.Clone(r.Body)
	if err != nil {
		captured.Body = []byte(c.secrets.Beginning(string(r.Body), math.MaxInt, r.Truncated))
	}
	return captured
}
