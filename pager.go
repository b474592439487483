package horseracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
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
	// pages. A page that waits in line after other calls does not fail while those are
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
	return listing[Race]{backend: s.backend, kind: cursorRaces, route: routeResults, key: raceKey, hasResult: (*Race).Finished}
}

// ResultsV1 walks over finished races in version 1 of the listing, which is paged by
// offset, one page at a time. Its races have no Type. New races shift the listing while
// it is read, and none is missed or repeated, except if dozens of races with the same
// start time arrive between two pages. Races that are removed from the listing while it
// is read may hide others. Prefer [RacesService.Results].
//
// GET /api/v1/races/results:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#46-finished-races-version-1
func (s *RacesService) ResultsV1(q OffsetQuery) *Pager[Race] {
	return newOffsetPager(q, listing[Race]{backend: s.backend, kind: cursorRacesV1, route: routeResultsV1, byOffset: true, key: raceKey})
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

// Pager walks over a paged listing, newest entry first. It yields every entry that the
// listing can return, and yields it once, except as documented at
// [RacesService.ResultsV1]. No request is made until it is ranged over.
//
// A pager keeps its position: after a break or an error, range again to continue after
// the last entry yielded, or save its [Cursor] and resume in another process.
//
// An error that matches [ErrSkipped] is the [*DecodeError] of one entry, yielded in its
// position, or a [*TieOverflowError], yielded after the entries that share its start
// time. It does not end the loop; every other error does. If the start or the id of an
// entry cannot be read, its error comes before the other entries of its page, perhaps
// more than once; a full page of such entries ends the loop. Only an empty page is the
// end of a listing. It is requested again 200 ms later, unless the page before it had
// room for older entries and showed none. If pages are empty that were not before, the
// loop ends after a few seconds with a [*DecodeError]. It ends with [ErrBodyIgnored] if a
// response does not match the page that was requested, or if two tiers show one entry,
// which is yielded once.
//
// A Pager is not safe for concurrent use, and only one loop may range over it at a
// time.
type Pager[T any] struct {
	listing     listing[T]
	since       int64 // of the query
	walk        walk.Walker[Entry[T]]
	concurrency int
	resume      Cursor // the query's
	invalid     error  // of the query; yielded instead of anything else
	ranging     bool   // a loop is under way
}

const (
	pageSize       = 10 // entries that a page holds at most: https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#8-limits
	maxConcurrency = 1000
)

// All ranges over the entries after the pager's position. An error is yielded with a
// nil entry, after all entries that precede it. The entries belong to the caller.
func (p *Pager[T]) All(ctx context.Context) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for e := range p.entries(ctx) {
			if !yield(e.Value.Value, e.Err) {
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
			if !yield(e.Value, e.Err) {
				return
			}
		}
	}
}

// Take returns up to n more entries, and none if n <= 0. It returns fewer only at the
// end of the listing, or together with an error. An [ErrSkipped] ends a Take like any
// other error; the next Take continues after it. With a Concurrency above one, each
// Take cancels the requests that are in flight when it returns: use a large n, or range
// over All.
func (p *Pager[T]) Take(ctx context.Context, n int) ([]T, error) {
	if n <= 0 {
		return nil, p.invalid
	}
	taken := make([]T, 0, min(n, 10*pageSize))
	for e := range p.entries(ctx) {
		if e.Err != nil {
			return taken, e.Err
		}
		if taken = append(taken, *e.Value.Value); len(taken) == n {
			break
		}
	}
	return taken, nil
}

// Cursor returns the position after the last entry yielded, with the tiers and the
// Since of the query. If the query is invalid, it returns the query's Resume.
func (p *Pager[T]) Cursor() Cursor {
	if p.invalid != nil {
		return p.resume
	}
	return newCursor(p.listing.kind, p.listing.tiers, writePositions(p.since, p.walk.Positions()))
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
	p.walk = walk.NewTiers[Entry[T]](p.since, positions, p.concurrency, pageSize, p.listing.shown)
	return p
}

