package horseracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/redact"
	"github.com/horseracing-go/horseracing/internal/route"
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
		err = call.markOutcome(call.result(decode))
	}
	if call.config.capture != nil {
		*call.config.capture = call.captured(err)
	}
	return call.record, err
}

// request returns the request, and notes the keys in it.
func (c *call) request(ctx context.Context, wantJSON bool) (transport.Request, error) {
	if problem := c.problem(ctx); problem != nil {
		name := operationText(c.op.method, c.op.route, c.secrets.Text(c.op.idText()))
		return transport.Request{}, fmt.Errorf("%s: %w: %w", name, ErrInvalidArgument, problem)
	}
	body, err := c.body()
	if err != nil {
		return transport.Request{}, err
	}
	r := transport.Request{
		Method: c.op.method, Route: c.op.route, URL: c.url(), Payload: body, Keys: c.secrets,
		PaceRoute: c.op.paceRoute(), Priority: c.op.priority(), Retry: transport.Retry(c.config.retry.withDefaults(c.backend.retry)),
		Patience: c.op.patience, NoCache: c.op.noCache, OnSend: c.config.onSend, WantJSON: wantJSON,
	}
	if c.op.id != nil {
		r.ID = c.secrets.Text(c.op.id.text())
	}
	if c.backend.logger.Enabled(ctx, slog.LevelError) {
		r.Name = operationText(r.Method, r.Route, r.ID)
	}
	if c.config.background {
		r.Priority = pace.Walk
	}
	return r, nil
}

