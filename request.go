package horseracing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/redact"
	"github.com/horseracing-go/horseracing/internal/route"
	"github.com/horseracing-go/horseracing/internal/transport"
)

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
func (op operation) problem(ctx context.Context, config *callConfig) error {
	isRead := op.method == http.MethodGet
	switch {
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

// retryCost returns what a retry costs, in tokens of the budget.
func (op operation) retryCost() int {
	if op.isPatient {
		return transport.PageCost
	}
	return transport.RetryCost
}

// request is what a call sends, in each of its attempts. It does not change.
type request struct {
	op      operation
	info    CallInfo    // of the first attempt
	keys    redact.Keys // of the client, and those in the body
	url     url.URL
	payload []byte // nil if none is sent

	priority pace.Priority // of each attempt
	how      json.Options  // of decoding the response
}

// newRequest checks an operation and makes its request. With an error, the request names what
// was requested.
func (r *request) init(ctx context.Context, b *backend, op operation, config *callConfig) (err error) {
	r.op, r.keys, r.how = op, b.secrets, b.how
	if problem := op.problem(ctx, config); problem != nil {
		return r.keys.Error(op.invalid(problem))
	}
	if op.body != nil {
		var keys []string
		r.payload, keys, err = encodeBody(op.body)
		r.keys = r.keys.And(keys...)
	} else if op.method != http.MethodGet {
		r.payload = []byte("{}") // net/http repeats requests without a body
	}
	path, id := op.raw, ""
	if path != "" { // the caller may have written a key of the body into the path
		r.op.route = clip(r.keys.Text(path), 200)
	} else if path = op.route; op.id != nil {
		id, path = r.keys.Text(op.idText()), route.Fill(path, url.PathEscape(op.idText()))
	}
	if err != nil {
		return r.op.invalid(errors.New("the body cannot be encoded: " + clip(r.keys.Text(err.Error()), maxErrorMessage)))
	}
	r.info = CallInfo{Method: op.method, Route: r.op.route, ID: id, Attempt: 1}
	switch {
	case config.background:
		r.priority = pace.Walk
	case op.method == http.MethodGet:
		r.priority = max(pace.Read, op.order)
	}
	r.url = *b.base
	r.url.RawPath = r.url.EscapedPath() + path
	r.url.Path, _ = url.PathUnescape(r.url.RawPath) // both parts were checked
	r.url.RawQuery = op.query
	return nil
}

// String names the operation, with the id that was requested.
func (r *request) String() string { return operationText(r.info.Method, r.info.Route, r.info.ID) }
