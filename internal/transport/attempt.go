package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/horseracing-go/horseracing/internal/redact"
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
		return http.Header{"X-Api-Key": {apiKey}, "Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {userAgent}}
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

// maxLogged is the most of an error's text that is logged, in bytes.
const maxLogged = 1800

// attrs returns the operation and its last attempt, for the log.
func (r *Record) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("operation", r.Method+" "+r.Route), slog.String("id", r.ID), slog.Int("attempt", r.Attempts())}
	if r.Status != 0 {
		attrs = append(attrs, slog.Int("status", r.Status))
	}
	if r.Err != nil {
		text := redact.Visible(r.Keys.Text(r.Err.Error()))
		attrs = append(attrs, slog.String("error", text[:min(len(text), maxLogged)]))
	}
	return attrs
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
