package transport

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/redact"
)

// Call is the record of one call. It travels in the context of its requests.
type Call struct {
	// What is called. Route and ID are redacted.
	Method string
	Route  string // the path with its placeholders
	ID     string
	Name   string // of the operation, for the log, or empty if nothing is logged

	// How it is sent.
	PaceRoute string // what the service may limit on its own
	Rank      pace.Rank
	Retry     Retry
	Patience  *Patience   // of a walk, or nil for a single call
	NoCache   bool        // a cached response will not do
	WantJSON  bool        // a body that is an HTML page or cut JSON is a failure
	Keys      redact.Keys // kept out of the log

	Attempt // the last one

	// The end of the call.
	Stopped  error // why the next attempt was not made: the context's error, a *pace.LimiterError or a *pace.HeldError
	Withheld bool  // the budget withheld a retry

	attempts atomic.Int64
	refusals int  // attempts that Patience does not count
	damaged  int  // attempts whose response was an HTML page or cut
	paid     int  // retries that the budget paid for
	retrying bool // another attempt follows, after wait
	wait     time.Duration
	ticket   pace.Ticket
}

// Retry is how a call is retried. All fields are set.
type Retry struct {
	Max              int
	MinWait, MaxWait time.Duration
}

// Attempt is the outcome of an attempt.
type Attempt struct {
	// Status is 0 unless the whole response was read, or for an error status the
	// beginning of its body.
	Status     int
	Header     http.Header
	Body       []byte
	Truncated  bool // the body of an error status was longer
	RetryAfter time.Duration
	Err        error // nil if there is a response, and it is neither an HTML page nor cut JSON
	Unsent     bool  // the attempt certainly sent nothing
}

type callKey struct{}

// FromContext returns the call that a request belongs to.
func FromContext(ctx context.Context) (*Call, bool) {
	call, ok := ctx.Value(callKey{}).(*Call)
	return call, ok
}

func callOf(req *http.Request) *Call {
	call, _ := FromContext(req.Context())
	return call
}

// Attempts returns how many requests were passed to the transport. It is safe for
// concurrent use.
func (c *Call) Attempts() int { return int(c.attempts.Load()) }

// begin clears the record for another attempt.
func (c *Call) begin() {
	c.attempts.Add(1)
	c.Attempt, c.retrying, c.wait = Attempt{}, false, 0
}

// IsSuccess reports whether the last attempt has a response with a 2xx status.
func (c *Call) IsSuccess() bool { return isSuccess(c.Status) }

func isSuccess(status int) bool { return status >= 200 && status <= 299 }

func (c *Call) isRead() bool { return c.Method == http.MethodGet }

// isRefused reports whether the last response refuses the request because of the
// pace: status 429, or 503 with a Retry-After.
func (c *Call) isRefused() bool {
	return c.Status == http.StatusTooManyRequests || c.Status == http.StatusServiceUnavailable && c.RetryAfter > 0
}
