package horseracing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/horseracing-go/horseracing/internal/follow"
	"github.com/horseracing-go/horseracing/internal/listing"
	"github.com/horseracing-go/horseracing/internal/pace"
)

// FollowQuery configures a [Follower]. An entry that finishes late is found if it starts at most
// Lookback before the newest entry.
type FollowQuery struct {
	Tier        TierID        // default TierOmega
	Since       time.Time     // only entries that start at this time or later; by default those that finish after the first successful poll; ignored with Resume
	Resume      Cursor        // continue after the position of a saved cursor, with its tier
	Interval    time.Duration // time between polls; default 30s
	Lookback    time.Duration // default 1h for races, 24h for tournaments
	Concurrency int           // requests in flight at once, when there is much to catch up with; default 1
}

// Follower yields each newly finished race or tournament exactly once, by polling: with Since those
// that start then or later, past ones first, and without it those that finish after its first
// successful poll. A race with participants but without a FinalOrder is held back until it has one, or
// until another race is listed that starts more than Lookback later.
//
// A Follower keeps its position, and refuses a second loop at a time, as a [Pager] does. If you store
// [Follower.Cursor] in the transaction that handles an entry, no entry is handled twice, and none
// is missed, even across restarts, unless its result appears too late (see [FollowQuery]), or
// more than 700 entries start within Lookback.
type Follower[T any] struct {
	source  source[T]
	poller  listing.Poller[T]
	resume  Cursor          // the query's
	invalid error           // of the query; yielded instead of races
	last    json.RawMessage // what was yielded last, as received
}

func newFollower[T any, S ~struct{ *backend }](s *S, l paged[T], q FollowQuery) *Follower[T] {
	mark := follow.Watermark{Seen: map[string]int64{}}
	tier, problem := q.Resume.open(l.followCursors, q.Tier, &mark)
	if mark.Seen == nil {
		problem = listing.ErrDamaged
	}
	if q.Resume.IsZero() && !q.Since.IsZero() {
		mark.Settled = max(1, ceilMilli(q.Since))
	}
	f := &Follower[T]{source: source[T]{paged: l, backend: backendOf(s), tier: tier, priority: pace.Polls}, resume: q.Resume}
	lookback := int64((cmp.Or(q.Lookback, l.lookback)-1)/time.Millisecond) + 1
	f.poller = listing.Poller[T]{
		Listing: f.source.listing(), Progress: follow.New(mark, lookback, l.isPending),
		Schedule: listing.Schedule{Interval: cmp.Or(q.Interval, 30*time.Second)}, Concurrency: q.Concurrency,
	}
	problem = cmp.Or(checkNotNegative("an Interval", q.Interval), checkNotNegative("a Lookback", q.Lookback), checkNotNegative("a Concurrency", q.Concurrency), problem)
	if problem != nil {
		f.invalid = f.source.op().invalid(problem)
	}
	return f
}

// checkNotNegative returns the problem of a field of a query, or nil.
func checkNotNegative[T int | time.Duration](field string, value T) error {
	if value < 0 {
		return fmt.Errorf("%s of %v is negative", field, value)
	}
	return nil
}

// Cursor returns the position after everything yielded so far. Its text takes about forty bytes for
// each entry within Lookback, and never exceeds 64 KiB.
func (f *Follower[T]) Cursor() Cursor {
	progress := f.poller.Progress
	if f.invalid != nil || progress == nil || progress.Settled == 0 {
		return f.resume
	}
	return newCursor(f.source.followCursors, f.source.tier, progress.Watermark)
}

// JSON returns, in the body of the loop, the entry yielded last as it was received, not redacted.
func (f *Follower[T]) JSON() json.RawMessage { return f.last }

// All yields the finished entries after the follower's position, oldest first, and then polls for
// further ones. It ends when ctx is done, without an error. No request is made while its body runs.
//
// An error comes with a nil entry. It does not end the loop, unless it matches ErrInvalidArgument,
// and no entry is missed because of it. After a failure there is a backoff of up to five minutes.
// While the service refuses requests, the loop waits, and yields the last refusal after each hour.
// While a page cannot be read, each attempt yields its error, and only entries that start earlier
// are yielded.
//
// The error of an entry that cannot be read, or a [*TieOverflowError], is yielded once, unless
// [WithSkipHandler] gets it; that of an entry without an id or a start time may be repeated. If a
// later poll can read the entry, and it is still within Lookback, it is yielded then.
func (f *Follower[T]) All(ctx context.Context) iter.Seq2[*T, error] { return f.follow(ctx, false) }

// CatchUp is one poll of [Follower.All]: it yields the finished entries after the follower's position
// and ends. It also ends at any error, including that of ctx. Range again to continue, after an entry
// that cannot be read, or with the page that could not be read.
//
// Without Since and Resume, the first one yields no entry: store the [Follower.Cursor] after it.
func (f *Follower[T]) CatchUp(ctx context.Context) iter.Seq2[*T, error] { return f.follow(ctx, true) }

// follow polls: it reads one window after another, and yields the new entries of each. It waits
// after each poll, and after each error. After an error it continues the same poll.
func (f *Follower[T]) follow(ctx context.Context, isOnePoll bool) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		if err := f.source.begin(ctx, f.invalid); err != nil {
			yield(nil, err)
			return
		}
		defer f.source.ranging.Store(false)
		p := f.poller.Poll()
		for {
			err := p.Next(ctx)
			if err == nil {
				err = f.deliver(ctx, yield, isOnePoll)
			}
			switch {
			case err == nil && !p.IsDone():
				continue
			case errors.Is(err, errLeft), err != nil && ctx.Err() != nil && !isOnePoll: // All ends without an error
				return
			case err != nil:
				if f.last = nil; !yield(nil, err) || errors.Is(err, ErrInvalidArgument) {
					return
				}
			}
			if isOnePoll || !f.poller.Schedule.Wait(ctx, err != nil, retryAfterOf(err)) {
				return
			}
			if p.IsDone() {
				p = f.poller.Poll()
			}
		}
	}
}

var errLeft = errors.New("nothing more is to be yielded")

// deliver yields the entries that the progress returns. An unreadable entry ends a loop over CatchUp.
func (f *Follower[T]) deliver(ctx context.Context, yield func(*T, error) bool, isOnePoll bool) error {
	progress := f.poller.Progress
	for e, ok := progress.Next(); ok; e, ok = progress.Next() {
		f.last = e.JSON
		if !f.source.skips(ctx, &e) && (!yield(e.Value, e.Err) || e.Err != nil && isOnePoll) {
			return errLeft
		}
		if err := ctx.Err(); err != nil && !progress.IsDecided() {
			return f.poller.Fail(err)
		}
	}
	return nil
}
