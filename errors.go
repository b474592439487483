package horseracing

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/horseracing-go/horseracing/internal/call"
	"github.com/horseracing-go/horseracing/internal/decode"
	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/redact"
	"github.com/horseracing-go/horseracing/internal/route"
	"github.com/horseracing-go/horseracing/internal/transport"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// Sentinels for errors.Is. The service's error codes are undocumented, so those of statuses mean what
// the status means in HTTP.
var (
	ErrInvalidArgument  = errors.New("invalid argument")             // found before any request was made
	ErrUnauthorized     = errors.New("unauthorized")                 // status 401
	ErrForbidden        = errors.New("forbidden")                    // status 403
	ErrNotFound         = errors.New("not found")                    // status 404, or a 2xx response without the entry requested
	ErrRateLimited      = errors.New("rate limited")                 // status 429, or 403 with a Retry-After
	ErrServer           = errors.New("server error")                 // status 500 and above
	ErrRedirect         = errors.New("redirect refused")             // status 301, 302, 303, 307 or 308
	ErrResponseTooLarge = transport.ErrTooLarge                      // beyond WithMaxResponseBytes
	ErrHTML             = transport.ErrHTML                          // an HTML page, with any status: from a proxy or a login page, not from the service
	ErrOutcomeUnknown   = errors.New("outcome unknown")              // a call that changes something may or may not have taken effect; see RacesService.Registered
	ErrBodyIgnored      = errors.New("the request body was ignored") // a page is not the one requested, usually because a proxy or cache drops the bodies of GET requests
)

const (
	maxErrorBody    = 64 << 10 // length of APIError.Body
	maxErrorMessage = 500      // length of APIError.Message
	maxErrorText    = 1800     // length of any error's text

	instantLayout = "2006-01-02T15:04:05.000Z07:00" // for start times in error texts
)

// APIError reports an error response from the service, or from a proxy in front of it, after all
// retries. errors.Is finds the sentinel of its status, and ErrHTML if it is an HTML page.
//
// It also reports a successful response without the entry that was requested by id (ErrNotFound), and
// a call that was not sent within [Retry].MaxWait because the service refuses requests. Its StatusCode
// is then that of the last error response, or else 429 or 503.
type APIError struct {
	StatusCode int           // 2xx if the response held an error object, or did not contain the requested entry
	Method     string        // GET, POST, or what Do was called with
	Route      string        // the path with its placeholders, /api/v1/races/{raceId}, or for Do the path itself
	ID         string        // the horse, race or tournament requested, redacted, or empty if the route has no placeholder
	Message    string        // the service's error message or a description of the response, redacted; may be empty
	Header     http.Header   // redacted
	Body       []byte        // at most 64 KiB, redacted
	RetryAfter time.Duration // how long to wait, by the Retry-After header, or zero if there was none
	Attempts   int           // requests that were sent; 0 if none was

	absent  bool // a successful response that does not contain the entry
	isHTML  bool // an HTML page, which is not the service's
	hadBody bool // a GET request with a body, and none was accepted so far
}

func (e *APIError) Error() string {
	status := strings.TrimSpace(fmt.Sprintf("status %d %s", e.StatusCode, http.StatusText(e.StatusCode)))
	if e.absent {
		status = "not found: " + status + ", but the response does not contain it"
	}
	text := operationText(e.Method, e.Route, e.ID) + ": " + status
	if e.Message != "" {
		text += ": " + e.Message
	}
	return errorText(text + attemptsText(e.Attempts) + e.advice())
}

func (e *APIError) LogValue() slog.Value {
	return slog.GroupValue(slog.String("operation", e.Method+" "+e.Route), slog.String("id", e.ID),
		slog.Int("status", e.StatusCode), slog.Int("attempts", e.Attempts), slog.String("message", e.Message))
}

