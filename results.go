package horseracing

import (
	"fmt"
	"time"

	"github.com/horseracing-go/horseracing/internal/walk"
)

// ResultsQuery selects entries of a listing that is paged by start time, newest first.
// The zero value selects TierOmega alone, with its whole history.
//
// An invalid query (a negative field, Tier and Tiers together, a Since after Before, a
// cursor of another listing or of other tiers) fails with ErrInvalidArgument when the
// pager is ranged over.
type ResultsQuery struct {
	Tier   TierID    // default TierOmega only
	Tiers  []TierID  // several tiers merged into one listing; not together with Tier
	Before time.Time // only entries that start before this time; default now, by the service's clock
	Since  time.Time // only entries that start at this time or later; default the whole history

	// Resume continues after the position of a saved cursor, with its tiers and its Since.
	// Tier and Tiers may be left out. A Since in the query replaces the cursor's.
	Resume Cursor

	Concurrency int // requests in flight at once, at most 1,000; default 1

	// Patience is how long the loop continues without an accepted page before it ends with
	// an error; default 10 minutes. During that time refused requests (429, or 503 with
	// Retry-After) are retried, and after the first accepted page also requests that
	// failed. A Retry-After of up to an hour is added to it, once between two accepted
	// pages. A page that waits in line behind other calls does not fail while those are
	// accepted.
	Patience time.Duration
}

// OffsetQuery selects entries of the listing that is paged by offset, newest first. The
// zero value selects all of TierOmega. An invalid query fails with ErrInvalidArgument,
// as with [ResultsQuery].
type OffsetQuery struct {
	Tier   TierID // default TierOmega only
	Offset int    // how many of the newest entries to skip; ignored with Resume
	Resume Cursor // continue after the position of a saved cursor, with its tier

	Patience time.Duration // as in [ResultsQuery]; default 10 minutes
}

// Results walks over finished races, newest first, in version 2 of the
// listing, which is paged by start time. A query without a tier reads TierOmega
// alone; Tiers names several, which are merged into one listing. Nothing is
// requested until the pager is ranged over. [RacesService.Follow] yields races as
// they finish.
//
// GET /api/v2/races/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#45-finished-races-version-2
func (s *RacesService) Results(q ResultsQuery) *Pager[Race] {
	return newTimePager(q, s.finished())
}

// finished is the listing of Results and Follow.
func (s *RacesService) finished() listing[Race] {
	return listing[Race]{backend: s.backend, kind: cursorRaces, route: "/api/v2/races/results", key: raceKey}
}

// ResultsV1 walks over finished races in version 1 of the listing, which is paged by
// offset, one page at a time. Its races have no Type. New races shift the listing while
// it is read. No race that stays in it is missed, but one can be repeated if dozens of
// races with the same start time arrive between two pages. Prefer
// [RacesService.Results].
//
// GET /api/v1/races/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#46-finished-races-version-1
func (s *RacesService) ResultsV1(q OffsetQuery) *Pager[Race] {
	return newOffsetPager(q, listing[Race]{backend: s.backend, kind: cursorRacesV1, route: "/api/v1/races/results", key: raceKey})
}

// Results walks over finished tournaments, newest first. A query without a tier
// reads TierOmega alone; Tiers names several, which are merged into one listing.
// Nothing is requested until the pager is ranged over. [TournamentsService.Follow]
// yields tournaments as they finish.
//
// GET /api/v1/tournaments/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#410-finished-tournaments
func (s *TournamentsService) Results(q ResultsQuery) *Pager[Tournament] {
	return newTimePager(q, s.finished())
}

// finished is the listing of Results and Follow.
func (s *TournamentsService) finished() listing[Tournament] {
	return listing[Tournament]{backend: s.backend, kind: cursorTournaments, route: "/api/v1/tournaments/results", key: tournamentKey}
}

func newTimePager[T any](q ResultsQuery, l listing[T]) *Pager[T] {
	p, positions := newPager(q, l)
	before := int64(walk.Latest)
	if !q.Before.IsZero() {
		before = ceilMilli(q.Before)
	}
	if !q.Since.IsZero() {
		p.since = ceilMilli(q.Since)
	}
	if !q.Since.IsZero() && p.since > before {
		p.invalid = p.listing.op().invalid(fmt.Errorf("the Since %s is after the Before %s", q.Since.Format(time.RFC3339Nano), q.Before.Format(time.RFC3339Nano)))
	}
	for i := range positions {
		if q.Resume.IsZero() || positions[i].At >= before {
			positions[i] = walk.Position{At: before - 1}
		}
	}
	p.walk = walk.NewTiers[Entry[T]](p.since, positions, p.concurrency, pageSize)
	return p
}

func newOffsetPager[T any](q OffsetQuery, l listing[T]) *Pager[T] {
	p, positions := newPager(ResultsQuery{Tier: q.Tier, Resume: q.Resume, Patience: q.Patience}, l)
	if q.Offset < 0 {
		p.invalid = p.listing.op().invalid(fmt.Errorf("an Offset of %d is negative", q.Offset))
	}
	if q.Resume.IsZero() {
		positions[0].At = int64(q.Offset)
	}
	p.walk = walk.NewOffset[Entry[T]](positions[0], pageSize)
	return p
}

// newPager returns a pager without a walk, and the position in each tier: that of the
// query's Resume, or the zero Position.
func newPager[T any](q ResultsQuery, l listing[T]) (*Pager[T], []walk.Position) {
	tiers, payload, problem := resolveTiers(l.kind, q.Tier, q.Tiers, q.Resume)
	l.tiers, l.patience = tiers, newPatience(q.Patience)
	p := &Pager[T]{
		listing: l, since: walk.Earliest, resume: q.Resume,
		concurrency: min(max(1, q.Concurrency), maxConcurrency),
	}
	positions := make([]walk.Position, len(tiers))
	if payload != nil {
		p.since, problem = readPositions(payload, positions)
	}
	switch {
	case q.Patience < 0:
		problem = fmt.Errorf("a Patience of %v is negative", q.Patience)
	case q.Concurrency < 0 || q.Concurrency > maxConcurrency:
		problem = fmt.Errorf("a Concurrency of %d is not between 0 and %d", q.Concurrency, maxConcurrency)
	}
	if problem != nil {
		p.invalid = l.op().invalid(problem)
	}
	return p, positions
}
