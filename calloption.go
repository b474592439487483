package horseracing

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/horseracing-go/horseracing/internal/transport"
)

// A CallOption configures one call. A nil option is ignored.
type CallOption func(*callConfig)

type callConfig struct {
	capture    *Response
	background bool
	retry      Retry // zero fields have the client's values
	problem    error // the first thing wrong with an option
}

func configOf(opts []CallOption) callConfig {
	if len(opts) == 0 {
		return callConfig{}
	}
	var config callConfig
	for _, opt := range opts {
		if opt != nil {
			opt(&config)
		}
	}
	return config
}

// CaptureResponse stores the last response of the call in r, whether the call
// succeeds or fails. If there was no response, only r.Attempts is set.
func CaptureResponse(r *Response) CallOption {
	return func(c *callConfig) { c.capture = r }
}

// AsBackground gives a read the lowest priority, that of a walk, when requests must
// wait. A call that changes something fails with ErrInvalidArgument.
func AsBackground() CallOption {
	return func(c *callConfig) { c.background = true }
}

// CallRetry sets how one call is retried. Zero fields default to the client's settings.
// A call that changes something is retried only after attempts that certainly had no
// effect.
func CallRetry(r Retry) CallOption {
	return func(c *callConfig) {
		if problem := r.problem(); problem != nil && c.problem == nil {
			c.problem = fmt.Errorf("CallRetry: %w", problem)
		}
		c.retry = r
	}
}

// CallInfo describes the call that a request belongs to.
type CallInfo struct {
	Method  string
	Route   string // the path with its placeholders: /api/v1/races/{raceId}; for Do the path itself, redacted
	ID      string // the horse, race or tournament requested, redacted, or empty if the route has no placeholder
	Attempt int    // counts from 1
}

// CallFromContext returns the call that a request belongs to, given the request's
// context. Use it in a wrapper of [WithTransportWrapper]: naming spans and metrics by
// Route keeps ids out of their names.
func CallFromContext(ctx context.Context) (CallInfo, bool) {
	r, ok := transport.FromContext(ctx)
	if !ok {
		return CallInfo{}, false
	}
	return CallInfo{Method: r.Method, Route: r.Route, ID: r.ID, Attempt: r.Attempts()}, true
}

// Response is a response as received, after decompression. Keys are redacted in the
// header and, if the call failed, in the body. Printing or logging a Response omits
// header and body.
type Response struct {
	StatusCode int // zero if there was no response
	Header     http.Header
	Body       []byte // truncated to 1 MiB for an error status
	Attempts   int    // requests that were sent
}

// Format prints a summary without header and body, which may contain keys.
func (r Response) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "{StatusCode:%d Attempts:%d Body:%d bytes}", r.StatusCode, r.Attempts, len(r.Body))
}

// LogValue returns a summary without header and body, which may contain keys.
func (r Response) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(r)) }