func (e *APIError) advice() string {
	mayRefuseBody := e.hadBody && slices.Contains([]int{http.StatusBadRequest, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge}, e.StatusCode)
	switch {
	case isRedirect(e.StatusCode):
		return "; redirects are not followed, because that could send the API key to another host: change the base URL"
	case e.isHTML && mayRefuseBody:
		return "; the page is probably from a proxy or firewall, which may refuse GET requests with a body: use a network without it"
	case e.isHTML && (e.StatusCode == http.StatusForbidden || e.StatusCode == http.StatusTooManyRequests):
		return "; the page is probably from a proxy or firewall, which may limit the rate of requests: WithRateLimit sets a limit"
	case e.isHTML && e.StatusCode <= 499:
		return "; the page is probably from a proxy or firewall, not from the service"
	case e.StatusCode == http.StatusUnauthorized:
		return "; check the API key"
	case e.StatusCode == http.StatusNotFound && e.Method == http.MethodGet && !strings.Contains(e.Route, "{"):
		return "; check the base URL"
	case e.RetryAfter > 0 && e.Attempts == 0: // the message says until when
		return ""
	case e.RetryAfter > 0:
		return fmt.Sprintf("; wait %v before the next request", e.RetryAfter.Round(time.Millisecond))
	case e.StatusCode == http.StatusTooManyRequests:
		return "; send fewer requests: WithRateLimit sets a limit"
	case e.StatusCode == http.StatusForbidden && mayRefuseBody:
		return "; if the keys are right, this may be from a proxy or firewall, which may refuse GET requests with a body: use a network without it"
	}
	return ""
}

func (e *APIError) Is(target error) bool {
	switch target {
	case ErrUnauthorized:
		return e.StatusCode == http.StatusUnauthorized
	case ErrForbidden:
		return e.StatusCode == http.StatusForbidden
	case ErrNotFound:
		return e.StatusCode == http.StatusNotFound || e.absent
	case ErrRateLimited:
		return e.StatusCode == http.StatusTooManyRequests || e.StatusCode == http.StatusForbidden && e.RetryAfter > 0
	case ErrServer:
		return e.StatusCode >= 500
	case ErrRedirect:
		return isRedirect(e.StatusCode)
	case ErrHTML:
		return e.isHTML
	}
	return false
}

func isRedirect(status int) bool {
	return slices.Contains([]int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect}, status)
}

// DecodeError is returned when a successful response, or one entry of it, is not JSON, is truncated,
// does not have the documented shape, or is not what was requested. Printing or logging it omits Raw;
// [CaptureResponse] keeps the whole response.
//
// A member of another type makes its entry unreadable if the field has the tag decode:"strict", as
// Race.EntryFee has. Any other stays zero; see [Drift].
type DecodeError struct {
	Method string          // GET, POST, or what Do was called with
	Route  string          // the path with its placeholders, or for Do the path itself
	ID     string          // the id requested, or that of the unreadable entry, or empty if neither is known
	Field  string          // a JSON pointer to the problem, /3/entry_fee, or empty for the response as a whole
	Raw    json.RawMessage // the unreadable entry of a list, redacted. It is nil if the error is not about one entry, if the entry exceeds 64 KiB, or if it is not valid JSON after redaction
	Err    error           // the problem
}

func (e *DecodeError) Error() string {
	text := operationText(e.Method, e.Route, e.ID)
	if e.ID != "" && !strings.Contains(e.Route, "{") {
		text += ": cannot read entry " + redact.Clip(e.ID, 200)
	} else {
		text += ": cannot read the response"
	}
	if e.Field != "" {
		text += " at " + redact.Clip(e.Field, 200)
	}
	return errorText(text + ": " + e.Err.Error())
}

func (e DecodeError) Format(s fmt.State, verb rune) {
	fmt.Fprintf(s, fmt.FormatString(s, verb), e.Error())
}

func (e DecodeError) LogValue() slog.Value { return slog.StringValue(e.Error()) }

func (e *DecodeError) Unwrap() error { return e.Err }

// ofResponse returns the error of the whole response, for that of an entry of it.
func ofResponse(entry error, id string) *DecodeError {
	cause, _ := errors.AsType[*DecodeError](entry)
	whole := *cause
	whole.ID = id
	return &whole
}

// withoutPosition returns the error of a page whose entries have no position in the listing, for that
// of one of them.
func withoutPosition(entry error) *DecodeError {
	whole := ofResponse(entry, "")
	whole.Raw, whole.Err = nil, fmt.Errorf("no entry of the page has a position in the listing: %w", whole.Err)
	return whole
}

