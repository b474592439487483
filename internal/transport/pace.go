package transport

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
)

// paceLink waits before a retry and until the gate lets the request go, and
// reports its outcome to the gate.
type paceLink struct {
	next   http.RoundTripper
	gate   *pace.Gate
	logger *slog.Logger
}

func (l paceLink) RoundTrip(req *http.Request) (*http.Response, error) {
	r := recordOf(req)
	if r.Stopped = l.enter(req.Context(), r); r.Stopped != nil {
		return nil, r.Stopped
	}
	defer l.leave(req.Context(), r)
	if r.Stopped = r.beforeFirst(req.Context()); r.Stopped != nil {
		return nil, r.Stopped
	}
	r.begin()
	resp, err := l.next.RoundTrip(req)
	r.Err = err
	return resp, err
}

func (l paceLink) enter(ctx context.Context, r *Record) error {
	if r.wait > 0 {
		_ = Sleep(ctx, r.wait) // the gate returns the context's error
	}
	for {
		longest := r.Retry.MaxWait
		if r.Patience != nil { // it counts what its calls waited before
			longest = r.Patience.left()
			r.ticket = pace.NewTicket(r.Rank, r.PaceRoute)
		}
		err := l.gate.Enter(ctx, &r.ticket, longest, func() { l.late(ctx, r) })
		held, isHeld := errors.AsType[*pace.HeldError](err)
		if !isHeld || r.Patience == nil || !r.Patience.excuse(held.For) {
			return err
		}
	}
}

// Sleep waits, and returns the context's error as soon as ctx is done.
func Sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// late logs a wait in line that takes long.
func (l paceLink) late(ctx context.Context, r *Record) {
	if r.Patience == nil || r.Patience.warn() {
		l.logger.LogAttrs(ctx, slog.LevelWarn, "horseracing: waiting until the service accepts requests", r.attrs()...)
	}
}

func (l paceLink) leave(ctx context.Context, r *Record) {
	outcome := r.paceOutcome()
	if r.Patience != nil && outcome == pace.Accepted && !isDamaged(r.Err) && r.Patience.accept() {
		l.logger.LogAttrs(ctx, slog.LevelInfo, "horseracing: the service accepts requests again", slog.String("operation", r.Name))
	}
	if limit, left, reset, ok := announced(r.Header); ok {
		l.gate.Announce(&r.ticket, limit, left, min(reset, maxHeeded))
	}
	apart := l.gate.Leave(&r.ticket, outcome, min(r.RetryAfter, maxHeeded))
	if apart != "" {
		l.logger.LogAttrs(ctx, slog.LevelWarn, "horseracing: refusals of this route no longer slow down the others", slog.String("route", apart))
	}
}

// paceOutcome returns what the last attempt shows of the pace.
func (r *Record) paceOutcome() pace.Outcome {
	switch {
	case r.isRefused() && r.Status == http.StatusServiceUnavailable:
		return pace.Unavailable
	case r.isRefused():
		return pace.Refused
	case r.Status == 0 || IsTransient(r.Status):
		return pace.Unclear
	}
	return pace.Accepted
}
