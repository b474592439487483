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

// waits reports to the person in front of the program when the service does not respond or
// refuses requests, and when it responds again.
type waits struct {
	p *program

	mu       sync.Mutex
	inFlight int
	since    time.Time // no good response came since then, zero if none is waited for
	reason   string
	said     time.Time // zero if nothing was said of this wait
}

// watch returns a RoundTripper that notes what comes of each request.
func (w *waits) watch(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		w.begin()
		resp, err := next.RoundTrip(req)
		w.end(req.Context(), resp, err)
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (w *waits) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inFlight++
	if w.since.IsZero() {
		w.since, w.reason = time.Now(), "it has not responded yet"
	}
}

func (w *waits) end(ctx context.Context, resp *http.Response, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inFlight--
	switch {
	case err != nil && ctx.Err() != nil:
	case err != nil:
		w.reason = "it does not respond"
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500:
		w.reason = "it refuses requests with status " + fmt.Sprint(resp.StatusCode)
		if after := resp.Header.Get("Retry-After"); after != "" {
			w.reason += ", Retry-After " + after
		}
	default:
		if !w.said.IsZero() {
			w.p.say("the service responds again")
		}
		w.since, w.said = time.Time{}, time.Time{}
		if w.inFlight > 0 {
			w.since, w.reason = time.Now(), "it has not responded yet"
		}
	}
}

// tell says how long the service has been waited for, if that is long enough.
func (w *waits) tell(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() || now.Sub(w.since) < silence || now.Sub(w.said) < again {
		return
	}
	text := fmt.Sprintf("waiting for the service since %s: %s", w.since.UTC().Format(time.TimeOnly), w.reason)
	switch patience := w.p.patience; {
	case patience == forever:
		text += "; it is tried until it responds"
	case patience > 0:
		text += fmt.Sprintf("; it is tried until %s (UTC)", w.since.Add(patience).UTC().Format(time.TimeOnly))
	}
	w.p.say(text)
	w.said = now
}

// run reports waits until the function that it returns is called.
func (w *waits) run() (stop func()) {
	ticker, done := time.NewTicker(time.Second), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case now := <-ticker.C:
				w.tell(now)
			case <-done:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(done)
		group.Wait()
	}
}

// handler is the log of a client for people: it says until when a registration is
// settled. What else a client logs, waits says.
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
	opts := []horseracing.Option{horseracing.WithTransportWrapper(w.watch)}
	if w.p.verbose {
		return append(opts, horseracing.WithLogger(slog.New(slog.NewTextHandler(w.p.stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	}
	return append(opts, horseracing.WithLogger(slog.New(handler{slog.DiscardHandler, w.p})))
}