// listingError returns the error for what is wrong with a listing, or for the end of a context.
func listingError(op operation, err error) error {
	problem, isProblem := errors.AsType[*walk.Problem](err)
	switch {
	case isProblem && problem.Ties > 0:
		return &TieOverflowError{StartTime: timestampOf(problem.Start), Seen: problem.Ties, operation: op.String()}
	case isProblem && problem.IsIgnored:
		return fmt.Errorf("%v: %w: %s; a proxy or cache drops the bodies of GET requests, or responds with another request's response", op, ErrBodyIgnored, problem.How)
	case isProblem:
		return &DecodeError{Method: op.method, Route: op.route, Err: problem}
	}
	return fmt.Errorf("%v: %w", op, err)
}

const maxRetryAfter = time.Hour // a longer Retry-After is cut to this in a loop that polls

// retryAfterOf returns the Retry-After of err, zero if there is none.
func retryAfterOf(err error) time.Duration {
	if refused, ok := errors.AsType[*APIError](err); ok {
		return min(refused.RetryAfter, maxRetryAfter)
	}
	return 0
}

// TransportError is returned when a call got no complete response, after all retries, or was not
// sent because the [Limiter] or [OnSend] returned an error. errors.Is finds the cause, such as
// context.DeadlineExceeded, and errors.As, if the context ended during a retry, the error of the
// attempt before it, unless the retry may have changed something.
type TransportError struct {
	Method   string // GET, POST, or what Do was called with
	Route    string // the path with its placeholders, or for Do the path itself
	ID       string // the horse, race or tournament requested, redacted, or empty if the route has no placeholder
	Attempts int    // requests that were sent; 0 if none was
	Err      error  // the cause

	hadBody bool // a GET request with a body, and none was accepted so far
}

func (e *TransportError) Error() string {
	return errorText(fmt.Sprintf("%s: %v%s%s", operationText(e.Method, e.Route, e.ID), e.Err, attemptsText(e.Attempts), e.advice()))
}

func (e *TransportError) advice() string {
	_, isTimeout := errors.AsType[*transport.TimeoutError](e.Err)
	switch {
	case transport.IsPlainServer(e.Err):
		return "; the server does not speak TLS: should the base URL begin with http:// instead?"
	case isTimeout && e.hadBody:
		return "; some proxies drop the body of a GET request, for which a service may then wait: use a network without such a proxy"
	}
	return ""
}

func (e *TransportError) Unwrap() error { return e.Err }

// stoppedAfter is why a call ended after a response with an error status, before or during the next
// attempt. errors.Is and errors.As find both.
type stoppedAfter struct {
	reason  error
	earlier *APIError
}

func (e *stoppedAfter) Error() string {
	return fmt.Sprintf("%v after status %d", e.reason, e.earlier.StatusCode)
}

func (e *stoppedAfter) Unwrap() []error { return []error{e.reason, e.earlier} }

// TieOverflowError reports that all entries of a page have the same start time, so the listing may
// have more of them. It continues with entries that start earlier.
type TieOverflowError struct {
	StartTime Timestamp
	Seen      int // entries with that start time that were yielded

	operation string
}

func (e *TieOverflowError) Error() string {
	return fmt.Sprintf("%s: a whole page (%d entries) starts at %s, and the listing cannot show whether there are more; the entries that start earlier follow",
		e.operation, e.Seen, e.StartTime.Format(instantLayout))
}

// outcomeUnknown marks the error of a write that may have taken effect.
type outcomeUnknown struct {
	err  error
	hint string
}

func (e *outcomeUnknown) Error() string {
	return redact.Clip(e.err.Error(), maxErrorText) + "; the outcome is unknown: " + e.hint
}

func (e *outcomeUnknown) Unwrap() []error { return []error{ErrOutcomeUnknown, e.err} }

