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
	call := callOf(req)
	if call.Stopped = l.enter(req.Context(), call); call.Stopped != nil {
		return nil, call.Stopped
	}
	call.begin()
	defer l.leave(req.Context(), call)
	resp, err := l.next.RoundTrip(req)
	call.Err = err
	return resp, err
}

func (l paceLink) enter(ctx context.Context, call *Call) error {
	if call.wait > 0 {
		timer := time.NewTimer(call.wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	for {
		longest := call.Retry.MaxWait
		if call.Patience != nil { // it counts what its calls waited before
			longest = call.Patience.left()
			call.ticket = pace.NewTicket(call.Rank, call.PaceRoute)
		}
		err := l.gate.Enter(ctx, &call.ticket, longest, func() { l.late(ctx, call) })
		held, isHeld := errors.AsType[*pace.HeldError](err)
		if !isHeld || call.Patience == nil || !call.Patience.excuse(held.For) {
			return err
		}
	}
}

// late logs a wait in line that takes long.
func (l paceLink) late(ctx context.Context, call *Call) {
	if call.Patience == nil || call.Patience.warn() {
		l.logger.LogAttrs(ctx, slog.LevelWarn, "horseracing: waiting until the service accepts requests", call.attrs()...)
	}
}

func (l paceLink) leave(ctx context.Context, call *Call) {
	outcome := call.paceOutcome()
	if call.Patience != nil && outcome == pace.Accepted && call.Patience.accept() {
		l.logger.LogAttrs(ctx, slog.LevelInfo, "horseracing: the service accepts requests again", slog.String("operation", call.Name))
	}
	apart := l.gate.Leave(&call.ticket, outcome, min(call.RetryAfter, maxHeeded))
	if apart != "" {
		l.logger.LogAttrs(ctx, slog.LevelWarn, "horseracing: refusals of this route no longer slow down the others", slog.String("route", apart))
	}
}

// paceOutcome returns what the last attempt shows of the pace.
func (c *Call) paceOutcome() pace.Outcome {
	switch {
	case c.isRefused() && c.Status == http.StatusServiceUnavailable:
		return pace.Unavailable
	case c.isRefused():
		return pace.Refused
	case c.Status == 0 || IsTransient(c.Status):
		return pace.Unclear
	}
	return pace.Accepted
}
