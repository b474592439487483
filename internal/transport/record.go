package transport

import (
	"context"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/redact"
)

// Request is what a call sends, and how.
type Request struct {
	// These fields identify the call. Route and ID are redacted.
	Method  string
	Route   string // the path with its placeholders
	ID      string
	URL     *url.URL
	Payload []byte // the body, or nil if none is sent

	// These fields say how it is sent.
	PaceRoute string // the route for the pace: the service may have a limit for each
	Priority  pace.Priority
	Retry     Retry
	Patient   bool           // if it is refused, it waits as long as the context allows
	NoCache   bool           // caches must not respond
	OnSend    []func() error // called before the first attempt
	WantJSON  bool           // a body that is an HTML page is a failure
	Keys      redact.Keys    // kept out of the log
}

func (r *Request) isRead() bool { return r.Method == http.MethodGet }

// Attempt is the outcome of an attempt.
type Attempt struct {
	// Status is 0 unless the whole response was read, or for an error status the
	// beginning of its body.
	Status     int
	Header     http.Header
	Body       []byte // without its Content-Encoding and a byte order mark
	Truncated  bool   // the body of an error status was longer
	RetryAfter time.Duration
	Err        error // nil if there is a response whose body can be read
	Unsent     bool  // the attempt certainly sent nothing
}

// IsSuccess reports whether the attempt has a response with a 2xx status.
func (a *Attempt) IsSuccess() bool { return isSuccess(a.Status) }

func isSuccess(status int) bool { return status >= 200 && status <= 299 }

// meaning is what an attempt shows, whether it was a read or a write.
type meaning int

const (
	conclusive meaning = iota // a response that another attempt would not change
	refused                   // the service refuses the request because of the pace
	transient                 // a failure that another attempt may not meet
	permanent                 // a failure that every attempt would meet
)

// meaning returns what the attempt shows by its error, or else by the status of its response
// and whether that has a Retry-After.
func (a *Attempt) meaning() meaning {
	isForNow := a.RetryAfter > 0 && (a.Status == http.StatusForbidden || a.Status == http.StatusServiceUnavailable)
	switch {
	case isPermanent(a.Err):
		return permanent
	case a.Err != nil:
		return transient
	case a.Status == http.StatusTooManyRequests, isForNow:
		return refused
	case IsTransient(a.Status):
		return transient
	}
	return conclusive
}

// IsTransient reports whether a status is that of a transient failure.
func IsTransient(status int) bool {
	return status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
}

// Record is what happened in a call. It travels in the context of its requests.
type Record struct {
	Request
	Attempt // the last one

	Stopped error // why the next attempt was not made: the context's error, that of OnSend, a *pace.LimiterError or a *pace.ExpiredError

	attempts atomic.Int64
	retrying bool          // another attempt follows
	wait     time.Duration // before it
	refusals int           // of a patient call, which the policy does not count as retries
	paid     int           // tokens of the budget that its retries cost
	waiter   pace.Waiter
}

type recordKey struct{}

// FromContext returns the record of the call that a request belongs to.
func FromContext(ctx context.Context) (*Record, bool) {
	r, ok := ctx.Value(recordKey{}).(*Record)
	return r, ok
}

func recordOf(req *http.Request) *Record {
	r, _ := FromContext(req.Context())
	return r
}

// Attempts returns how many requests were passed to the transport. It is safe for
// concurrent use.
func (r *Record) Attempts() int { return int(r.attempts.Load()) }

// begin clears the record for another attempt.
func (r *Record) begin() {
	r.attempts.Add(1)
	r.Attempt, r.retrying, r.wait = Attempt{}, false, 0
}
