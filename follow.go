package horseracing

import (
	"cmp"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// FollowQuery configures a [Follower].
type FollowQuery struct {
	Tier        TierID        // default TierOmega only
	Tiers       []TierID      // several tiers followed as one listing; not together with Tier
	Since       time.Time     // only races that start at this time or later; by default, races that finish from now on; ignored with Resume, unlike in ResultsQuery
	Resume      Cursor        // continue from a saved cursor, with its tiers; default start at Since
	Interval    time.Duration // time between polls; default 30s
	Lookback    time.Duration // how far before the newest race's start each poll looks for late races; default 1h
	Concurrency int           // pages of past races fetched at once; default 1
}

var finishedRaces = operation{method: http.MethodGet, route: "/api/v2/races/results"}

const (
	followInterval = 30 * time.Second
	followLookback = time.Hour
)

// Follower yields each newly finished race exactly once, by polling. No request is
// made until it is ranged over.
//
// It keeps its position as a [Pager] does: break out of a loop, then range again to
// continue, or store [Follower.Cursor] and resume in another process. Store the cursor
// in the transaction that handles the race, and no race is handled twice. No race is
// missed, even across restarts, if its result appears and can be read within Lookback.
//
// A Follower is not safe for concurrent use, and only one loop may range over it at a
// time.
type Follower struct {
	races    *RacesService
	query    FollowQuery
	tiers    []TierID
	lookback int64        // milliseconds
	clock    atomic.Int64 // when the last response was sent
	invalid  error        // of the query; yielded instead of races
	ranging  bool         // a loop is running
	vanished int          // polls in a row that found no race
	schedule pollSchedule
	state    *followState
}

// Follow returns a Follower of the finished races.
//
// With Since it yields the races that start at Since or later, past races first.
// Without Since it yields the races that finish after its first successful poll. With
// Resume it continues after a saved cursor.
//
// GET /api/v2/races/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#45-finished-races-version-2
func (s *RacesService) Follow(q FollowQuery) *Follower {
	tiers, fields, problem := resolveTiers(cursorFollow, q.Tier, q.Tiers, q.Resume)
	f := &Follower{
		races: s, query: q, tiers: tiers,
		lookback: int64((cmp.Or(q.Lookback, followLookback)-1)/time.Millisecond) + 1,
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
	switch {
	case q.Interval < 0:
		problem = fmt.Errorf("an Interval of %v is negative", q.Interval)
	case q.Lookback < 0:
		problem = fmt.Errorf("a Lookback of %v is negative", q.Lookback)
	case q.Concurrency < 0:
		problem = fmt.Errorf("a Concurrency of %d is negative", q.Concurrency)
	}
	if problem != nil {
		f.invalid = finishedRaces.invalid(problem)
	}
	return f
}

// Cursor returns the position after everything yielded so far. If the query has
// neither Since nor Resume, it is the zero Cursor until the first poll succeeds.
//
// Its text takes about fifteen bytes for each race within Lookback, and never exceeds
// 64 KiB.
func (f *Follower) Cursor() Cursor {
	if f.invalid != nil || f.state.recent == 0 {
		return f.query.Resume
	}
	return newCursor(cursorFollow, f.tiers, f.state.payload())
}
