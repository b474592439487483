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
	record  *transport.Call
}

// do is the one way a call is made: it sends the request of an operation,
// decodes the response into out, and returns its record.
func do(ctx context.Context, b *backend, op operation, out any, opts []CallOption) (*transport.Call, error) {
	call := call{backend: b, op: op, secrets: b.secrets, config: configOf(opts), record: new(transport.Call)}
	err := call.send(ctx, out)
	if err == nil {
		err = call.result(out)
	}
	if call.config.capture != nil {
		*call.config.capture = call.captured(err)
	}
	return call.record, err
}

// send sends the request, and returns once an attempt was final.
func (c *call) send(ctx context.Context, out any) error {
	u, body, err := c.request(ctx)
	if err != nil {
		return err
	}
	r := c.record
	r.Method, r.Route, r.Keys = c.op.method, c.op.route, c.secrets
	if c.op.id != nil {
		r.ID = c.secrets.Text(c.op.id.text())
	}
	if c.backend.logger.Enabled(ctx, slog.LevelError) {
		r.Name = operationText(r.Method, r.Route, r.ID)
	}
	r.PaceRoute = c.op.paceRoute()
	r.Rank, r.Patience, r.NoCache, r.WantJSON = c.op.rank(), c.op.patience, c.op.noCache, out != nil
	if c.config.background {
		r.Rank = pace.Walk
	}
	r.Retry = transport.Retry(c.config.retry.withDefaults(c.backend.retry))
	c.backend.transport.Do(ctx, r, u, body)
	return nil
}

// request returns the URL and the body of the request, and notes the keys in it.
func (c *call) request(ctx context.Context) (*url.URL, []byte, error) {
	path, escaped, problem := c.op.path()
	switch {
	case problem != "":
	case ctx == nil:
		problem = "the context is nil"
	case c.config.problem != nil:
		problem = c.config.problem.Error()
	case c.config.background && !c.op.isRead():
		problem = "AsBackground is for reads"
	}
	if problem != "" {
		name := operationText(c.op.method, c.op.route, c.secrets.Text(c.op.idText()))
		return nil, nil, fmt.Errorf("%s: %w: %s", name, ErrInvalidArgument, problem)
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
			return nil, nil, c.op.invalid("the body cannot be encoded: " + clip(c.secrets.Text(err.Error()), maxErrorMessage))
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

// result decodes the last response into out, or returns the error of the call.
func (c *call) result(out any) error {
	held, isHeld := errors.AsType[*pace.HeldError](c.record.Stopped)
	var err error
	switch {
	case isHeld && c.record.Attempts() == 0:
		err = c.heldError(held)
	case isHeld && c.record.Status != 0 && !c.record.IsSuccess():
		last := c.apiError()
		last.RetryAfter = max(last.RetryAfter, held.For)
		err = last
	case c.record.Stopped != nil, c.record.Status == 0:
		err = c.transportError()
	case !c.record.IsSuccess():
		err = c.apiError()
	default:
		err = c.decode(out)
	}
	return c.markOutcome(err)
}

// decode decodes a successful response into out.
func (c *call) decode(out any) error {
	body := c.record.Body
	var err error
	switch {
	case c.record.Err != nil: // an HTML page or cut
		err = c.op.undecodable("", 0, c.record.Err)
	case c.op.emptyIsNotFound && isNothing(body):
		return notFound(c.record)
	case out != nil && (len(body) > 0 || c.op.isRead()):
		err = c.op.decode(c.record, out)
	}
	if err == nil && !mayDeclareError(body) {
		return nil
	}
	if words, declared := errorWords(body, false); declared || err != nil && words != "" {
		return c.apiError()
	}
	if undecodable, ok := errors.AsType[*DecodeError](err); ok {
		undecodable.redact(c.secrets)
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
func newAPIError(r *transport.Call, status int) *APIError {
	return &APIError{
		StatusCode: status, Method: r.Method, Route: r.Route, ID: r.ID, Header: r.Keys.Header(r.Header),
		RetryAfter: r.RetryAfter, Attempts: r.Attempts(), withheld: r.Withheld,
	}
}

// heldError returns the error of a call that was not sent, because the service
// refuses requests for longer than the call may wait.
func (c *call) heldError(held *pace.HeldError) *APIError {
	e := newAPIError(c.record, http.StatusTooManyRequests)
	e.Message, e.RetryAfter = "not sent, because an earlier request was refused", held.For
	return e
}

// notFound returns the error of a successful response without the entry that was
// requested.
func notFound(r *transport.Call) *APIError {
	e := newAPIError(r, r.Status)
	e.absent = true
	return e
}

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
	case transport.IsHTML(r.Body), strings.HasPrefix(strings.TrimSpace(text), "<") && strings.HasPrefix(r.Header.Get("Content-Type"), "text/html"):
		e.Message = "an HTML page"
		e.proxied = c.op.isRead() && c.op.body != nil &&
			(r.Status == http.StatusBadRequest || r.Status == http.StatusForbidden || r.Status == http.StatusLengthRequired)
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
