package horseracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// ResultsQuery selects entries of a listing that is paged by start time, newest first.
// The zero value selects TierOmega, with its whole history.
//
// An invalid query (a negative field, a Since after Before, a cursor of another listing or
// of another tier) fails with ErrInvalidArgument when the pager is ranged over.
type ResultsQuery struct {
	Tier   TierID    // default TierOmega
	Before time.Time // only entries that start before this time, which must be in 1970 or later; default now, by the service's clock
	Since  time.Time // only entries that start at this time or later; default the whole history

	// Resume continues after the position of a saved cursor, with its tier and its Since. A
	// Since in the query replaces the cursor's.
	Resume Cursor

	Concurrency int // requests in flight at once, at most 1,000; default 1
}

// OffsetQuery selects entries of the listing that is paged by offset, newest first. The
// zero value selects all of TierOmega. An invalid query fails with ErrInvalidArgument,
// as with [ResultsQuery].
type OffsetQuery struct {
	Tier   TierID // default TierOmega
	Offset int    // how many of the newest entries to skip; ignored with Resume
	Resume Cursor // continue after the position of a saved cursor, with its tier
}

// Results walks over finished races, newest first, in version 2 of the
// listing, which is paged by start time. Nothing is
// requested until the pager is ranged over. [RacesService.Follow] yields races as
// they finish.
//
// GET /api/v2/races/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#45-finished-races-version-2
func (s *RacesService) Results(q ResultsQuery) *Pager[Race] {
	return newPager(q, walk.Latest, s.finished())
}

// finished is the listing of Results and Follow.
func (s *RacesService) finished() listing[Race] {
	return listing[Race]{backend: backendOf(s), kind: cursorRaces, route: routeResults, place: placeRace, isPending: (*Race).isPending}
}

// ResultsV1 walks over finished races in version 1 of the listing, which is paged by offset,
// one page at a time. Its races have no Type. Although new races shift the listing while it is
// read, no race is missed. Races are repeated only if forty or more new ones appear between
// two page requests, which may happen if a cursor is resumed later. If races are removed from
// the listing while it is read, or change their order, other races may be missed. Prefer
// [RacesService.Results].
//
// GET /api/v1/races/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#46-finished-races-version-1
func (s *RacesService) ResultsV1(q OffsetQuery) *Pager[Race] {
	return newPager(ResultsQuery{Tier: q.Tier, Resume: q.Resume}, int64(q.Offset), listing[Race]{backend: backendOf(s), kind: cursorRacesV1, route: routeResultsV1, byOffset: true, place: placeRace})
}

// Results walks over finished tournaments, newest first. Nothing is requested until the
// pager is ranged over. [TournamentsService.Follow] yields tournaments as they finish.
//
// GET /api/v1/tournaments/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#410-finished-tournaments
func (s *TournamentsService) Results(q ResultsQuery) *Pager[Tournament] {
	return newPager(q, walk.Latest, s.finished())
}

// finished is the listing of Results and Follow.
func (s *TournamentsService) finished() listing[Tournament] {
	return listing[Tournament]{backend: backendOf(s), kind: cursorTournaments, route: "/api/v1/tournaments/results", place: placeTournament}
}

