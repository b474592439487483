package horseracing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json"

	"github.com/horseracing-go/horseracing/internal/call"
	"github.com/horseracing-go/horseracing/internal/decode"
	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/redact"
	"github.com/horseracing-go/horseracing/internal/registration"
	"github.com/horseracing-go/horseracing/internal/route"
)

// backend is what the services of a client share.
type backend struct {
	base        *url.URL
	secrets     redact.Keys
	calls       *call.Caller
	retry       Retry // all fields are set
	pageRetries int   // instead of retry.Max for the pages of a listing
	decoding    decode.Options
	drifts      drifts
	onSkip      func(context.Context, error) // of WithSkipHandler; may be nil

	acceptsBodies atomic.Bool // a GET with a body was accepted
	pages         tierPages
}

// operation is one operation of the service, and how its response is read.
type operation struct {
	method        string
	route         string // the path, with a {placeholder} for the id
	id            pathID // for the placeholder, or nil if there is none
	body          any
	raw           *url.URL      // the path and query of a call by Do, of which nothing is documented
	objectOrArray bool          // an object is accepted as an array of one, as it is for every id
	withoutID     *decode.Error // the error of an entry of a list without an id, or nil if it can be used
	noCache       bool          // a cached response must not be used, as for each read with a body, which caches do not compare
	priority      pace.Priority // of a poll or a page; other reads have pace.Reads
	isPage        bool          // a request of a Pager or Follower: while it is refused it waits, until nothing was accepted for an hour
	hint          string        // what to do if the outcome of a write is unknown
	misuse        error         // what is wrong with an argument other than the id
}

var (
	errNilContext = errors.New("the context is nil")
	errNotMade    = fmt.Errorf("%w: the value was not made by NewClient or a method of a Client", ErrInvalidArgument)
)

func (op operation) String() string { return op.method + " " + op.route }

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

// problem returns why a call of the operation cannot be made with these options, or nil.
func (op *operation) problem(ctx context.Context, config *callConfig) error {
	isRead := op.method == http.MethodGet
	switch {
	case op.misuse != nil:
		return op.misuse
	case op.id != nil && op.id.problem() != nil:
		return op.id.problem()
	case ctx == nil:
		return errNilContext
	case config.background && !isRead:
		return errors.New("AsBackground is for reads")
	case len(config.onSend) > 0 && isRead:
		return errors.New("OnSend is for calls that change something")
	}
	return config.problem
}

// backendOf returns the backend of a service, or nil if NewClient did not make the service.
func backendOf[S ~struct{ *backend }](service *S) *backend {
	if service == nil {
		return nil
	}
	return struct{ *backend }(*service).backend
}

// getEntries calls an operation whose response is an array, and returns its entries,
// each with its value or its error.
func getEntries[T any](ctx context.Context, b *backend, op operation, opts []CallOption) (*list[T], error) {
	l := new(list[T])
	if err := b.do(ctx, op, l.decode, opts); err != nil {
		return nil, err
	}
	if len(l.drift) > 0 {
		b.drifts.report(ctx, l.request, l.drift)
	}
	return l, nil
}

// getList calls an operation whose response is an array. The error of an entry goes to the
// skip handler, or without one ends the call.
func getList[T any, S ~struct{ *backend }](ctx context.Context, s *S, op operation, opts []CallOption) ([]T, error) {
	b := backendOf(s)
	l, err := getEntries[T](ctx, b, op, opts)
	if err != nil {
		return nil, err
	}
	values := make([]T, 0, len(l.entries))
	for i := range l.entries {
		if e := &l.entries[i]; e.Err == nil {
			values = append(values, *e.Value)
		} else if !b.skip(ctx, e.Err) {
			return nil, e.Err
		}
	}
	return values, nil
}

// skip passes an error to the skip handler, and reports whether there is one.
func (b *backend) skip(ctx context.Context, err error) bool {
	if b.onSkip == nil {
		return false
	}
	b.onSkip(ctx, err)
	return true
}

// getEntry calls an operation whose response is an entry or an array, and returns the entry
// with the operation's id. A single entry without an id is accepted. Of several with the id it
// returns the one with the highest fee, because any of them may be charged.
func getEntry[T any, S ~struct{ *backend }](ctx context.Context, s *S, op operation, opts []CallOption) (*T, error) {
	l, err := getEntries[T](ctx, backendOf(s), op, opts)
	if err != nil {
		return nil, err
	}
	if len(l.entries) == 0 {
		return nil, l.notFound(l.Attempt)
	}
	var found *T
	id, other := op.idText(), "entries without an id"
	for i := range l.entries {
		switch e := &l.entries[i]; {
		case e.Err != nil && (e.ID == id || e.ID == ""): // it may be the one
			return nil, ofResponse(e.Err, l.ID)
		case e.ID != id && (e.ID != "" || len(l.entries) > 1):
			other = cmp.Or(e.ID, other)
		case found == nil || feeOf(e.Value).Cmp(feeOf(found)) > 0:
			found = e.Value
		}
	}
	if found == nil {
		return nil, l.notRequested(other)
	}
	return found, nil
}

