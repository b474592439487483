package horseracing

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing/internal/transport"
)

// Sentinels for errors.Is. The service's error codes are undocumented, so those of
// a status have HTTP's meaning.
//
// API reference: https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#7-errors
var (
	ErrInvalidArgument  = errors.New("invalid argument")             // found before any request was made
	ErrUnauthorized     = errors.New("unauthorized")                 // status 401
	ErrForbidden        = errors.New("forbidden")                    // status 403
	ErrNotFound         = errors.New("not found")                    // status 404, or an empty response where one entry was requested
	ErrRateLimited      = errors.New("rate limited")                 // status 429
	ErrServer           = errors.New("server error")                 // status 500 and above
	ErrRedirect         = errors.New("redirect refused")             // status 301, 302, 303, 307 or 308
	ErrResponseTooLarge = errors.New("response too large")           // beyond WithMaxResponseBytes
	ErrOutcomeUnknown   = errors.New("outcome unknown")              // a call that changes something may or may not have taken effect; see RacesService.Settle
	ErrBodyIgnored      = errors.New("the request body was ignored") // a page does not fit its request: something on the network path drops or caches bodies
	// ErrHole marks an error that does not end a listing: something was passed over,
	// and the rest follows. It is the [*DecodeError] of one entry (not of a page or a
	// whole response), a [*TieOverflowError] or a [*GapError]. It also marks the error
	// beside a list of which the rest could be read.
	ErrHole = errors.New("part of the listing was passed over")
)

const (
	maxErrorBody    = 64 << 10 // of APIError.Body
	maxErrorObject  = 1 << 20  // of a body that is searched for an error's message
	maxErrorMessage = 500      // of the service's words in an error's text
	maxErrorText    = 1800     // of any error's text
)

// APIError reports an error response from the service, or from a proxy in front
// of it, after all retries. errors.Is finds the sentinel of its status.
//
// A successful response that does not contain the entry requested by id (null, or
// an array without it) is an APIError too: its StatusCode is the response's own,
// 200, and errors.Is finds ErrNotFound. So is a request that was not sent because
// the service refuses requests for longer than [Retry].MaxWait: its StatusCode is
// 429.
//
// The shape of errors is undocumented: Message is taken from the members that
// services commonly use.
//
// API reference: https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#7-errors
type APIError struct {
	StatusCode int           // 2xx if the response carried an error object, or lacked the requested entry
	Method     string        // GET, POST, or what Do was called with
	Route      string        // the path with its placeholders, /api/v1/races/{raceId}, or for Do the path itself
	ID         string        // the horse, race or tournament requested, redacted; empty if the route has no placeholder
	Message    string        // the service's words, redacted; empty if none were found
	Header     http.Header   // redacted
	Body       []byte        // at most 64 KiB, redacted
	RetryAfter time.Duration // how long to wait, from the header Retry-After; zero if there was none
	Attempts   int           // requests that were sent; 0 if none was

	absent   bool // a successful response that does not contain the entry
	proxied  bool // an HTML response to a GET with a body
	userKey  bool // the request had a user key
	withheld bool // the retry budget withheld a retry
}

// Error names the operation, the status, the service's words and, if that is known,
// what to do.
func (e *APIError) Error() string {
	var b strings.Builder
	b.WriteString(operationText(e.Method, e.Route, e.ID))
	if e.absent {
		b.WriteString(": not found")
	}
	fmt.Fprintf(&b, ": status %d", e.StatusCode)
	if text := http.StatusText(e.StatusCode); text != "" {
		b.WriteString(" " + text)
	}
	if e.absent {
		b.WriteString(", but the response does not contain it")
	}
	if e.Message != "" {
		b.WriteString(": " + clip(e.Message, maxErrorMessage))
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " (after %d attempts)", e.Attempts)
	}
	if advice := e.advice(); advice != "" {
		b.WriteString("; " + advice)
	}
	if e.withheld {
		b.WriteString("; " + withheldAdvice)
	}
	return errorText(b.String())
}

func (e *APIError) advice() string {
	switch {
	case isRedirect(e.StatusCode):
		return "redirects are not followed, because they would take the API key along: set the base URL to where the service is"
	case e.proxied:
		return "a proxy on the network path may refuse GET requests that carry a body: bypass it"
	case e.StatusCode == http.StatusUnauthorized:
		return "check the API key"
	case e.StatusCode == http.StatusForbidden && e.userKey:
		return "the API key or the user key does not allow this"
	case e.StatusCode == http.StatusForbidden:
		return "the API key does not allow this"
	case e.StatusCode == http.StatusNotFound && e.Method == http.MethodGet && !strings.Contains(e.Route, "{"):
		return "is the base URL right?"
	case e.RetryAfter > 0:
		return fmt.Sprintf("wait %v before the next request", e.RetryAfter.Round(time.Millisecond))
	case e.StatusCode == http.StatusTooManyRequests:
		return "send fewer requests: WithRateLimit sets a limit"
	}
	return ""
}