// Pager walks over a paged listing, newest entry first. It yields every entry that the
// listing can return, and yields it once, except as documented at
// [RacesService.ResultsV1]. No request is made until it is ranged over.
//
// A pager keeps its position: after a break or an error, range again to continue after the last
// entry yielded, or save its [Cursor] and resume in another process. Pages that were read ahead
// are requested again. A pager goes back in time: it does not yield entries that finish later.
// To keep a store up to date, use [Follower.CatchUp] and its cursor.
//
// Every error ends the loop. If an entry cannot be read, a [*DecodeError] is yielded in its
// position. If all entries of a full page have the same start time, a [*TieOverflowError] is
// yielded after them. A page is full if it has ten entries, or as many as the longest page that
// the pager has read. Range again to continue after such an error, or use [WithSkipHandler].
// The error of an entry without a readable start time is yielded before the entries of its
// page, and may be yielded again with another page. A Pager cannot continue after a page
// that has only such entries. While the service refuses requests, the loop waits as long as the
// context allows.
//
// The loop ends at Since, or at an empty page. A page with fewer than ten entries does not end
// it. The service may show an empty page by mistake, so the pager checks it in most cases:
// after 200 ms it requests the page that contains the last entry yielded, if there is one, and
// then the empty page again. If the query has a Since, it also requests the page before Since.
// The loop ends with a [*DecodeError] if the last entry yielded is missing from its page, or
// if the pager has seen an entry that the empty page should contain, in this loop or in an
// earlier one. It ends with [ErrBodyIgnored] if a response does not match the page that was
// requested.
//
// A Pager is not safe for concurrent use, and only one loop may range over it at a
// time.
type Pager[T any] struct {
	listing     listing[T]
	since       int64         // of the query
	position    walk.Position // after the entries yielded
	concurrency int
	resume      Cursor        // the query's
	invalid     error         // of the query; yielded instead of anything else
	ranging     bool          // a loop is under way
	known       walk.Position // an entry that the listing has shown before; ignored if the position has one
}

const (
	pageSize       = 10 // entries that a page holds at most: https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#8-limits
	maxConcurrency = 1000
)

// All ranges over the entries after the pager's position. An error is yielded with a
// nil entry, after all entries that precede it. The entries belong to the caller.
func (p *Pager[T]) All(ctx context.Context) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for e, err := range p.Entries(ctx) {
			if !yield(e.Value, err) {
				return
			}
		}
	}
}

// Entries is like All, but yields the JSON of each entry too. If an entry cannot be
// decoded, Value is nil and JSON is set.
func (p *Pager[T]) Entries(ctx context.Context) iter.Seq2[Entry[T], error] {
	return func(yield func(Entry[T], error) bool) {
		for e := range p.entries(ctx) {
			isSkipped := isSkip(e.Err) && p.listing.backend.skip(ctx, e.Err)
			if !isSkipped && (!yield(Entry[T]{e.Value, p.listing.tier.orDefault(), e.JSON}, e.Err) || e.Err != nil) {
				return
			}
		}
	}
}

// Take returns up to n more entries, and none if n <= 0. It returns fewer only at the
// end of the listing, or together with an error. With a Concurrency above one, use a large
// n, or range over All: pages that a Take has read ahead are requested again by the next.
func (p *Pager[T]) Take(ctx context.Context, n int) ([]T, error) {
	if n <= 0 {
		return nil, p.invalid
	}
	taken := make([]T, 0, min(n, 10*pageSize))
	for e, err := range p.All(ctx) {
		if err != nil {
			return taken, err
		}
		if taken = append(taken, *e); len(taken) == n {
			break
		}
	}
	return taken, nil
}

// Cursor returns the position after the last entry yielded, with the tier and the
// Since of the query. If the query is invalid, it returns the query's Resume.
func (p *Pager[T]) Cursor() Cursor {
	if p.invalid != nil || p.listing.backend == nil {
		return p.resume
	}
	return newCursor(p.listing.kind, p.listing.tier, pagerState{p.since, p.position})
}

