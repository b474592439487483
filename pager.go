package horseracing

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/horseracing-go/horseracing/internal/listing"
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

// Entry is an entry of a listing, with its JSON.
type Entry[T any] struct {
	Value *T              // nil if there is an error
	Tier  TierID          // the tier whose listing contains it
	JSON  json.RawMessage // the entry as received, not redacted, or nil if the error is not about one entry
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
// that has only such entries. While the service refuses requests, the loop waits. If it has refused a
// page for an hour, and has accepted no request for the same listing meanwhile, the loop ends with
// the last refusal, which matches [ErrRateLimited] if its status is 429.
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
	source  source[T]
	pages   listing.Pager[T]
	resume  Cursor // the query's
	invalid error  // of the query; yielded instead of anything else
	ranging bool   // a loop is under way
}

const maxConcurrency = 1000

// All ranges over the entries after the pager's position. An error is yielded with a
// nil entry, after all entries that precede it. The entries belong to the caller.
func (p *Pager[T]) All(ctx context.Context) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		p.each(ctx, func(e listing.Entry[T]) bool { return yield(e.Value, e.Err) })
	}
}

// Entries is like All, but yields the JSON of each entry too. If an entry cannot be
// decoded, Value is nil and JSON is set.
func (p *Pager[T]) Entries(ctx context.Context) iter.Seq2[Entry[T], error] {
	return func(yield func(Entry[T], error) bool) {
		p.each(ctx, func(e listing.Entry[T]) bool {
			return yield(Entry[T]{e.Value, p.source.tier.orDefault(), e.JSON}, e.Err)
		})
	}
}

// each calls yield with each entry, until it returns false, and with the error that ends the loop.
func (p *Pager[T]) each(ctx context.Context, yield func(listing.Entry[T]) bool) {
	if err := p.source.checkRange(ctx, p.invalid, p.ranging); err != nil {
		yield(listing.Entry[T]{Err: err})
		return
	}
	p.ranging = true
	loop := p.pages.Start(ctx)
	defer func() { loop.End(); p.ranging = false }()
	for e, ok := loop.Next(); ok; e, ok = loop.Next() {
		isSkipped := p.source.explain(ctx, &e)
		if !isSkipped && (!yield(e) || e.Err != nil) {
			return
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
	taken := make([]T, 0, min(n, 100))
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
	if p.invalid != nil || p.source.backend == nil {
		return p.resume
	}
	return newCursor(p.source.pager, p.source.tier, p.pages.PagerState)
}

// newPager returns a pager of a listing by start time, at the position of the query's Resume, or at
// its Before, or else at the newest entry.
func newPager[T any](b *backend, l paged[T], q ResultsQuery) *Pager[T] {
	first := int64(walk.Latest)
	if !q.Before.IsZero() {
		first = ceilMilli(q.Before) - 1
	}
	p, problem := pagerAt(b, l, q.Tier, q.Resume, first)
	p.pages.Concurrency = max(1, q.Concurrency)
	if !q.Since.IsZero() {
		p.pages.Since = ceilMilli(q.Since)
	}
	switch {
	case q.Concurrency < 0 || q.Concurrency > maxConcurrency:
		problem = fmt.Errorf("a Concurrency of %d is not between 0 and %d", q.Concurrency, maxConcurrency)
	case !q.Before.IsZero() && minMilliseconds <= first && first < 0: // an entry that starts then counts as one without a start
		problem = fmt.Errorf("the Before %s is not after the beginning of 1970", q.Before.Format(time.RFC3339Nano))
	case !q.Since.IsZero() && !q.Before.IsZero() && p.pages.Since > first+1:
		problem = fmt.Errorf("the Since %s is after the Before %s", q.Since.Format(time.RFC3339Nano), q.Before.Format(time.RFC3339Nano))
	}
	return p.checked(problem)
}

// newOffsetPager returns a pager of a listing by offset, at the position of the query's Resume, or else
// at its Offset.
func newOffsetPager[T any](b *backend, l paged[T], q OffsetQuery) *Pager[T] {
	p, problem := pagerAt(b, l, q.Tier, q.Resume, int64(q.Offset))
	if q.Offset < 0 {
		problem = fmt.Errorf("an Offset of %d is negative", q.Offset)
	}
	return p.checked(problem)
}

// pagerAt returns a pager at the position of a cursor, or at first. By time, first is an upper limit, too.
func pagerAt[T any](b *backend, l paged[T], tier TierID, resume Cursor, first int64) (*Pager[T], error) {
	state := listing.PagerState{Position: walk.Position{At: first}}
	tier, problem := resume.open(l.pager, tier, &state)
	if state.Position.At > walk.Latest {
		problem = listing.ErrDamaged
	}
	if !l.byOffset && state.Position.At > first {
		state.Position = walk.Position{At: first}
	}
	p := &Pager[T]{source: source[T]{paged: l, backend: b, tier: tier, priority: pace.Walk}, resume: resume}
	p.pages = listing.Pager[T]{Listing: p.source.listing(), PagerState: state, Concurrency: 1}
	return p, problem
}

// checked returns the pager, which yields an error if its query has a problem.
func (p *Pager[T]) checked(problem error) *Pager[T] {
	if problem != nil {
		p.invalid = p.source.op().invalid(problem)
	}
	return p
}

// ceilMilli rounds up to the millisecond, for both ends of a range: an entry
// starts on a whole one. Instants outside those of a [Timestamp] are clamped.
func ceilMilli(t time.Time) int64 {
	switch {
	case t.Before(time.UnixMilli(minMilliseconds)):
		return minMilliseconds
	case t.After(time.UnixMilli(maxMilliseconds)):
		return maxMilliseconds + 1
	}
	return t.Add(time.Millisecond - 1).UnixMilli()
}