// request is what a call sends, and what its response is read and its errors are made with.
type request struct {
	*backend
	call.Request
	op          operation
	config      callConfig
	hasReadBody bool // it is a read with a body, which some proxies drop or refuse
}

// hadBody reports whether it is a read with a body, and none was accepted so far.
func (r *request) hadBody() bool { return r.hasReadBody && !r.acceptsBodies.Load() }

// do makes one call: it sends the request of an operation until an attempt is final, and returns
// nil if read, which decodes a successful response, returns nil. If read is nil, any successful response
// will do. Before another attempt read may have returned an error for the response of an earlier one.
func (b *backend) do(ctx context.Context, op operation, read func(response) error, opts []CallOption) error {
	if b == nil {
		return errNotMade
	}
	var outcome call.Outcome
	r, err := b.newRequest(ctx, op, opts)
	if err == nil {
		outcome = b.calls.Do(ctx, &r.Request, func(a *call.Attempt) error { return r.accept(a, read) })
		err = r.failure(&outcome)
	}
	if r.config.capture != nil {
		*r.config.capture = r.captured(&outcome)
	}
	return err
}

// newRequest returns the request of an operation, or why the call cannot be made with these options.
func (b *backend) newRequest(ctx context.Context, op operation, opts []CallOption) (*request, error) {
	r := &request{backend: b, op: op, config: callConfig{retry: b.retry}, hasReadBody: op.method == http.MethodGet && op.body != nil}
	if op.isPage {
		r.config.retry.Max = b.pageRetries
	}
	for _, opt := range opts {
		if opt != nil {
			opt(&r.config)
		}
	}
	if problem := op.problem(ctx, &r.config); problem != nil {
		return r, b.secrets.Error(op.invalid(problem))
	}
	r.Keys = b.secrets
	var unencodable error
	if op.body != nil {
		var keys []string
		if r.Payload, keys, unencodable = encodeBody(op.body); len(keys) > 0 {
			r.Keys = r.Keys.And(keys...)
		}
	} else if op.method != http.MethodGet {
		r.Payload = []byte("{}") // net/http repeats requests without a body
	}
	r.address()
	if unencodable != nil {
		return r, operation{method: r.Method, route: r.Route}.invalid(errors.New("the body cannot be encoded: " + redact.Clip(r.Keys.Visible(unencodable.Error()), maxErrorMessage)))
	}
	switch {
	case r.config.background:
		r.Priority = pace.Walks
	case op.method == http.MethodGet:
		r.Priority = max(pace.Reads, op.priority)
	}
	r.IsPage, r.Retry, r.OnSend, r.OnRetry = op.isPage, call.Retry(r.config.retry), r.config.onSend, registration.Look(ctx)
	isLook := op.id != nil && registration.IsUncached(ctx) // of package ledger
	r.NoCache = op.noCache || r.hasReadBody || isLook
	return r, nil
}

// address sets the URL of a request, and what names it in errors and logs. It redacts the keys of the body, too,
// since a user of Do may have written one into the path.
func (r *request) address() {
	op, path := &r.op, r.op.route
	r.Info, r.URL = call.Info{Method: op.method, Route: op.route}, *r.base
	if op.raw != nil {
		path = "/" + strings.TrimLeft(op.raw.EscapedPath(), "/")
		r.Route, r.PaceRoute = redact.Clip(r.Keys.Text(path), 200), op.method // a path may hold ids
		r.URL.RawQuery = op.raw.RawQuery
	} else if op.id != nil {
		r.ID, path = r.Keys.Text(op.idText()), route.Fill(path, url.PathEscape(op.idText()))
	}
	r.URL.RawPath = r.URL.EscapedPath() + path
	r.URL.Path, _ = url.PathUnescape(r.URL.RawPath) // both parts were checked
}

// String names the operation, with the id that was requested.
func (r *request) String() string { return operationText(r.Method, r.Route, r.ID) }

// encodeBody encodes a request body, with each UserKey in the clear, and returns the
// user keys in it.
func encodeBody(body any) (encoded []byte, keys []string, err error) {
	reveal := json.MarshalFunc(func(k UserKey) ([]byte, error) {
		keys = append(keys, string(k))
		return json.Marshal(string(k))
	})
	encoded, err = json.Marshal(body, json.WithMarshalers(reveal))
	var untyped struct {
		UserKey string `json:"user_key"`
	}
	if bytes.Contains(encoded, []byte(`"user_key"`)) && decode.Unmarshal(encoded, &untyped) == nil {
		keys = append(keys, untyped.UserKey) // such as from a map of strings
	}
	if bytes.Contains(encoded, []byte(redact.Placeholder)) { // a type that encodes itself does not reveal a key
		err = errors.New("it contains " + redact.Placeholder + " in place of a key: convert the UserKey to a string")
	}
	return encoded, keys, err
}
