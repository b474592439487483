package horseracing

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// operation is one operation of the service, and how its response is decoded.
type operation struct {
	method          string
	route           string  // the path, with a {placeholder} for the id
	id              entryID // for the placeholder, or nil if there is none
	body            any
	custom          bool   // called by Do: nothing is documented, and raw and query are used as they are
	raw             string // the path, escaped
	query           string
	emptyIsNotFound bool                // null or an empty array means that there is no such entry
	objectOrArray   bool                // an object may stand for an array of one
	noCache         bool                // a cached response must not be used
	order           pace.Rank           // of a read, or zero for a single read
	patience        *transport.Patience // of a walk, or nil for a single call
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
	if op.custom {
		path, _ = url.PathUnescape(op.raw) // Do has parsed it
		return path, op.raw, nil
	}
	if op.id == nil {
		return op.route, op.route, nil
	}
	before, _, _ := strings.Cut(op.route, "{")
	id := op.idText()
	return before + id, before + url.PathEscape(id), op.id.problem()
}

// rank returns the priority of the operation's requests: first those that change
// something, then single reads, then polls, then walks.
func (op operation) rank() pace.Rank {
	if !op.isRead() {
		return pace.Write
	}
	return max(pace.Read, op.order)
}

// paceRoute returns the route that the service may limit on its own: the path, which
// has one documented method, or for Do, whose paths may hold ids, the method.
func (op operation) paceRoute() string {
	if op.custom {
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
