package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing"
)

const (
	manyAttempts = 5           // at one page, before a sentence is printed; other calls make fewer
	again        = time.Minute // between two sentences
)

// waits is the log of a client for people: it says that the service is waited for, and that it
// accepts requests again.
type waits struct {
	slog.Handler
	p *program

	mu   sync.Mutex
	said time.Time // the last time
}

func (w *waits) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (w *waits) Handle(_ context.Context, r slog.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Level == slog.LevelInfo {
		w.said = time.Time{}
		w.p.say("the service accepts requests again")
		return nil
	}
	var attempt int64
	reason := "it refuses requests"
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "attempt":
			attempt = a.Value.Int64()
		case "status":
			reason = fmt.Sprintf("it responds with status %v", a.Value)
		case "error":
			reason = fmt.Sprintf("it does not respond (%v)", a.Value)
		}
		return true
	})
	isRetry := r.Message == "horseracing: retry"
	if !(isRetry && attempt < manyAttempts) && r.Time.Sub(w.said) >= again {
		w.said = r.Time
		w.p.say("waiting for the service: " + reason)
	}
	return nil
}

// logging returns the option of a client whose waits are reported, with -v all its requests.
func (p *program) logging() horseracing.Option {
	if p.verbose {
		return horseracing.WithLogger(slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelDebug})))
	}
	return horseracing.WithLogger(slog.New(&waits{Handler: slog.DiscardHandler, p: p}))
}
