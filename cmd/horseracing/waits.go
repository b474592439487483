package main

import (
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
	w.p.say(fmt.Sprintf("waiting for the service since %s (UTC): %s", w.since.UTC().Format(time.TimeOnly), w.reason))
	w.isSaid = true
	w.timer.Reset(again)
}

// options are the options of a client whose waits are reported.
func (w *waits) options() []horseracing.Option {
	opts := []horseracing.Option{horseracing.WithTransportWrapper(w.wrap)}
	if w.p.verbose {
		return append(opts, horseracing.WithLogger(slog.New(slog.NewTextHandler(w.p.stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	}
	return opts
}
