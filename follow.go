package horseracing

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"net/http"
	"slices"
	"time"
)

// FollowQuery says which finished races [RacesService.Follow] hands out.
type FollowQuery struct {
	Tier     TierID        // zero: the service's default (TierOmega)
	Since    time.Time     // none that start before this; zero: what finishes from now on
	Interval time.Duration // between polls; zero: 30 seconds
	Lookback time.Duration // how far behind the newest race others may still finish; zero: an hour
}

const (
	followInterval = 30 * time.Second
	followLookback = time.Hour
	followBatch    = 1000 // new races that are held at once, to be put in order
)

// Follow hands out each newly finished race once, by polling: the service
// sends no events (interface document, section 6). It ends when the context
// does, at once and without an error, or when the caller leaves the loop.
//
// With a Since the races that start from then on are handed out, those of the
// past first. Without one it begins with what finishes after the first poll that
// succeeds, whenever it started.
//
// Races finish out of order. Each poll reads back over Lookback, counted from the
// start of the newest race seen, so that a race which takes no longer than
// Lookback from its start to its result is never missed; memory holds the ids of
// that stretch only. Within a poll the oldest comes first; a race that finished
// late comes after ones that started later. A past of more than a thousand races
// is read twice, so that memory stays bounded.
//
// A poll that fails is yielded as a nil race with the error, and polling goes
// on where it stopped, after waits that grow to five minutes (or Interval, where
// that is longer) and honour a Retry-After of up to an hour. Nothing is lost by
// it. A page that twice could not be read (a [*DecodeError]) does not hold up
// what is newer: that is handed out, and every poll reads on down to the page,
// and yields its error, until it can be read. A [*TieOverflowError] is yielded once
// for its instant and costs no wait. ErrInvalidArgument ends the loop.
//
// Every race comes exactly once within one range loop, and at least once across
// processes if each resumes early enough: store the start of the newest race
// handled, set Since to Lookback before it, and expect to see races again. As
// long as polls yield a *DecodeError, keep the start from before the first one:
// newer races come past the page that cannot be read. To handle each exactly
// once, let a database refuse the second: store the race's MainRaceID as a unique
// key in the transaction that does the work.
//
// Each range over the sequence follows anew. Nothing runs between its steps.
func (s *RacesService) Follow(ctx context.Context, q FollowQuery) iter.Seq2[*Race, error] {
	return func(yield func(*Race, error) bool) {
		op := operation{method: http.MethodGet, route: "/api/v2/races/results"}
		switch {
		case ctx == nil:
			yield(nil, op.invalid("the context is nil"))
			return
		case q.Interval < 0:
			yield(nil, op.invalid("the interval is negative"))
			return
		case q.Lookback < 0:
			yield(nil, op.invalid("the lookback is negative"))
			return
		}
		f := follower{
			races: s, tier: q.Tier, since: q.Since, lookback: cmp.Or(q.Lookback, followLookback),
			schedule: pollSchedule{interval: cmp.Or(q.Interval, followInterval)}, yield: yield,
			known: map[RaceID]time.Time{}, told: map[int64]bool{},
		}
		more := !q.Since.IsZero() || f.prime(ctx) && f.schedule.wait(ctx, nil)
		for more {
			more = f.poll(ctx) && f.schedule.wait(ctx, f.unread)
		}
	}
}

// follower is one range over Follow. Its methods return false when that has ended.
type follower struct {
	races    *RacesService
	tier     TierID
	since    time.Time
	lookback time.Duration
	schedule pollSchedule
	yield    func(*Race, error) bool

	newest time.Time            // the latest start among known; zero: none yet
	unread error                // of a page that the last poll could not read; nil: it got down to where it wanted
	down   time.Time            // where that was
	held   bool                 // the poll before this one left something unread
	known  map[RaceID]time.Time // races not to hand out (again), as far back as from()
	told   map[int64]bool       // instants whose TieOverflowError was yielded
}

// from returns how far back a poll reads.
func (f *follower) from() time.Time {
	if f.unread != nil {
		return f.down
	}
	if f.newest.IsZero() {
		return f.since
	}
	if from := f.newest.Add(-f.lookback); from.After(f.since) {
		return from
	}
	return f.since
}

