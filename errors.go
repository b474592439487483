package horseracing

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing/internal/redact"
)

// Sentinels for errors.Is. The interface document shows no error codes
// (section 7), so those of a status are HTTP's own meaning of it.
var (
	ErrInvalidArgument  = errors.New("invalid argument")             // found before any request was made
	ErrUnauthorized     = errors.New("unauthorized")                 // status 401
	ErrForbidden        = errors.New("forbidden")                    // status 403
	ErrNotFound         = errors.New("not found")                    // status 404, or an empty answer where one entry was asked for
	ErrRateLimited      = errors.New("rate limited")                 // status 429
	ErrServer           = errors.New("server error")                 // status 500 and above
	ErrRedirect         = errors.New("redirect refused")             // status 301, 302, 303, 307 or 308
	ErrResponseTooLarge = errors.New("response too large")           // beyond WithMaxResponseBytes
	ErrOutcomeUnknown   = errors.New("outcome unknown")              // a call that changes something may or may not have done so; see Register
	ErrBodyIgnored      = errors.New("the request body was ignored") // an answer does not fit the question: something on the way drops or caches bodies
	errTruncated        = errors.New("the answer was cut short")     // fewer bytes than promised
	errAttemptTimeout   = errors.New("no whole answer within the attempt timeout")
)

const (
	maxFailureBody  = 1 << 20  // of a failure's body that is read
	maxErrorBody    = 64 << 10 // of APIError.Body
	maxErrorMessage = 500      // of the service's words in an error's text
	maxErrorText    = 1800     // of any error's text
)

// APIError is an answer of the service (or of something on the way to it)
// that is a refusal or a failure, after all retries. errors.Is finds the
// sentinel of its status.
//
// The interface document does not show the shape of errors (section 7):
// Message is taken from the usual members, and stays empty where there are none.
type APIError struct {
	StatusCode int           // 2xx where a successful status carried an error object
	Method     string        // GET, POST, or what Do was called with
	Route      string        // the path with its placeholders: /api/v1/races/{raceId}; of Do the path itself
	Message    string        // the service's words, keys removed; empty: none were found
	Header     http.Header   // keys removed
	Body       []byte        // at most 64 KiB, keys removed
	RetryAfter time.Duration // how long the service asks to wait, by its header Retry-After; zero: it did not say
	Attempts   int           // attempts made, one that ended before anything was sent included

	proxied bool // an HTML answer to a GET with a body
}