// Is reports whether target is the sentinel of the status.
func (e *APIError) Is(target error) bool {
	switch target {
	case ErrUnauthorized:
		return e.StatusCode == http.StatusUnauthorized
	case ErrForbidden:
		return e.StatusCode == http.StatusForbidden
	case ErrNotFound:
		return e.StatusCode == http.StatusNotFound || e.absent
	case ErrRateLimited:
		return e.StatusCode == http.StatusTooManyRequests
	case ErrServer:
		return e.StatusCode >= 500
	case ErrRedirect:
		return isRedirect(e.StatusCode)
	}
	return false
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// DecodeError is returned when a successful response, or one entry of it, cannot be
// read: it is not JSON or cut short, has another shape, or a member has another
// type than documented. A read is retried once if the response is an HTML page or
// cut short, and not otherwise. [CaptureResponse] keeps the whole response.
//
// Printing or logging a DecodeError omits Raw.
type DecodeError struct {
	Method string          // GET, POST, or what Do was called with
	Route  string          // the path with its placeholders, or for Do the path itself
	ID     string          // of what was requested, or of the unreadable entry; empty if neither is known
	Field  string          // a JSON pointer to the problem, /3/entry_fee; empty for the response as a whole
	Offset int64           // of the problem in the response, about; in bytes
	Raw    json.RawMessage // the unreadable entry, redacted; nil if there is no single entry, it exceeds 64 KiB, or it is not JSON once redacted
	Err    error           // the problem

	entry bool // of one entry of a list, whose other entries are unaffected
	index int  // of that entry
}

// Error names the operation, the JSON pointer and the problem.
func (e *DecodeError) Error() string {
	operation := operationText(e.Method, e.Route, e.ID)
	if e.ID != "" && !strings.Contains(e.Route, "{") {
		operation += ": cannot read entry " + clip(e.ID, 200)
	} else {
		operation += ": cannot read the response"
	}
	return errorText(operation + e.problem())
}

// problem returns where the problem is, and what it is.
func (e *DecodeError) problem() string {
	if e.Field == "" {
		return ": " + e.Err.Error()
	}
	return " at " + clip(e.Field, 200) + ": " + e.Err.Error()
}

// Format prints Error, whatever the verb.
func (e DecodeError) Format(s fmt.State, verb rune) {
	if verb == 'q' {
		fmt.Fprintf(s, "%q", e.Error())
		return
	}
	io.WriteString(s, e.Error())
}

// LogValue logs Error.
func (e DecodeError) LogValue() slog.Value { return slog.StringValue(e.Error()) }

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// Is reports whether target is ErrHole and the error is that of one entry.
func (e *DecodeError) Is(target error) bool { return target == ErrHole && e.entry }

// TransportError is returned when a call got no complete response, after all
// retries: because of a connection that could not be made or broke, a response
// that was cut short or is too large, a timeout, or the end of the context.
// errors.Is finds the cause: context.Canceled, ErrResponseTooLarge, or
// context.DeadlineExceeded, both for the call's context and for an attempt that
// took longer than [WithAttemptTimeout] allows. If the context ended while the
// call waited to be retried, the text names the last failure as well.
type TransportError struct {
	Method   string // GET, POST, or what Do was called with
	Route    string // the path with its placeholders, or for Do the path itself
	ID       string // the horse, race or tournament requested, redacted; empty if the route has no placeholder
	Attempts int    // requests that were sent; 0 if none was
	Err      error  // the cause

}

// Error names the operation and the cause.
func (e *TransportError) Error() string {
	after := ""
	if e.Attempts > 1 {
		after = fmt.Sprintf(" (after %d attempts)", e.Attempts)
	}
	return errorText(fmt.Sprintf("%s: %v%s%s", operationText(e.Method, e.Route, e.ID), e.Err, after, e.advice()))
}

func (e *TransportError) advice() string {
	switch {
	case transport.IsPlainServer(e.Err):
		return "; the server does not speak TLS: should the base URL begin with http://?"
	case errors.Is(e.Err, transport.ErrAttemptTimeout):
		return "; WithAttemptTimeout sets how long an attempt may take"
	}
	return ""
}

// Unwrap returns the cause.
func (e *TransportError) Unwrap() error { return e.Err }

// TieOverflowError reports that a listing paged by start time returned a whole
// page of entries with one start time, so that there may be more of them than the
// listing can return. Those that it returned were yielded. Ranging over the pager
// again continues with entries that start earlier.
type TieOverflowError struct {
	StartTime Timestamp
	Seen      int // entries with that start time that were yielded

	op operation
}

// Error names the operation and the start time.
func (e *TieOverflowError) Error() string {
	return fmt.Sprintf("%v: a whole page (%d entries) starts at %s, and the listing cannot show whether there are more; range again to read the entries that start earlier",
		e.op, e.Seen, e.StartTime.Format("2006-01-02T15:04:05.000Z07:00"))
}

// Is reports whether target is ErrHole.
func (e *TieOverflowError) Is(target error) bool { return target == ErrHole }

// GapError reports a part of the history that a [Follower] passed over, because a
// page of it could not be read for a long time. [RacesService.Results] with From as
// Since and To as Before reads what is left of it.
type GapError struct {
	From, To Timestamp // races that start at From or later and before To may be missing
	Err      error     // why the page could not be read

	op operation
}

// Error names the operation, the time range and the cause.
func (e *GapError) Error() string {
	const layout = "2006-01-02T15:04:05.000Z07:00"
	return errorText(fmt.Sprintf("%v: races that start from %s until before %s are missing, because a page could not be read: %v; Races.Results with Since and Before reads the rest of them",
		e.op, e.From.Format(layout), e.To.Format(layout), e.Err))
}

// Is reports whether target is ErrHole.
func (e *GapError) Is(target error) bool { return target == ErrHole }

// Unwrap returns the cause.
func (e *GapError) Unwrap() error { return e.Err }

// outcomeUnknown marks the error of a write that may have taken effect.
type outcomeUnknown struct {
	err  error
	hint string
}

func (e *outcomeUnknown) Error() string {
	return clip(e.err.Error(), maxErrorText) + "; it may have taken effect: " + e.hint
}

func (e *outcomeUnknown) Unwrap() []error { return []error{ErrOutcomeUnknown, e.err} }
