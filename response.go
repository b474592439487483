package horseracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/horseracing-go/horseracing/internal/call"
	"github.com/horseracing-go/horseracing/internal/decode"
	"github.com/horseracing-go/horseracing/internal/entry"
	"github.com/horseracing-go/horseracing/internal/redact"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// response is a complete response, with its request.
type response struct {
	*request
	*call.Attempt
}

// accept reads a response with a status 2xx. It returns the error of the call, if the response cannot be used.
func (r *request) accept(a *call.Attempt, read func(response) error) error {
	var err error
	switch {
	case a.Err != nil: // the encoding of the body
		return r.decodeError(&decode.Error{Err: a.Err})
	case r.op.id != nil && (a.Status == http.StatusNoContent || decode.IsNothing(a.Body)):
		return r.notFound(a)
	case read != nil:
		err = read(response{r, a})
	}
	problem, isProblem := errors.AsType[*decode.Error](err)
	switch {
	case isProblem && transport.IsHTML(a.Body):
		problem = &decode.Error{Err: transport.ErrHTML}
	case isProblem && errors.Is(err, decode.ErrEmpty) && a.Status == http.StatusAccepted:
		problem = &decode.Error{Err: fmt.Errorf("status 202 means that the service has not finished: %w", err)}
	}
	if jsontext.Value(a.Body).Kind() == jsontext.KindBeginObject { // most are lists
		if words, declared := errorWords(a.Body); declared || isProblem && words != "" {
			return r.apiError(a)
		}
	}
	if isProblem {
		return r.decodeError(problem)
	}
	if r.hasReadBody {
		r.acceptsBodies.Store(true)
	}
	return nil
}

// Response is a response after decompression, without keys in header and body. Printing or logging it
// omits both.
type Response struct {
	StatusCode int // zero if the last attempt got no response
	Header     http.Header
	Body       []byte // truncated to 1 MiB for an error status
	Attempts   int    // requests that were sent
}

// captured returns the response of the last attempt for CaptureResponse.
func (r *request) captured(o *call.Outcome) Response {
	if o.Status == 0 {
		return Response{Attempts: o.Number}
	}
	return Response{StatusCode: o.Status, Header: r.Keys.Header(o.Header), Body: []byte(r.redactedBody(&o.Attempt)), Attempts: o.Number}
}

func (r Response) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "{StatusCode:%d Attempts:%d Body:%d bytes}", r.StatusCode, r.Attempts, len(r.Body))
}

func (r Response) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(r)) }

// list is the response of an operation that returns an array. An entry that cannot be
// read does not affect the others.
type list[T any] struct {
	response
	entries []entry.Entry[*T]
	drift   []decode.Drift
}

// decode reads the list entry by entry.
func (l *list[T]) decode(r response) error {
	*l = list[T]{response: r}
	var problem *decode.Error
	switch isObject := jsontext.Value(r.Body).Kind() == jsontext.KindBeginObject; {
	case r.Status == http.StatusNoContent || decode.IsNothing(r.Body):
	case isObject && (r.op.objectOrArray || r.op.id != nil):
		l.entries, l.drift, problem = decode.Object[T](r.Body, r.decoding)
		problem = l.problemOfObject(problem)
	default:
		l.entries, l.drift, problem = decode.List[T](r.Body, r.decoding)
	}
	if problem != nil {
		return problem
	}
	for i := range l.entries {
		e := &l.entries[i]
		if e.Err == nil && e.ID == "" && r.op.withoutID != nil {
			e.Err = r.op.withoutID
		}
		if e.Err != nil {
			e.Err = r.entryError(i, e.ID, e.JSON, e.Err)
		}
	}
	return nil
}

// problemOfObject returns why an object in place of an array cannot be used. If no id was requested, an
// entry without an id may be anything, such as the object of an error. A catalogue has no id, and may
// be empty.
func (l *list[T]) problemOfObject(problem *decode.Error) *decode.Error {
	e := &l.entries[0]
	_, hasID := any(e.Value).(interface{ id() pathID })
	switch {
	case problem == nil && hasID && l.op.id == nil && e.ID == "":
		return &decode.Error{Err: errors.New("an object without an id does not fit a list")}
	case problem != nil && !hasID && errors.Is(problem, decode.ErrNoMember) && json.Unmarshal(l.Body, e.Value, decode.KnownMembers) == nil:
		return nil
	}
	return problem
}

type DriftKind string

const (
	DriftUnknownField DriftKind = "unknown_field" // the service sends a member that the types do not declare
	DriftWrongType    DriftKind = "wrong_type"    // the service sends a member with another type than the documented one; it stays zero unless that is JSON in a string, or 0 or 1 for a boolean
)

// Drift is a member that the types of this package lack, or one whose value has another type
// than documented. It does not fail the call; see [DecodeError] for the exception.
type Drift struct {
	Route string // the path with its placeholders: /api/v1/races/open
	Path  string // the member's path: "[].info.weather" in an array of races, "info.weather" in a single race
	Kind  DriftKind
}

// drifts reports the drift of one client's responses, each once.
type drifts struct {
	handler func(context.Context, Drift) // may be nil
	mu      sync.Mutex
	seen    map[Drift]bool
}

const maxDriftSeen = 1000 // of a client: names that are data are unlimited

// withDots turns a JSON pointer into the path of a Drift.
var withDots = strings.NewReplacer("/", ".", "~1", "/", "~0", "~")

// report passes what was not reported before to the handler.
func (d *drifts) report(ctx context.Context, r *request, drift []decode.Drift) {
	for _, difference := range drift {
		found := Drift{r.Route, redact.Clip(withDots.Replace(r.Keys.Visible(difference.Path)), 200), DriftUnknownField}
		if difference.IsWrongType {
			found.Kind = DriftWrongType
		}
		d.mu.Lock()
		isNew := !d.seen[found] && len(d.seen) < maxDriftSeen
		if isNew {
			d.seen[found] = true
		}
		d.mu.Unlock()
		if isNew && d.handler != nil {
			d.handler(ctx, found)
		}
	}
}
