package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// ErrAttemptTimeout is the error of an attempt that ran out of time.
var ErrAttemptTimeout = errors.New("no complete response within the attempt timeout")

// attemptLink sets the headers of an attempt, reads its response whole, limits the time of
// both, and logs it.
type attemptLink struct {
	next    http.RoundTripper
	header  func() http.Header // returns a new one
	timeout time.Duration
	limit   int64 // of the body
	logger  *slog.Logger
}

func (l attemptLink) RoundTrip(req *http.Request) (*http.Response, error) {
	r, started := recordOf(req), time.Now()
	ctx, cancel := context.WithTimeoutCause(req.Context(), l.timeout, ErrAttemptTimeout)
	defer cancel()
	resp, err := l.next.RoundTrip(l.withHeader(req.WithContext(ctx)))
	if err == nil {
		err = r.take(resp, l.limit)
	}
	r.Err = withCause(ctx, err)
	if l.logger.Enabled(ctx, slog.LevelDebug) {
		l.logger.LogAttrs(ctx, slog.LevelDebug, "horseracing: attempt", append(r.attrs(), slog.Duration("duration", time.Since(started)))...)
	}
	if r.Err != nil {
		return nil, r.Err
	}
	resp.Body = http.NoBody
	return resp, nil
}

// withHeader sets the headers. It keeps no earlier header except the jar's cookies.
func (l attemptLink) withHeader(req *http.Request) *http.Request {
	header := l.header()
	if cookies := req.Header["Cookie"]; cookies != nil {
		header["Cookie"] = cookies
	}
	if recordOf(req).NoCache {
		header.Set("Cache-Control", "no-cache")
	}
	req.Header = header
	return req
}

// Header returns a function that returns the headers of a request. It keeps the key in
// its closure, where fmt does not print it.
func Header(apiKey, userAgent string) func() http.Header {
	return func() http.Header {
		values := []string{apiKey, userAgent, "application/json", "application/json"}
		return http.Header{"X-Api-Key": values[0:1:1], "User-Agent": values[1:2:2], "Content-Type": values[2:3:3], "Accept": values[3:4:4]}
	}
}

// withCause adds to an error that the attempt ran out of time, or that the call's
// context ended.
func withCause(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(context.Cause(ctx), ErrAttemptTimeout) {
		return fmt.Errorf("%w: %w", ErrAttemptTimeout, context.DeadlineExceeded)
	}
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		return fmt.Errorf("%w: %w", ended, err)
	}
	return err
}
