package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/connection"
)

// waits reports that a command waits for the service: every five seconds on a terminal, and
// otherwise once a minute. It also reports when the service responds again. It is the client's
// log handler, which gets the reasons, and wraps the client's transport, to notice an attempt
// that has no response yet.
type waits struct {
	slog.Handler
	p *program

	mu        sync.Mutex
	began     time.Time // when the wait began, zero if nothing is waited for
	said      time.Time // when it was reported last
	succeeded time.Time // when a request succeeded last
}

// reporting returns the options of a client whose waits are reported, with -v all its requests.
func (p *program) reporting() []horseracing.Option {
	if p.verbose {
		return []horseracing.Option{horseracing.WithLogger(p.log())}
	}
	w := &waits{Handler: slog.DiscardHandler, p: p}
	return []horseracing.Option{
		horseracing.WithLogger(slog.New(w)),
		horseracing.WithTransportWrapper(w.wrap),
	}
}

// report prints why the service is waited for, if that began at least so long before until.
func (w *waits) report(since, until time.Time, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.succeeded.After(since) {
		return
	}
	if w.began.IsZero() || since.Before(w.began) {
		w.began = since
	}
	if every := w.p.interval(); until.Sub(w.began) >= every && time.Since(w.said) >= every {
		w.said = time.Now()
		w.p.say("waiting for the service: " + reason)
	}
}

// wrap is a wrapper of the client's transport. The context of an attempt ends once the response was read.
func (w *waits) wrap(next http.RoundTripper) http.RoundTripper {
	return connection.RoundTripper(func(req *http.Request) (*http.Response, error) {
		started := time.Now()
		timer := time.AfterFunc(often, func() { w.report(started, time.Now(), "it has not responded yet") })
		context.AfterFunc(req.Context(), func() { timer.Stop() })
		return next.RoundTrip(req)
	})
}

func (w *waits) Enabled(context.Context, slog.Level) bool { return true }

// Handle notes an attempt that succeeded, and reports retries and requests that wait until the
// service accepts some, which the library logs after five seconds.
func (w *waits) Handle(_ context.Context, r slog.Record) error {
	since, until, reason := r.Time, r.Time, ""
	r.Attrs(func(a slog.Attr) bool {
		switch {
		case a.Key == "wait":
			until = until.Add(a.Value.Duration())
		case a.Key == "status" && a.Value.Int64() >= http.StatusBadRequest:
			reason = fmt.Sprintf("it responds with status %v", a.Value)
		case a.Key == "error":
			reason = fmt.Sprintf("it does not respond (%v)", a.Value)
		}
		return true
	})
	switch {
	case r.Message == "horseracing: waiting until the service accepts requests":
		since = since.Add(-often)
		fallthrough
	case r.Level >= slog.LevelWarn:
		w.report(since, until, cmp.Or(reason, "it refuses requests"))
	case reason == "":
		w.mu.Lock()
		if !w.began.IsZero() && w.said.After(w.began) {
			w.p.say("the service responds again")
		}
		w.began, w.succeeded = time.Time{}, r.Time
		w.mu.Unlock()
	}
	return nil
}