// failure returns the error of a call that ended so, or nil if its last attempt found a response that
// can be used. It is where the public errors of calls are made.
func (r *request) failure(o *call.Outcome) error {
	last := r.attemptError(o)
	expired, isExpired := errors.AsType[*pace.ExpiredError](o.Stopped)
	refusal, isRefused := last.(*APIError) //nolint:errorlint // it is made by attemptError
	isRefused = isRefused && o.Status/100 != 2
	err := last
	switch {
	case isExpired && isRefused:
		left := max(refusal.RetryAfter-time.Since(o.Ended), expired.For)
		refusal.RetryAfter = (min(left, math.MaxInt64-time.Second) + time.Second - 1).Truncate(time.Second)
	case isExpired:
		err = r.expiredError(o, expired, last)
	case o.Stopped != nil && isRefused:
		err = r.transportError(o, &stoppedAfter{o.Stopped, refusal})
	case o.Stopped != nil && last != nil:
		err = r.transportError(o, fmt.Errorf("%w after: %w", o.Stopped, last))
	case o.Stopped != nil || o.Status == 0:
		err = r.transportError(o, cmp.Or(o.Stopped, last))
	}
	if err != nil && o.Number > 0 && transport.MayHaveTakenEffect(r.Method, o.Status, o.Err) {
		err = &outcomeUnknown{err: err, hint: r.op.hint}
	}
	return err
}

// attemptError returns the error of the last attempt alone: why its response cannot be used, or why
// there is none.
func (r *request) attemptError(o *call.Outcome) error {
	wasRefused := o.Err != nil && o.IsInterrupted && o.Before.Status > 299
	switch {
	case o.Status != 0 && o.Status/100 != 2:
		return r.apiError(&o.Attempt)
	case wasRefused && transport.MayHaveTakenEffect(r.Method, 0, o.Err): // errors.As is not to find the earlier refusal
		return fmt.Errorf("%w after status %d", o.Err, o.Before.Status)
	case wasRefused:
		return &stoppedAfter{o.Err, r.apiError(&o.Before)}
	}
	return o.Err
}

// transportError returns the error of a call without a complete response.
func (r *request) transportError(o *call.Outcome, cause error) *TransportError {
	return &TransportError{
		Method: r.Method, Route: r.Route, ID: r.ID, Attempts: o.Number, Err: r.Keys.Error(cause), hadBody: r.hadBody(),
	}
}

// decodeError returns the error of a response as a whole.
func (r *request) decodeError(e *decode.Error) *DecodeError {
	return &DecodeError{Method: r.Method, Route: r.Route, ID: r.ID, Field: r.Keys.Visible(e.Field), Err: r.Keys.Error(e.Err)}
}

// entryError returns the error of one entry of a list, by its index and its JSON.
func (r *request) entryError(index int, id string, entry []byte, problem error) *DecodeError {
	e, _ := errors.AsType[*decode.Error](problem)
	err := r.decodeError(&decode.Error{Field: "/" + strconv.Itoa(index) + e.Field, Err: e.Err})
	err.ID = r.Keys.Visible(id)
	if raw := jsontext.Value(r.Keys.Text(string(entry))); len(raw) <= maxErrorBody && raw.IsValid() {
		err.Raw = []byte(raw)
	}
	return err
}

// newAPIError returns an error for an attempt.
func (r *request) newAPIError(a *call.Attempt, status int) *APIError {
	return &APIError{
		StatusCode: status, Method: r.Method, Route: r.Route, ID: r.ID, Header: r.Keys.Header(a.Header),
		RetryAfter: transport.RetryAfter(a.Header), Attempts: a.Number, hadBody: r.hadBody(),
	}
}

// expiredError returns the error of a call that was not sent, or not again after an attempt without
// an error status, because the service refuses requests for longer than the call may wait.
func (r *request) expiredError(o *call.Outcome, expired *pace.ExpiredError, last error) *APIError {
	e := r.newAPIError(&o.Attempt, expired.Status)
	e.Message, e.RetryAfter, e.Header = expired.Error(), expired.For, http.Header{}
	if last != nil {
		e.Message = redact.Clip(r.Keys.Visible(e.Message+", after: "+last.Error()), maxErrorMessage)
	} else if 0 < expired.For && expired.For <= time.Hour { // the same instant, and so the same text, until then
		e.Message += " until " + time.Now().Add(expired.For).UTC().Round(time.Second).Format(time.RFC3339)
	}
	return e
}

