package transport

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
)

// paceLink waits before a retry and until the gate lets the request go, and
// reports to the gate what came of it.
type paceLink struct {
	next   http.RoundTripper
	gate   *pace.Gate
	logger *slog.Logger
}

func (l paceLink) RoundTrip(req *http.Request) (*http.Response, error) {
	call := callOf(req)
	if call.Stopped = l.enter(req, call); call.Stopped != nil {
		return nil, call.Stopped
	}
	call.begin()
	defer l.leave(req.Context(), call)
	resp, err := l.next.RoundTrip(req)
	call.Err = err
	return resp, err
}

func (l paceLink) enter(req *http.Request, call *Call) error {
	ctx := req.Context()
	if call.wait > 0 {
		timer := time.NewTimer(call.wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	longest := call.Retry.MaxWait
	if call.Patience != nil {
		longest = maxHeeded + call.Patience.Most
	}
	return l.gate.Enter(ctx, &call.ticket, longest)
}

func (l paceLink) leave(ctx context.Context, call *Call) {
	apart := l.gate.Leave(&call.ticket, call.paceOutcome(), min(call.RetryAfter, maxHeeded))
	if apart != "" && l.logger != nil {
		l.logger.LogAttrs(ctx, slog.LevelWarn, "horseracing: refusals of this route no longer slow down the others", slog.String("route", apart))
	}
}

// paceOutcome returns what the last attempt shows of the pace.
func (c *Call) paceOutcome() pace.Outcome {
	switch {
	case c.isRefused():
		return pace.Refused
	case c.Status == 0 || IsTransient(c.Status):
		return pace.Unclear
	}
	return pace.Accepted
}
