package transport

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
)

// paceLink waits before a retry and until the scheduler lets the request go, and
// reports its outcome to the scheduler.
type paceLink struct {
	next      http.RoundTripper
	scheduler *pace.Scheduler
	logger    *slog.Logger
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
		_ = Sleep(ctx, r.wait) // the scheduler returns the context's error
	}
	for {
		longest := r.Retry.MaxWait
		if r.Patience != nil { // it counts what its calls waited before
			longest = r.Patience.left()
		}
		err := l.scheduler.Enter(ctx, &r.waiter, longest, func() { l.late(ctx, r) })
		expired, isExpired := errors.AsType[*pace.ExpiredError](err)
		if !isExpired || r.Patience == nil {
			return err
		}
		renewed := expired.For == 0 && r.Patience.left() > 0 // another page was accepted
		if !renewed && !r.Patience.excuse(expired.For) {
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

// late logs a wait in the queue that takes long.
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
		l.scheduler.Announce(&r.waiter, limit, left, min(reset, maxHeeded))
	}
	isolated := l.scheduler.Leave(&r.waiter, outcome, min(r.RetryAfter, maxHeeded))
	if isolated != "" {
		l.logger.LogAttrs(ctx, slog.LevelWarn, "horseracing: refusals of this route no longer slow down the others", slog.String("route", isolated))
	}
}

// paceOutcome returns what the last attempt shows of the pace.
func (r *Record) paceOutcome() pace.Outcome {
	switch {
	case r.Status == http.StatusServiceUnavailable:
		return pace.Unavailable
	case r.isRefused():
		return pace.Refused
	case r.Status == 0 || IsTransient(r.Status):
		return pace.Unclear
	}
	return pace.Accepted
}
