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
)

// operation is one operation of the service, and how its response is decoded.
type operation struct {
	method        string
	route         string // the path, with a {placeholder} for the id
	id            pathID // for the placeholder, or nil if there is none
	body          any
	raw           string // the path, escaped, of a call by Do, of which nothing is documented
	query         string
	objectOrArray bool                       // an object is accepted as an array of one, as it is for every id
	problemOf     func(entry any) *readError // why an entry of a list cannot be used; may be nil
	noCache       bool                       // a cached response must not be used
	paceRoute     string                     // what the pace takes for the route, unless it is the route itself
	priority      pace.Priority              // of a poll or a page; other reads have pace.Read
	isPage        bool                       // a request of a Pager or Follower: while it is refused, it waits as long as its context
	hint          string                     // what to do if the outcome of a write is unknown
	misuse        error                      // what is wrong with an argument other than the id
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

// readsByBody reports whether the operation is a read with a body, which some proxies drop or refuse.
func (op *operation) readsByBody() bool { return op.method == http.MethodGet && op.body != nil }

// retryCost returns what a retry costs, in tokens of the budget: of a page less, because a walk of
// hours is to survive many failures.
func (op *operation) retryCost() int {
	if op.isPage {
		return 1
	}
	return 5
}

// request is what a call sends, in each of its attempts. It does not change.
type request struct {
	op      operation
	info    CallInfo    // of the first attempt
	keys    redact.Keys // of the client, and those in the body
	url     url.URL
	payload []byte // nil if none is sent

	priority pace.Priority
	decoding json.Options // of the response
}

// newRequest checks an operation and its options, and makes the request.
func newRequest(ctx context.Context, b *backend, op *operation, config *callConfig) (request, error) {
	if problem := op.problem(ctx, config); problem != nil {
		return request{}, b.secrets.Error(op.invalid(problem))
	}
	r := request{op: *op, keys: b.secrets, decoding: b.decoding}
	var unencodable error
	if op.body != nil {
		var keys []string
		r.payload, keys, unencodable = encodeBody(op.body)
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
	if unencodable != nil {
		return request{}, r.op.invalid(errors.New("the body cannot be encoded: " + clip(r.keys.Visible(unencodable.Error()), maxErrorMessage)))
	}
	r.info = CallInfo{Method: op.method, Route: r.op.route, ID: id, Attempt: 1}
	switch {
	case config.background:
		r.priority = pace.Walk
	case op.method == http.MethodGet:
		r.priority = max(pace.Read, op.priority)
	}
	r.url = *b.base
	r.url.RawPath = r.url.EscapedPath() + path
	r.url.Path, _ = url.PathUnescape(r.url.RawPath) // both parts were checked
	r.url.RawQuery = op.query
	return r, nil
}

// infoKey is the key of a request's context for the *CallInfo.
type infoKey struct{}

// String names the operation, with the id that was requested.
func (r *request) String() string { return operationText(r.info.Method, r.info.Route, r.info.ID) }
