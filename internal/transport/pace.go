package transport

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
)

// maxHeeded is the longest Retry-After that is waited out before another attempt.
const maxHeeded = time.Hour

// paceLink waits before a retry and until the scheduler lets the request go, and
// reports its outcome to the scheduler.
type paceLink struct {
	next      http.RoundTripper
	scheduler *pace.Scheduler
	logger    *slog.Logger
	warned    atomic.Int64 // when a long wait was logged, unless a request was accepted since
}

func (l *paceLink) RoundTrip(req *http.Request) (*http.Response, error) {
	r, ctx := recordOf(req), req.Context()
	if r.wait > 0 {
		_ = Sleep(ctx, r.wait) // the scheduler returns the context's error
	}
	longest := r.Retry.MaxWait
	if r.Patient {
		longest = math.MaxInt64
	}
	if r.Stopped = l.scheduler.Enter(ctx, &r.waiter, longest, func() { l.late(ctx, r) }); r.Stopped != nil {
		return nil, r.Stopped
	}
	defer l.leave(ctx, r)
	if r.Attempts() == 0 && len(r.OnSend) > 0 {
		if r.Stopped = r.beforeFirst(ctx); r.Stopped != nil {
			return nil, r.Stopped
		}
	}
	r.begin()
	return l.next.RoundTrip(req)
}

// beforeFirst calls the functions of OnSend, until one fails. The context may end while
// they run.
func (r *Record) beforeFirst(ctx context.Context) error {
	for _, onSend := range r.OnSend {
		if err := onSend(); err != nil {
			return err
		}
	}
	return ctx.Err()
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

// late logs a long wait, of all that wait one a minute.
func (l *paceLink) late(ctx context.Context, r *Record) {
	now, last := time.Now().UnixNano(), l.warned.Load()
	if now-last >= int64(time.Minute) && l.warned.CompareAndSwap(last, now) {
		l.logger.LogAttrs(ctx, slog.LevelWarn, "horseracing: waiting until the service accepts requests", r.attrs()...)
	}
}

func (l *paceLink) leave(ctx context.Context, r *Record) {
	outcome := r.paceOutcome()
	if outcome == pace.Accepted && l.warned.Swap(0) != 0 {
		l.logger.LogAttrs(ctx, slog.LevelInfo, "horseracing: the service accepts requests again", slog.String("operation", r.Method+" "+r.Route))
	}
	if limit, left, reset, ok := announced(r.Header); ok {
		l.scheduler.Announce(&r.waiter, limit, left, min(reset, maxHeeded))
	}
	l.scheduler.Leave(&r.waiter, outcome, min(r.RetryAfter, maxHeeded))
}

// paceOutcome returns what the last attempt shows of the pace.
func (r *Record) paceOutcome() pace.Outcome {
	switch {
	case r.Status == http.StatusServiceUnavailable:
		return pace.Unavailable
	case r.meaning() == refused:
		return pace.Refused
	case r.Status == 0 || IsTransient(r.Status):
		return pace.Unclear
	}
	return pace.Accepted
}