// problem returns why the call cannot be made, or nil.
func (c *call) problem(ctx context.Context) error {
	if _, _, problem := c.op.path(); problem != nil {
		return problem
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
	if c.op.isRaw { // the caller may have written a key of the body into the path
		c.op.route = clip(c.secrets.Text(c.op.raw), 200)
	}
	if err != nil {
		return nil, c.op.invalid(errors.New("the body cannot be encoded: " + clip(c.secrets.Text(err.Error()), maxErrorMessage)))
	}
	return body, nil
}

// url returns the URL of the request.
func (c *call) url() *url.URL {
	path, escaped, _ := c.op.path()
	u := *c.backend.base
	u.Path += path
	if escaped != path || u.RawPath != "" {
		u.RawPath = c.backend.base.EscapedPath() + escaped
	}
	u.RawQuery = c.op.query
	return &u
}

// result decodes the last response, or returns the error of the call.
func (c *call) result(decode decoder) error {
	r := c.record
	if expired, isExpired := errors.AsType[*pace.ExpiredError](r.Stopped); isExpired {
		if r.Attempts() == 0 {
			return c.expiredError(expired)
		}
		if r.Status != 0 && !r.IsSuccess() {
			e := c.apiError()
			e.RetryAfter = max(e.RetryAfter, expired.For)
			return e
		}
	}
	if r.Stopped != nil || r.Status == 0 {
		return c.transportError()
	}
	if !r.IsSuccess() {
		return c.apiError()
	}
	return c.decode(decode)
}

// decode decodes a successful response.
func (c *call) decode(decode decoder) error {
	r := c.record
	if r.Err == nil && c.op.emptyIsNotFound && isNothing(r.Body) {
		return notFound(r)
	}
	var err error
	if r.Err != nil { // an HTML page or cut
		err = newDecodeError(r, &readError{err: r.Err})
	} else if decode != nil && (len(r.Body) > 0 || c.op.isRead()) {
		err = decode(r)
	}
	if err == nil && (c.op.isReceipt || !mayDeclareError(r.Body)) {
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

// expiredError returns the error of a call that was not sent, because the service
// refuses requests for longer than the call may wait.
func (c *call) expiredError(expired *pace.ExpiredError) *APIError {
	e := newAPIError(c.record, expired.Status)
	e.Message, e.RetryAfter = "not sent, because an earlier request was refused", expired.For
	if expired.Spent {
		e.Message = "not sent, because the service announced that it accepts no more requests"
	}
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

// plainRefusals are the statuses of refusals that do not depend on what was done before.
var plainRefusals = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests}

// repeatedWords are those of services that refuse what was done before.
var repeatedWords = []string{"already", "duplicate", "exists", "is registered"}

const statusClientClosed = 499 // of nginx, whose client did not wait

// markOutcome marks the error of a write whose outcome is unknown: every error except
// that of a refusal, and of a request that certainly was not sent.
func (c *call) markOutcome(err error) error {
	r := c.record
	refused := r.Status >= 400 && r.Status <= 499 &&
		(slices.Contains(plainRefusals, r.Status) || !r.Truncated && !mayFollowEffect(r.Status, r.Body))
	unsent := r.Attempts() == 0 || r.Status == 0 && r.Unsent
	if err == nil || c.op.isRead() || refused || unsent {
		return err
	}
	return &outcomeUnknown{err: err, hint: c.op.hint}
}

// mayFollowEffect reports whether a 4xx may be the response to a request that took effect:
// a server gave up waiting, or a proxy repeated the request and the repeat was refused
// because the first one had succeeded. So may be a conflict without a reason, or a body that
// is not text.
func mayFollowEffect(status int, body []byte) bool {
	text := string(trimSpace(body))
	isStructured := strings.IndexAny(text, "{[<") == 0 // of JSON, or those of a page
	var value any
	if unmarshal(body, &value) == nil {
		text = fmt.Sprint(value) // without the escapes of JSON
	}
	reason, _ := errorWords(body, true)
	if !isStructured {
		reason = text
	}
	text, reason = strings.ToLower(text), strings.TrimPrefix(strings.ToLower(reason), "409 ")
	switch {
	case status == http.StatusRequestTimeout, status == statusClientClosed, !utf8.Valid(body): // compressed in a way that was not requested, say
		return true
	case status == http.StatusConflict && (slices.Contains(noErrors, reason) || reason == "conflict"):
		return true
	}
	return slices.ContainsFunc(repeatedWords, func(words string) bool { return strings.Contains(text, words) })
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

// getOne calls an operation whose response is an object.
func getOne[T any](ctx context.Context, b *backend, op operation, opts []CallOption) (*T, error) {
	op.emptyIsNotFound = true
	var value T
	var wrong []string
	record, err := do(ctx, b, op, decodeObject(&value, &wrong), opts)
	if err != nil {
		return nil, err
	}
	b.drifts.report(ctx, op, record, reflect.TypeFor[T](), wrong)
	if key := idOf(&value); key != "" && key != op.idText() {
		return nil, notRequested(record, key)
	}
	return &value, nil
}

// getList calls an operation whose response is an array. With an error it returns
// the entries that could be read.
func getList[T any](ctx context.Context, b *backend, op operation, opts []CallOption) ([]T, error) {
	l, err := callList[T](ctx, b, op, opts)
	if l == nil {
		return nil, err
	}
	values := make([]T, 0, len(l.entries))
	for i := range l.entries {
		if e := &l.entries[i]; e.err == nil {
			values = append(values, e.value)
		}
	}
	return values, err
}

// getEntry calls an operation whose response is an array, and returns the entry with the
// operation's id. A single entry without an id is accepted. Of several with the id it
// returns the one with the highest fee, because any of them may be charged.
func getEntry[T any](ctx context.Context, b *backend, op operation, opts []CallOption) (*T, error) {
	op.emptyIsNotFound = true
	l, err := getEntries[T](ctx, b, op, opts)
	if err != nil {
		return nil, err
	}
	if len(l.entries) == 0 {
		return nil, notFound(l.record)
	}
	return findRequested(l, op.idText())
}

// findRequested returns the entry of a list with an id, as getEntry does.
func findRequested[T any](l *list[T], id string) (*T, error) {
	var found *T
	var hidden *DecodeError // of an unreadable entry that may have the id
	other := "entries without an id"
	for i := range l.entries {
		e := &l.entries[i]
		switch key := idOf(&e.value); {
		case key != "" && key != id:
			other = key
		case e.err != nil && key == id:
			return nil, e.err.ofResponse(l.record.ID, e.err.Raw, e.err.Err)
		case e.err != nil:
			hidden = e.err
		case key == "" && len(l.entries) > 1: // it may be another one
		case found == nil || feeOf(&e.value).Cmp(feeOf(found)) > 0:
			found = &e.value
		}
	}
	switch {
	case found != nil:
		return found, nil
	case hidden != nil:
		return nil, hidden.ofResponse(l.record.ID, hidden.Raw, hidden.Err)
	}
	return nil, notRequested(l.record, other)
}

// feeOf returns the entry fee of a race or a tournament.
func feeOf(entry any) BigInt {
	switch e := entry.(type) {
	case *Race:
		return e.EntryFee
	case *Tournament:
		return e.EntryFee
	}
	return BigInt{}
}

// getEntries calls an operation whose response is an array, and returns its entries,
// each with its value or its error.
func getEntries[T any](ctx context.Context, b *backend, op operation, opts []CallOption) (*list[T], error) {
	l, err := callList[T](ctx, b, op, opts)
	switch {
	case l == nil:
		return nil, err
	case l.dropped > 0:
		first, _ := errors.AsType[*DecodeError](err)
		cause := fmt.Errorf("%d of %d entries: %w", maxUnreadable+l.dropped, len(l.entries)+l.dropped, first.Err)
		return nil, first.ofResponse(l.record.ID, nil, cause)
	}
	return l, nil
}

// callList calls an operation whose response is an array. If it returns a list and an
// error, the error is that of the unreadable entries.
func callList[T any](ctx context.Context, b *backend, op operation, opts []CallOption) (*list[T], error) {
	l := new(list[T])
	record, err := do(ctx, b, op, func(r *transport.Record) error { return l.decode(op, r) }, opts)
	if _, isInPart := errors.AsType[*unreadableEntries](err); err != nil && !isInPart {
		return nil, err
	}
	b.drifts.report(ctx, op, record, reflect.TypeFor[T](), l.wrong)
	return l, err
}

// operation is one operation of the service, and how its response is decoded.
type operation struct {
	method          string
	route           string // the path, with a {placeholder} for the id
	id              pathID // for the placeholder, or nil if there is none
	body            any
	isRaw           bool   // called by Do: nothing is documented, and raw and query are used as they are
	raw             string // the path, escaped
	query           string
	emptyIsNotFound bool                // null or an empty array means that there is no such entry
	objectOrArray   bool                // an object is accepted as an array of one
	noCache         bool                // a cached response must not be used
	order           pace.Priority       // of a read, or zero for a single read
	patience        *transport.Patience // of a walk, or nil for a single call
	isReceipt       bool                // the decoder examines objects that declare an error
	hint            string              // what to do if the outcome of a write is unknown
}

var errNilContext = errors.New("the context is nil")

func (op operation) String() string { return op.method + " " + op.route }

func (op operation) isRead() bool { return op.method == http.MethodGet }

// invalid returns the error of a call that is not made. It does not redact the id.
func (op operation) invalid(problem error) error {
	return fmt.Errorf("%s: %w: %w", operationText(op.method, op.route, op.idText()), ErrInvalidArgument, problem)
}

// path returns the operation's path, decoded and escaped, or the problem with its id.
func (op operation) path() (path, escaped string, problem error) {
	if op.isRaw {
		path, _ = url.PathUnescape(op.raw) // Do has parsed it
		return path, op.raw, nil
	}
	if op.id == nil {
		return op.route, op.route, nil
	}
	id := op.idText()
	return route.Fill(op.route, id), route.Fill(op.route, url.PathEscape(id)), op.id.problem()
}

// priority returns the priority of the operation's requests: first those that change
// something, then single reads, then polls, then walks.
func (op operation) priority() pace.Priority {
	if !op.isRead() {
		return pace.Write
	}
	return max(pace.Read, op.order)
}

// paceRoute returns the route that the service may limit on its own: the path, which
// has one documented method, or for Do, whose paths may hold ids, the method.
func (op operation) paceRoute() string {
	if op.isRaw {
		return op.method
	}
	return op.route
}

// idText returns the requested id as text, or the empty string.
func (op operation) idText() string {
	if op.id == nil {
		return ""
	}
	return op.id.text()
}