// notFound returns the error of a successful response without the entry that was
// requested.
func (r *request) notFound(a *call.Attempt) *APIError {
	e := r.newAPIError(a, a.Status)
	e.absent = true
	return e
}

// notRequested returns the error of a successful response that contains something else
// than the entry that was requested.
func (r *request) notRequested(found string) *DecodeError {
	return r.decodeError(&decode.Error{Err: fmt.Errorf("it contains %s, which was not requested", redact.Clip(r.Keys.Visible(found), 200))})
}

// apiError returns the response of an attempt as an error.
func (r *request) apiError(a *call.Attempt) *APIError {
	e, text := r.newAPIError(a, a.Status), r.redactedBody(a)
	e.Body = []byte(text[:min(len(text), maxErrorBody)])
	e.isHTML = transport.IsHTML(a.Body)
	words, _ := errorWords(a.Body)
	switch {
	case isRedirect(a.Status):
		e.Message = "to " + redact.Clip(r.Keys.Visible(r.redirectOrigin(a)), 200)
	case words != "":
		e.Message = redact.Clip(r.Keys.Visible(words), maxErrorMessage)
	case e.isHTML:
		e.Message = "an HTML page"
	default:
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		e.Message = redact.Clip(r.Keys.Visible(line), 200)
	}
	return e
}

// redirectOrigin returns the scheme and host of a redirect's target. Its path and query
// are left out, because they may hold keys.
func (r *request) redirectOrigin(a *call.Attempt) string {
	target, err := r.URL.Parse(a.Header.Get("Location"))
	if err != nil || a.Header.Get("Location") == "" {
		return "an unreadable location"
	}
	return target.Scheme + "://" + target.Host
}

// redactedBody returns the body of an attempt as text without keys.
func (r *request) redactedBody(a *call.Attempt) string {
	if a.IsCut {
		return r.Keys.Truncated(string(a.Body))
	}
	return r.Keys.Text(string(a.Body))
}

// messageMembers are the members in which services commonly put the message of an
// error object, the best one first. The shape of errors is undocumented.
var messageMembers = []string{"message", "detail", "error_description", "error", "errors"}

// errorWords returns the message of an error object, and whether the object declares
// itself an error, by a member of that name.
func errorWords(body []byte) (message string, declared bool) {
	var object map[string]jsontext.Value
	if decode.Unmarshal(body, &object) != nil {
		return "", false
	}
	for _, name := range messageMembers {
		message = cmp.Or(message, wordsOf(object[name]))
	}
	return message, isSet(object["error"]) || isSet(object["errors"])
}

// isSet reports whether a member is there and is not one of the empty values.
func isSet(value jsontext.Value) bool {
	_ = value.Compact()
	return !slices.Contains([]string{"", "null", "false", `""`, "[]", "{}", "0"}, string(value))
}

// wordsOf returns the words of a member: a string, the message of an object, or those
// of an array's first element. It looks no deeper.
func wordsOf(value jsontext.Value) string {
	var v any
	_ = decode.Unmarshal(value, &v)
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	if object, ok := v.(map[string]any); ok {
		for _, name := range messageMembers {
			if text, ok := object[name].(string); ok && text != "" {
				return text
			}
		}
	}
	text, _ := v.(string)
	return text
}

// errorText returns the text of an error without invisible characters, and cut.
func errorText(text string) string { return redact.Clip(redact.Visible(text), maxErrorText) }

// operationText names an operation, with the id in place of its placeholder:
// GET /api/v1/horses/311.
func operationText(method, path, id string) string {
	if id != "" {
		escaped := strings.ReplaceAll(url.PathEscape(id), url.PathEscape(redact.Placeholder), redact.Placeholder)
		path = route.Fill(path, redact.Clip(escaped, 200))
	}
	return method + " " + path
}

// attemptsText returns the number of attempts for an error's text, if there were
// several.
func attemptsText(attempts int) string {
	if attempts <= 1 {
		return ""
	}
	return fmt.Sprintf(" (after %d attempts)", attempts)
}
