package horseracing

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/horseracing-go/horseracing/internal/walk"
)

// FollowQuery configures a [Follower].
type FollowQuery struct {
	Tier        TierID        // default TierOmega only
	Tiers       []TierID      // several tiers followed as one listing; not together with Tier
	Since       time.Time     // only what starts at this time or later; by default, what finishes from now on; ignored with Resume, unlike in ResultsQuery
	Resume      Cursor        // continue from a saved cursor, with its tiers; default start at Since
	Interval    time.Duration // time between polls; default 30s
	Lookback    time.Duration // how far before the newest start each poll looks for what finishes late; default 1h for races, 24h for tournaments
	Concurrency int           // pages of the past fetched at once; default 1
}

const (
	followInterval     = 30 * time.Second
	raceLookback       = time.Hour
	tournamentLookback = 24 * time.Hour // they take hours
)

// Follower yields each newly finished race or tournament exactly once, by polling. No
// request is made until it is ranged over.
//
// It keeps its position as a [Pager] does: break out of a loop, then range again to
// continue, or store [Follower.Cursor] and resume in another process. Store the cursor
// in the transaction that handles an entry, and none is handled twice. None is missed,
// even across restarts, if its result appears and can be read within Lookback.
//
// A Follower is not safe for concurrent use, and only one loop may range over it at a
// time.
type Follower[T any] struct {
	listing    listing[T]
	kind       cursorKind
	query      FollowQuery
	tiers      []TierID
	lookback   int64        // milliseconds
	clock      atomic.Int64 // when the last response was sent
	invalid    error        // of the query; yielded instead of races
	ranging    bool         // a loop is running
	hasResults bool         // the listing has shown an entry with its result
	schedule   pollSchedule
	state      *followState
}

// Follow returns a Follower of the finished races.
//
// With Since it yields the races that start at Since or later, past races first.
// Without Since it yields the races that finish after its first successful poll. With
// Resume it continues after a saved cursor.
//
// GET /api/v2/races/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#45-finished-races-version-2
func (s *RacesService) Follow(q FollowQuery) *Follower[Race] {
	return newFollower(q, s.finished(), cursorFollowRaces, raceLookback)
}

// Follow returns a Follower of the finished tournaments, as [RacesService.Follow] does
// of races. A tournament is missed if one that starts more than Lookback later appears
// in an earlier poll.
//
// GET /api/v1/tournaments/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#410-finished-tournaments
func (s *TournamentsService) Follow(q FollowQuery) *Follower[Tournament] {
	return newFollower(q, s.finished(), cursorFollowTournaments, tournamentLookback)
}

func newFollower[T any](q FollowQuery, l listing[T], kind cursorKind, lookback time.Duration) *Follower[T] {
	tiers, fields, problem := resolveTiers(kind, q.Tier, q.Tiers, q.Resume)
	l.otherSeen, l.shown = new(atomic.Bool), walk.Shown{}
	f := &Follower[T]{
		listing: l, kind: kind, query: q, tiers: tiers,
		lookback: int64((cmp.Or(q.Lookback, lookback)-1)/time.Millisecond) + 1,
		schedule: pollSchedule{interval: cmp.Or(q.Interval, followInterval)},
		state:    newFollowState(0),
	}
	f.clock.Store(time.Now().UnixMilli())
	if !q.Since.IsZero() {
		f.state.advance(max(1, ceilMilli(q.Since)))
	}
	if fields != nil {
		f.state, problem = parseFollowState(fields)
	}
	problem = cmp.Or(checkNotNegative("an Interval", q.Interval), checkNotNegative("a Lookback", q.Lookback), checkNotNegative("a Concurrency", q.Concurrency), problem)
	if problem != nil {
		f.invalid = l.op().invalid(problem)
	}
	return f
}

// Cursor returns the position after everything yielded so far. If the query has
// neither Since nor Resume, it is the zero Cursor until the first poll succeeds.
//
// Its text takes about twenty bytes for each entry within Lookback, and never exceeds
// 64 KiB.
func (f *Follower[T]) Cursor() Cursor {
	if f.invalid != nil || f.state.recent == 0 {
		return f.query.Resume
	}
	return newCursor(f.kind, f.tiers, f.state.payload())
}