// newPager returns a pager at the position of the query's Resume, or at first: the offset, or
// by time the latest start, if the query has no Before.
func newPager[T any](q ResultsQuery, first int64, l listing[T]) *Pager[T] {
	tier, payload, problem := resumed(l.kind, q.Tier, q.Resume)
	l.tier, l.order = tier, cmp.Or(l.order, pace.Walk)
	p := &Pager[T]{listing: l, resume: q.Resume, concurrency: max(1, q.Concurrency)}
	if payload != "" {
		var saved pagerState
		if problem = decodePayload(payload, &saved); saved.Position.At > walk.Latest {
			problem = errDamagedCursor
		}
		p.since, p.position = saved.Since, saved.Position
	}
	if !q.Since.IsZero() {
		p.since = ceilMilli(q.Since)
	}
	if !q.Before.IsZero() {
		first = ceilMilli(q.Before) - 1
	}
	if q.Resume.IsZero() || !l.byOffset && p.position.At > first {
		p.position = walk.Position{At: first}
	}
	switch {
	case l.byOffset && first < 0:
		problem = fmt.Errorf("an Offset of %d is negative", first)
	case q.Concurrency < 0 || q.Concurrency > maxConcurrency:
		problem = fmt.Errorf("a Concurrency of %d is not between 0 and %d", q.Concurrency, maxConcurrency)
	case !q.Before.IsZero() && minMilliseconds <= first && first < 0: // an entry that starts then counts as one without a start
		problem = fmt.Errorf("the Before %s is not after the beginning of 1970", q.Before.Format(time.RFC3339Nano))
	case !q.Since.IsZero() && !q.Before.IsZero() && p.since > first+1:
		problem = fmt.Errorf("the Since %s is after the Before %s", q.Since.Format(time.RFC3339Nano), q.Before.Format(time.RFC3339Nano))
	}
	if problem != nil {
		p.invalid = l.op().invalid(problem)
	}
	return p
}

// entries ranges over the entries, and the errors in their positions. An error that is not
// about an entry ends it.
func (p *Pager[T]) entries(ctx context.Context) iter.Seq[listed[T]] {
	return func(yield func(listed[T]) bool) {
		if err := p.listing.checkRange(ctx, p.invalid, p.ranging); err != nil {
			yield(listed[T]{Err: err})
			return
		}
		p.ranging = true
		f := p.newFetcher(ctx)
		defer func() { f.end(); p.ranging = false }()
		noStart := map[string]bool{} // entries of this loop that have no start: several pages show them
		for {
			e, ok := f.next()
			if !ok {
				return
			}
			if e.NoStart {
				if noStart[e.ID] {
					continue
				}
				noStart[e.ID] = true
			}
			if e = p.explained(e); !yield(e) || e.Err != nil && !isSkip(e.Err) {
				return
			}
		}
	}
}

func (p *Pager[T]) newFetcher(ctx context.Context) *fetcher[T] {
	f := &fetcher[T]{pager: p, pages: make(chan page[T], p.concurrency)}
	f.ctx, f.cancel = context.WithCancel(ctx)
	if p.listing.byOffset {
		f.walk = walk.NewOffset[*T](&p.position, pageSize)
	} else {
		f.walk = walk.NewTime[*T](p.since, &p.position, p.known, p.concurrency, pageSize)
	}
	return f
}

// explained returns an entry of the walk with the error that the caller gets.
func (p *Pager[T]) explained(e listed[T]) listed[T] {
	switch {
	case e.Ties > 0:
		e.Err = &TieOverflowError{StartTime: timestampOf(e.Start), Seen: e.Ties, operation: p.listing.op().String()}
	case errors.Is(e.Err, walk.ErrEmptied):
		e.Err = p.listing.emptied()
	case errors.Is(e.Err, walk.ErrIgnored):
		e.Err = p.listing.ignored("the same page comes whatever the offset")
	}
	return e
}

// checkNotNegative returns the problem of a field of a query, or nil.
func checkNotNegative[T int | time.Duration](field string, value T) error {
	if value < 0 {
		return fmt.Errorf("%s of %v is negative", field, value)
	}
	return nil
}

// checkRange returns an error if no loop may start over the listing.
func (l *listing[T]) checkRange(ctx context.Context, invalid error, ranging bool) error {
	switch {
	case l.backend == nil:
		return errNotMade
	case invalid != nil:
		return invalid
	case ctx == nil:
		return l.op().invalid(errNilContext)
	case ranging:
		return l.op().invalid(errors.New("another loop is ranging over it"))
	}
	return nil
}
