// Package transport sends the requests of a call: one retryablehttp.Client for
// all calls, and below it one attempt as a chain of RoundTrippers.
//
//	retryablehttp.Client      attempt after attempt, as long as the policy says so (retry.go)
//	http.Client               the caller's cookie jar
//	paceLink                  waits before a retry, and for the pace
//	attemptLink               the headers, the whole body, the time limit and the log of an attempt
//	writeLink                 notes whether a write left
//	wrappers of the caller
//	Wire                      reads | writes
//
// The links read and write the [Record], which travels in the context of the
// request. Nothing here calls back into the package above.
package transport

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/horseracing-go/horseracing/internal/pace"
)

// Config configures a [Client].
type Config struct {
	Send      http.RoundTripper // a [Wire], or what wraps it
	Jar       http.CookieJar    // may be nil
	Header    func() http.Header
	Scheduler *pace.Scheduler
	Timeout   time.Duration // of one attempt
	MaxBytes  int64         // of a response body, less than the largest int64
	Logger    *slog.Logger
}

// Client sends calls. It is safe for concurrent use.
type Client struct{ loop *retryablehttp.Client }

// New returns a client.
func New(c Config) *Client {
	var chain http.RoundTripper = writeLink{next: c.Send}
	chain = attemptLink{chain, c.Header, c.Timeout, c.MaxBytes, c.Logger}
	chain = &paceLink{next: chain, scheduler: c.Scheduler, logger: c.Logger}
	policy := &policy{logger: c.Logger, tokens: budgetSize}
	return &Client{&retryablehttp.Client{
		HTTPClient: &http.Client{Transport: chain, Jar: c.Jar, CheckRedirect: refuseRedirect},
		RetryMax:   math.MaxInt, // the policy counts
		CheckRetry: func(ctx context.Context, _ *http.Response, _ error) (bool, error) {
			return policy.shouldRetry(ctx), nil
		},
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return 0 }, // paceLink waits
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
		PrepareRetry: func(req *http.Request) error {
			req.Header.Del("Cookie") // the http.Client adds the jar's again
			return nil
		},
	}}
}

// Do sends a request until an attempt is final, and returns the record of the call. An
// error of the http.Client after a response, such as for a Location that it cannot
// parse, is ignored.
func (c *Client) Do(ctx context.Context, request Request) *Record {
	r := &Record{Request: request}
	r.waiter = pace.NewWaiter(r.Priority, r.PaceRoute)
	r.waiter.Once, r.waiter.Patient, r.waiter.MaxWait = !r.isRead(), r.Patient, r.Retry.MaxWait
	plain := http.Request{Method: r.Method, URL: r.URL, Host: r.URL.Host, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	req := &retryablehttp.Request{Request: plain.WithContext(context.WithValue(ctx, recordKey{}, r))}
	if r.Payload != nil {
		_ = req.SetBody(r.Payload) // fails only for other types
	}
	_, err := c.loop.Do(req)
	switch {
	case err == nil || r.Stopped != nil:
	case r.retrying: // the context ended between two attempts
		r.Stopped = ctx.Err()
	case r.Err == nil && r.Status == 0: // no link was reached
		r.Err = err
	}
	return r
}

// refuseRedirect has the http.Client return a redirect as the response. To follow it
// would send the API key to another host, and drop the body.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// RedirectOrigin returns the scheme and host of a redirect's target. Its path and query
// are left out, because they may hold keys.
func RedirectOrigin(base *url.URL, header http.Header) string {
	target, err := base.Parse(header.Get("Location"))
	if err != nil || header.Get("Location") == "" {
		return "an unreadable location"
	}
	return target.Scheme + "://" + target.Host
}
