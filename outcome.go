package horseracing

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// transportError returns the error of a call without a complete response.
func (r *response) transportError(stopped error) *TransportError {
	cause := cmp.Or(stopped, r.err)
	switch {
	case stopped != nil && r.err != nil:
		cause = fmt.Errorf("%w after: %w", stopped, r.err)
	case stopped != nil && r.status != 0:
		cause = &stoppedAfter{stopped, r.apiError()}
	}
	return &TransportError{
		Method: r.info.Method, Route: r.info.Route, ID: r.info.ID, Attempts: r.number, Err: r.keys.Error(cause), hadBody: r.op.readsByBody(),
	}
}

// newAPIError returns an error for the last attempt.
func (r *response) newAPIError(status int) *APIError {
	return &APIError{
		StatusCode: status, Method: r.info.Method, Route: r.info.Route, ID: r.info.ID, Header: r.keys.Header(r.header),
		RetryAfter: transport.RetryAfter(r.header), Attempts: r.number, hadBody: r.op.readsByBody(),
	}
}

// expiredError returns the error of a call that was not sent, or not again after an attempt without
// an error status, because the service refuses requests for longer than the call may wait.
func (r *response) expiredError(expired *pace.ExpiredError) *APIError {
	e := r.newAPIError(expired.Status)
	e.Message, e.RetryAfter, e.Header = expired.Error(), expired.For, http.Header{}
	if r.err != nil {
		e.Message = clip(r.keys.Visible(e.Message+", after: "+r.err.Error()), maxErrorMessage)
	} else if 0 < expired.For && expired.For <= time.Hour { // the same instant, and so the same text, until then
		e.Message += " until " + time.Now().Add(expired.For).UTC().Round(time.Second).Format(time.RFC3339)
	}
	return e
}

// notFound returns the error of a successful response without the entry that was
// requested.
func (r *response) notFound() *APIError {
	e := r.newAPIError(r.status)
	e.absent = true
	return e
}

// notRequested returns the error of a successful response that contains something else
// than the entry that was requested.
func (r *response) notRequested(found string) *DecodeError {
	return r.decodeError(&readError{err: fmt.Errorf("it contains %s, which was not requested", clip(r.keys.Visible(found), 200))})
}

// apiError returns the last response as an error.
func (r *response) apiError() *APIError {
	e, text := r.newAPIError(r.status), r.redactedBody()
	e.Body = []byte(text[:min(len(text), maxErrorBody)])
	e.isHTML = transport.IsHTML(r.body)
	words, _ := errorWords(r.body)
	switch {
	case isRedirect(r.status):
		e.Message = "to " + clip(r.keys.Visible(r.redirectOrigin()), 200)
	case words != "":
		e.Message = clip(r.keys.Visible(words), maxErrorMessage)
	case e.isHTML:
		e.Message = "an HTML page"
	default:
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		e.Message = clip(r.keys.Visible(line), 200)
	}
	return e
}

// redirectOrigin returns the scheme and host of a redirect's target. Its path and query
// are left out, because they may hold keys.
func (r *response) redirectOrigin() string {
	target, err := r.url.Parse(r.header.Get("Location"))
	if err != nil || r.header.Get("Location") == "" {
		return "an unreadable location"
	}
	return target.Scheme + "://" + target.Host
}

// redactedBody returns the last body as text without keys.
func (r *response) redactedBody() string {
	if r.isCut {
		return r.keys.Truncated(string(r.body))
	}
	return r.keys.Text(string(r.body))
}

// captured returns the last response for CaptureResponse.
func (r *response) captured() Response {
	if r.status == 0 {
		return Response{Attempts: r.number}
	}
	return Response{StatusCode: r.status, Header: r.keys.Header(r.header), Body: []byte(r.redactedBody()), Attempts: r.number}
}
