package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing"
)

const (
	silence = 5 * time.Second // without a good response, before a sentence is printed
	again   = time.Minute     // between two sentences about the same wait
)

// waits is a RoundTripper that reports to the person in front of the program when the
// service does not respond or refuses requests, and when it responds again.
type waits struct {
	p    *program
	next http.RoundTripper

	mu       sync.Mutex
	inFlight int
	since    time.Time // no good response came since then, zero if none is waited for
	reason   string
	isSaid   bool        // of this wait
	timer    *time.Timer // says it
}

// wrap makes w the transport before next.
func (w *waits) wrap(next http.RoundTripper) http.RoundTripper {
	w.next = next
	return w
}

func (w *waits) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.inFlight++
	w.begin()
	w.mu.Unlock()
	resp, err := w.next.RoundTrip(req)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inFlight--
	switch {
	case err != nil && req.Context().Err() != nil:
	case err != nil:
		w.reason = "it does not respond"
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500:
		w.reason = "it refuses requests with status " + fmt.Sprint(resp.StatusCode)
		if after := resp.Header.Get("Retry-After"); after != "" {
			w.reason += ", Retry-After " + after
		}
	default:
		if w.isSaid {
			w.p.say("the service responds again")
		}
		w.end()
		if w.inFlight > 0 {
			w.begin()
		}
	}
	return resp, err
}

// begin starts a wait, unless there is one.
func (w *waits) begin() {
	if w.since.IsZero() {
		w.since, w.reason = time.Now(), "it has not responded yet"
		w.timer = time.AfterFunc(silence, w.report)
	}
}

// end ends a wait.
func (w *waits) end() {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.since, w.isSaid = time.Time{}, false
}

func (w *waits) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
}

// report prints how long the service has been waited for.
func (w *waits) report() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() || time.Since(w.since) < silence {
		return // it has just ended
	}
	text := fmt.Sprintf("waiting for the service since %s: %s", w.since.UTC().Format(time.TimeOnly), w.reason)
	switch patience := w.p.patience; {
	case patience == forever:
		text += "; it is tried until it responds"
	case patience > 0:
		text += fmt.Sprintf("; it is tried until %s (UTC)", w.since.Add(patience).UTC().Format(time.TimeOnly))
	}
	w.p.say(text)
	w.isSaid = true
	w.timer.Reset(again)
}

// handler is the log of a client for people: it says until when a registration is
// settled. Anything else that a client logs is printed by waits.
type handler struct {
	slog.Handler
	p *program
}

func (h handler) Enabled(_ context.Context, level slog.Level) bool { return level == slog.LevelInfo }

func (h handler) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "until" {
			h.p.say("the outcome is certain at " + a.Value.Time().UTC().Format(time.DateTime) + " (UTC) at the latest")
		}
		return true
	})
	return nil
}

// options are the options of a client whose waits are reported.
func (w *waits) options() []horseracing.Option {
	opts := []horseracing.Option{horseracing.WithTransportWrapper(w.wrap)}
	if w.p.verbose {
		return append(opts, horseracing.WithLogger(slog.New(slog.NewTextHandler(w.p.stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	}
	return append(opts, horseracing.WithLogger(slog.New(handler{slog.DiscardHandler, w.p})))
}
