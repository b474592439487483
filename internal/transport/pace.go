package transport

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
)

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
	if r.Stopped = l.scheduler.Enter(ctx, &r.waiter, func() { l.late(ctx, r) }); r.Stopped != nil {
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

// late logs a long wait, at most once a minute for all requests that wait.
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
	l.scheduler.Leave(&r.waiter, outcome, r.hold(outcome == pace.Refused || outcome == pace.Unavailable))
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

// maxHold is the longest time that a response holds its route, so that a service which names
// a wrong time is requested once an hour.
const maxHold = time.Hour

// hold returns for how long the last response wants no request of its route: by its
// Retry-After if it is a refusal, and by an announced limit that is used up. If both say
// something, the shorter counts. A walk leaves a twelfth of an announced limit to others.
func (r *Record) hold(isRefusal bool) pace.Hold {
	var named time.Duration
	if isRefusal {
		named = min(r.RetryAfter, maxHold)
	}
	q, ok := announced(r.Header)
	reset := min(q.reset, maxHold)
	switch {
	case !ok || q.reset > maxHold && !isRefusal:
	case named > 0 && (q.left > 0 || named < reset):
	case q.left == 0:
		return pace.Hold{Route: reset, Walks: reset}
	case q.left <= q.limit/12:
		return pace.Hold{Walks: reset}
	}
	return pace.Hold{Route: named, Walks: named}
}

// retryAfter returns the wait that a Retry-After header demands, or zero if none can be read.
func retryAfter(header http.Header) time.Duration {
	wait, _ := parseWait(header.Get("Retry-After"), header)
	return wait
}

// quota is what a response announces: of limit requests, left more are accepted until reset
// from now. limit is zero if it is not announced.
type quota struct {
	limit, left float64
	reset       time.Duration
}

// announced reads the quota of the fields RateLimit-*, X-RateLimit-* or RateLimit
// (https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers). Of several quotas
// it reads the first. It returns false unless a response says what is left, and until when.
func announced(header http.Header) (q quota, ok bool) {
	if header["Ratelimit-Remaining"] == nil && header["X-Ratelimit-Remaining"] == nil && header["Ratelimit"] == nil {
		return quota{}, false
	}
	parameters := map[string]string{}
	for _, each := range strings.FieldsFunc(header.Get("RateLimit")+";"+header.Get("RateLimit-Policy"), func(r rune) bool { return r == ';' || r == ',' }) {
		name, value, _ := strings.Cut(strings.TrimSpace(each), "=")
		parameters[name] = cmp.Or(parameters[name], value)
	}
	field := func(name, parameter, older string) string {
		return cmp.Or(header.Get("RateLimit-"+name), header.Get("X-RateLimit-"+name), parameters[parameter], parameters[older])
	}
	number := func(text string) (float64, bool) {
		text, _, _ = strings.Cut(text, ",") // others may follow
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		return n, err == nil && n >= 0
	}
	q.limit, _ = number(field("Limit", "q", "limit"))
	left, isLeft := number(field("Remaining", "r", "remaining"))
	reset, isReset := parseWait(field("Reset", "t", "reset"), header)
	q.left, q.reset = math.Floor(left), cmp.Or(reset, time.Second) // 0 may be less than a second
	return q, isLeft && isReset
}

const (
	firstUnixTime  = 900_000_000 // seconds: at least this is an instant since 1998, and not a wait
	firstUnixMilli = 1000 * firstUnixTime
	lastUnixMilli  = 10_000 * firstUnixMilli // keeps what follows within its type
)

// parseWait reads a wait from now in each form that has one meaning: seconds, perhaps with a
// fraction or a unit, a Unix time in seconds or milliseconds, and a date. If the text is a
// list, the first entry counts.
func parseWait(text string, header http.Header) (wait time.Duration, ok bool) {
	if text = strings.TrimSpace(text); text == "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	switch isNumber := err == nil || errors.Is(err, strconv.ErrRange); {
	case isNumber && n >= firstUnixMilli:
		return waitUntil(time.UnixMilli(int64(min(n, lastUnixMilli))), header), true
	case isNumber && n >= firstUnixTime:
		return waitUntil(time.UnixMilli(int64(1000*n)), header), true
	case isNumber && n >= 0:
		return time.Duration(n * float64(time.Second)), true
	}
	if wait, err := time.ParseDuration(text); err == nil && wait >= 0 {
		return wait, true
	}
	if until, err := http.ParseTime(text); err == nil {
		return waitUntil(until, header), true
	}
	for _, layout := range []string{time.RFC1123Z, time.RFC3339} {
		if until, err := time.Parse(layout, text); err == nil {
			return waitUntil(until, header), true
		}
	}
	if first, _, isList := strings.Cut(text, ","); isList {
		return parseWait(first, header)
	}
	return 0, false
}

// waitUntil returns how long it is until an instant of the service, by its own clock in the
// Date or by the local one, whichever gives the shorter wait: either clock may be wrong.
func waitUntil(until time.Time, header http.Header) time.Duration {
	wait := time.Until(until) // saturates
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		wait = min(wait, until.Sub(date))
	}
	return max(0, wait)
}
