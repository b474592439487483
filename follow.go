package horseracing

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// FollowQuery configures a [Follower].
type FollowQuery struct {
	Tier     TierID        // zero: the service's default (TierOmega), and no other
	Tiers    []TierID      // several tiers followed as one; not together with Tier
	Since    time.Time     // only races that start at this or later; zero: those that finish from now on; ignored with Resume
	Resume   Cursor        // go on where a saved cursor stopped; zero: begin at Since
	Interval time.Duration // between polls; zero: 30 seconds
	Lookback time.Duration // how far behind the newest race others may still finish; zero: an hour
}

const (
	followInterval = 30 * time.Second
	followLookback = time.Hour
)

// Follower hands out each newly finished race exactly once, by polling. No
// request is made until it is ranged over.
//
// It keeps its place as a [Pager] does: break out of a loop, then range again to
// go on, or store [Follower.Cursor] and resume in another process. Store the
// cursor in the transaction that handles the race, and each race is handled
// exactly once, whatever finished late, could not be read, or was missed while
// no process ran. A Follower belongs to one goroutine, and to one loop at a time.
type Follower struct {
	races    *RacesService
	query    FollowQuery
	tiers    []TierID
	lookback int64 // milliseconds
	invalid  error // of the query; yielded instead of races
	ranging  bool  // a loop is under way
	schedule pollSchedule
	state    *followState
}

// Follow returns a Follower of the finished races.
//
// With Since it hands out the races that start at Since or later, those of the
// past first. Without Since it hands out the races that finish after its first
// successful poll, whenever they started. With Resume it goes on behind a stored
// cursor.
//
// GET /api/v2/races/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#45-finished-races-version-2
func (s *RacesService) Follow(q FollowQuery) *Follower {
	f := &Follower{
		races: s, query: q,
		lookback: int64((cmp.Or(q.Lookback, followLookback) + time.Millisecond - 1) / time.Millisecond),
		schedule: pollSchedule{interval: cmp.Or(q.Interval, followInterval)},
		state:    &followState{floor: walk.Earliest, marks: map[mark]int64{}},
	}
	var fields []string
	var problem string
	op := f.op()
	f.tiers, fields, problem = resolveTiers(cursorFollow, q.Tier, q.Tiers, q.Resume)
	switch {
	case problem != "":
		f.invalid = op.invalid(problem)
	case q.Interval < 0:
		f.invalid = op.invalid(fmt.Sprintf("Interval %v is negative", q.Interval))
	case q.Lookback < 0:
		f.invalid = op.invalid(fmt.Sprintf("Lookback %v is negative", q.Lookback))
	case !q.Resume.IsZero():
		f.state, _ = parseFollowState(fields)
	case !q.Since.IsZero():
		f.state.begun, f.state.floor = true, ceilMilli(q.Since)
	}
	return f
}

// Cursor returns the place behind everything handed out so far. Of a query
// without Since and Resume it is the zero Cursor until the first poll succeeds.
//
// Its text grows with the number of races within Lookback alone, by about ten
// bytes for each, and is never longer than 64 KiB.
func (f *Follower) Cursor() Cursor {
	if f.invalid != nil || !f.state.begun {
		return f.query.Resume
	}
	return newCursor(cursorFollow, f.tiers, f.state.payload())
}

// All ranges over the finished races from where the follower stands, polling for
// new ones. It ends when ctx does or the caller leaves the loop, without an
// error. Nothing runs between the steps of the loop. The races belong to the
// caller.
//
// Each poll reads back over Lookback, counted from the start of the newest race:
// a race that takes no longer from its start to its result is never missed. In a
// poll the oldest comes first; a race that finishes late comes after ones that
// started later. If more than 2,500 races lie within Lookback, it is shortened to
// the newest 2,000. More than a thousand new races are requested twice, so that
// memory stays bounded.
//
// An error is yielded with a nil race, and polling goes on:
//
//   - A failed poll goes on where it stopped, with backoff up to five minutes (or
//     Interval, if that is longer), and waits for a Retry-After of up to an hour.
//     While the service refuses everything, an error is yielded every ten minutes.
//   - A race that cannot be read is a [*DecodeError], once. Each poll reads it
//     again while it lies within Lookback; one further back is read once more at
//     once. If it stays unreadable, a second and final error follows.
//   - A page that cannot be read twice in a row leaves a hole: the races around it
//     are handed out, and the hole is requested by itself, with backoff, until it
//     can be read. Of more than 16 holes the narrowest is dropped, with an error
//     that names its time range.
//   - A [*TieOverflowError] is yielded once for its instant.
//
// ErrInvalidArgument ends the loop.
func (f *Follower) All(ctx context.Context) iter.Seq2[*Race, error] {
	return func(yield func(*Race, error) bool) {
		if err := f.mayRange(ctx); err != nil {
			yield(nil, err)
			return
		}
		f.ranging = true
		defer func() { f.ranging = false }()
		l := &followLoop{Follower: f, ctx: ctx, yield: yield}
		for more := ctx.Err() == nil && (f.state.begun || l.prime() && l.wait(nil)); more; {
			more = l.poll() && l.wait(nil)
		}
	}
}

func (f *Follower) op() operation {
	return operation{method: http.MethodGet, route: "/api/v2/races/results"}
}

func (f *Follower) mayRange(ctx context.Context) error {
	switch {
	case f.invalid != nil:
		return f.invalid
	case ctx == nil:
		return f.op().invalid("the context is nil")
	case f.ranging:
		return f.op().invalid("the follower is being ranged over already")
	}
	return nil
}

func (f *Follower) pager(s segment) *Pager[Race] {
	var q ResultsQuery
	if f.tiers[0] != 0 {
		q.Tiers = f.tiers
	}
	if s.low > walk.Earliest {
		q.Since = time.UnixMilli(s.low)
	}
	if s.high < walk.Latest {
		q.Before = time.UnixMilli(s.high)
	}
	p := f.races.Results(q)
	p.listing.order = pace.Poll
	return p
}