func newOffsetPager[T any](q OffsetQuery, l listing[T]) *Pager[T] {
	p, positions := newPager(ResultsQuery{Tier: q.Tier, Resume: q.Resume, Patience: q.Patience}, l)
	if problem := checkNotNegative("an Offset", q.Offset); problem != nil {
		p.invalid = p.listing.op().invalid(problem)
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
	if l.otherSeen == nil {
		l.otherSeen, l.shown = new(atomic.Bool), walk.Shown{}
	}
	p := &Pager[T]{
		listing: l, since: walk.Earliest, resume: q.Resume,
		concurrency: min(max(1, q.Concurrency), maxConcurrency),
	}
	positions := make([]walk.Position, len(tiers))
	if payload != nil {
		p.since, problem = readPositions(payload, positions)
	}
	if q.Concurrency < 0 || q.Concurrency > maxConcurrency {
		problem = fmt.Errorf("a Concurrency of %d is not between 0 and %d", q.Concurrency, maxConcurrency)
	}
	if problem = cmp.Or(checkNotNegative("a Patience", q.Patience), problem); problem != nil {
		p.invalid = l.op().invalid(problem)
	}
	return p, positions
}

// entries ranges over the entries and the errors in their positions. An entry that
// cannot be placed in the listing has no ID, and the start of the entry after it.
func (p *Pager[T]) entries(ctx context.Context) iter.Seq[walk.Entry[Entry[T]]] {
	return func(yield func(walk.Entry[Entry[T]]) bool) {
		if err := checkRange(ctx, p.listing.op(), p.invalid, p.ranging); err != nil {
			yield(walk.Entry[Entry[T]]{Err: err})
			return
		}
		p.ranging = true
		f := newFetcher(ctx, &p.listing, p.walk, p.concurrency)
		defer func() {
			f.close()
			p.walk.Restart()
			p.ranging = false
		}()
		for {
			e, ok := p.next(ctx, f)
			if !ok || !yield(e) || e.Err != nil && !errors.Is(e.Err, ErrSkipped) {
				return
			}
		}
	}
}

// next takes the next entry from the walk, or the error in its position, and fetches
// pages until there is one. It reports false at the end of the listing. Only this
// goroutine uses the walk.
func (p *Pager[T]) next(ctx context.Context, f *fetcher[T]) (walk.Entry[Entry[T]], bool) {
	for !p.walk.Done() {
		if ctx.Err() != nil {
			return walk.Entry[Entry[T]]{Err: f.canceled(ctx.Err())}, true
		}
		if p.concurrency > 1 { // fetch ahead, also while the loop body runs
			f.receive()
			f.fill()
		}
		if e, ok := p.walk.Peek(); ok {
			p.walk.Take()
			e.Value.Tier, e.Err = p.listing.tier(e.Source), p.publicError(e.Err)
			return e, true
		}
		if f.fill(); f.inFlight > 0 { // else the last page has arrived
			f.wait()
		}
	}
	return walk.Entry[Entry[T]]{}, false
}

// checkNotNegative returns the problem of a field of a query, or nil.
func checkNotNegative[T int | time.Duration](field string, value T) error {
	if value < 0 {
		return fmt.Errorf("%s of %v is negative", field, value)
	}
	return nil
}

// checkRange returns an error if no loop may start over the results of an operation.
func checkRange(ctx context.Context, op operation, invalid error, ranging bool) error {
	switch {
	case invalid != nil:
		return invalid
	case ctx == nil:
		return op.invalid(errNilContext)
	case ranging:
		return op.invalid(errors.New("another loop is ranging over it"))
	}
	return nil
}

// publicError converts an error of the walk into the public one.
func (p *Pager[T]) publicError(err error) error {
	switch e := err.(type) { //nolint:errorlint // the walk wraps none of them
	case *walk.TieError:
		return &TieOverflowError{StartTime: timestampOf(e.Start), Seen: e.Seen, operation: p.listing.op().String()}
	case *walk.UnplacedError:
		first := e.First.(*DecodeError) //nolint:errorlint // as fetch made it
		return first.ofResponse("", nil, fmt.Errorf("no entry of the page can be placed in the listing: %w", first.Err))
	case walk.IgnoredError:
		return fmt.Errorf("%v: %w: %w; a proxy or cache drops the bodies of GET requests, or responds with another request's response",
			p.listing.op(), ErrBodyIgnored, e)
	}
	return err
}