// Error names the operation, the status, the service's words and, where that is known, what to do.
func (e *APIError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: status %d", e.Method, e.Route, e.StatusCode)
	if text := http.StatusText(e.StatusCode); text != "" {
		b.WriteString(" " + text)
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
	return errorText(b.String())
}

func (e *APIError) advice() string {
	switch {
	case isRedirect(e.StatusCode):
		return "redirects are not followed, for the API key would go along: set the base URL to where the service is"
	case e.proxied:
		return "the answer is an HTML page: a proxy on the way may refuse GET requests that carry a body; go round it"
	case e.StatusCode == http.StatusUnauthorized:
		return "check the API key"
	case e.StatusCode == http.StatusForbidden:
		return "the key is not allowed to do this"
	case e.StatusCode == http.StatusNotFound && e.Method == http.MethodGet && !strings.Contains(e.Route, "{"):
		return "is the base URL right?"
	case e.RetryAfter > 0:
		return fmt.Sprintf("wait %v before trying again", e.RetryAfter.Round(time.Millisecond))
	case e.StatusCode == http.StatusTooManyRequests:
		return "slow down: WithRateLimit keeps a limit"
	}
	return ""
}

// Is makes errors.Is find the sentinel of the status.
func (e *APIError) Is(target error) bool {
	switch target {
	case ErrUnauthorized:
		return e.StatusCode == http.StatusUnauthorized
	case ErrForbidden:
		return e.StatusCode == http.StatusForbidden
	case ErrNotFound:
		return e.StatusCode == http.StatusNotFound
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

// DecodeError is a successful response, or one entry of it, that cannot be
// read: not JSON, cut short, of another shape, or a member of another type than
// documented. It is not retried. [CaptureResponse] keeps the whole response.
type DecodeError struct {
	Method string          // GET, POST, or what Do was called with
	Route  string          // the path with its placeholders; of Do the path itself
	ID     string          // what was requested by id, or the unreadable entry's own id; empty: neither is known
	Field  string          // where, as a JSON pointer: /3/entry_fee; empty: the response as a whole
	Offset int64           // about how many bytes into the response
	Raw    json.RawMessage // the unreadable entry, redacted; nil: no entry, more than 64 KiB, or not JSON once redacted
	Err    error           // what is wrong
}

// Error names the operation, the place and what is wrong there.
func (e *DecodeError) Error() string {
	path := e.Route
	before, _, byID := strings.Cut(e.Route, "{")
	if byID = byID && e.ID != ""; byID {
		path = before + clip(url.PathEscape(e.ID), 200)
	}
	if !byID && e.ID != "" {
		return errorText(fmt.Sprintf("%s %s: cannot read %s", e.Method, path, e.problem()))
	}
	at := ""
	if e.Field != "" {
		at = " at " + clip(e.Field, 200)
	}
	return errorText(fmt.Sprintf("%s %s: cannot read the response%s: %v", e.Method, path, at, e.Err))
}

// problem describes an entry of a list.
func (e *DecodeError) problem() string {
	text := "at " + clip(e.Field, 200) + ": " + e.Err.Error()
	if e.ID != "" {
		text = "entry " + clip(e.ID, 200) + " " + text
	}
	return text
}

// Format prints Error, whatever the verb: Raw stays out of it.
func (e DecodeError) Format(s fmt.State, verb rune) {
	if verb == 'q' {
		fmt.Fprintf(s, "%q", e.Error())
		return
	}
	io.WriteString(s, e.Error())
}

// LogValue logs Error: Raw stays out of it.
func (e DecodeError) LogValue() slog.Value { return slog.StringValue(e.Error()) }

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// TransportError is a call that brought no whole answer, after all retries: no
// connection, a broken one, an answer that was cut short or is too large, a
// timeout, a context that ended. errors.Is finds the cause: context.Canceled
// say, ErrResponseTooLarge, or context.DeadlineExceeded both for the call's
// context and for an attempt that took longer than [WithAttemptTimeout] allows.
type TransportError struct {
	Method   string // GET, POST, or what Do was called with
	Route    string // the path with its placeholders; of Do the path itself
	Attempts int    // attempts made, one that ended before anything was sent included
	Err      error  // of the last attempt
}

// Error names the operation and the cause.
func (e *TransportError) Error() string {
	after := ""
	if e.Attempts > 1 {
		after = fmt.Sprintf(" (after %d attempts)", e.Attempts)
	}
	advice := ""
	if speaksNoTLS(e.Err) {
		advice = "; the server does not speak TLS: is the base URL to begin with http://?"
	}
	return errorText(fmt.Sprintf("%s %s: %v%s%s", e.Method, e.Route, e.Err, after, advice))
}

// speaksNoTLS reports whether a handshake was answered by something else.
func speaksNoTLS(err error) bool {
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	return plain
}

// Unwrap returns the cause.
func (e *TransportError) Unwrap() error { return e.Err }

// TieOverflowError says that a listing paged by start time showed a whole page
// of entries on one instant, so that it cannot show whether more share it. What
// came was handed out; ranging over the pager again goes on behind that instant.
type TieOverflowError struct {
	StartTime Timestamp // the instant
	Seen      int       // how many entries of that instant were handed out

	op operation
}

// Error names the operation and the instant.
func (e *TieOverflowError) Error() string {
	return fmt.Sprintf("%v: a whole page (%d entries) starts at %s, and the listing cannot show whether there are more; range again to go on behind it",
		e.op, e.Seen, e.StartTime.Format("2006-01-02T15:04:05.000Z07:00"))
}

// outcomeUnknown marks the error of a write that may have taken effect.
type outcomeUnknown struct {
	err  error
	hint string
}

func (e *outcomeUnknown) Error() string {
	return clip(e.err.Error(), maxErrorText) + "; it may have taken effect: " + e.hint
}

func (e *outcomeUnknown) Unwrap() []error { return []error{ErrOutcomeUnknown, e.err} }

// errorText bounds a text that may hold foreign words.
func errorText(text string) string { return clip(redact.Visible(text), maxErrorText) }

// clip cuts a text that is too long, at a character's edge.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + " …"
}