// prime learns what has finished already.
func (f *follower) prime(ctx context.Context) bool {
	ok := f.read(ctx, time.Time{}, time.Time{}, func(r *Race) bool {
		if r.StartTime.Before(f.from()) {
			return false
		}
		f.remember(r)
		return true
	})
	f.unread = nil // the first poll looks back for itself
	return ok
}

// poll hands out what has finished since the last one. A past that is too long
// to be held is walked down once, to learn where to part it, and then read
// again part by part from the oldest on.
func (f *follower) poll(ctx context.Context) bool {
	var parts []time.Time // where parts begin, newest first
	var batch []*Race
	from := f.from()
	f.held, f.unread = f.unread != nil, nil
	ok := f.read(ctx, from, time.Time{}, func(r *Race) bool {
		if f.isKnown(r) {
			return true
		}
		if len(batch) >= followBatch && r.StartTime.Before(batch[len(batch)-1].StartTime.Time) {
			parts = append(parts, batch[len(batch)-1].StartTime.Time)
			batch = nil
		}
		batch = append(batch, r)
		return true
	})
	if !ok || !f.handOut(ctx, batch) {
		return false
	}
	for i := len(parts) - 1; i > 0; i-- {
		batch = nil
		ok := f.read(ctx, parts[i], parts[i-1], func(r *Race) bool {
			if !f.isKnown(r) {
				batch = append(batch, r)
			}
			return true
		})
		if !ok || !f.handOut(ctx, batch) {
			return false
		}
	}
	return len(parts) == 0 || f.unread != nil || f.poll(ctx) // the newest part has grown meanwhile
}

func (f *follower) isKnown(r *Race) bool {
	_, known := f.known[r.MainRaceID]
	return known
}

// read goes through races, newest first, until each says that it is enough.
// What fails is tried again from where it failed; but a page that twice
// could not be read, and may never be, ends it below what came before that page.
func (f *follower) read(ctx context.Context, from, to time.Time, each func(*Race) bool) bool {
	pager := f.races.Results(ResultsQuery{Tier: f.tier, Since: from, Before: to})
	n, failedAt := 0, 0
	for {
		var failed error
		for race, err := range pager.All(ctx) {
			if failed = err; failed != nil {
				break
			}
			n++
			if !f.held {
				f.schedule.succeeded()
			}
			if !each(race) {
				return true
			}
		}
		if ctx.Err() != nil {
			return false
		}
		if failed == nil {
			f.schedule.succeeded()
			return true
		}
		if tie, ok := errors.AsType[*TieOverflowError](failed); ok {
			if instant := tie.StartTime.UnixMilli(); !f.told[instant] {
				f.told[instant] = true
				if !f.yield(nil, failed) {
					return false
				}
			}
			continue // the pager goes on behind it
		}
		if !f.yield(nil, failed) || errors.Is(failed, ErrInvalidArgument) {
			return false
		}
		if _, unreadable := errors.AsType[*DecodeError](failed); unreadable && n > 0 && (f.held || n == failedAt) {
			if f.unread == nil || from.Before(f.down) {
				f.unread, f.down = failed, from
			}
			return true
		}
		failedAt = n
		if !f.schedule.wait(ctx, failed) {
			return false
		}
	}
}

// handOut yields races, the oldest first, and forgets what no poll reads again.
func (f *follower) handOut(ctx context.Context, batch []*Race) bool {
	slices.SortFunc(batch, func(a, b *Race) int {
		return cmp.Or(a.StartTime.Compare(b.StartTime.Time), cmp.Compare(a.MainRaceID, b.MainRaceID))
	})
	for _, r := range batch {
		if ctx.Err() != nil {
			return false
		}
		f.remember(r)
		if !f.yield(r, nil) {
			return false
		}
	}
	if len(batch) > 0 {
		from := f.from()
		maps.DeleteFunc(f.known, func(_ RaceID, start time.Time) bool { return start.Before(from) })
		maps.DeleteFunc(f.told, func(instant int64, _ bool) bool { return instant < from.UnixMilli() })
	}
	return true
}

func (f *follower) remember(r *Race) {
	f.known[r.MainRaceID] = r.StartTime.Time
	if r.StartTime.After(f.newest) {
		f.newest = r.StartTime.Time
	}
}
