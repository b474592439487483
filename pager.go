package horseracing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/horseracing-go/horseracing/internal/decode"
	"github.com/horseracing-go/horseracing/internal/entry"
	"github.com/horseracing-go/horseracing/internal/listing"
	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// ResultsQuery selects entries of a listing that is paged by start time; the zero value selects all of
// TierOmega. If it is not valid, the loop fails with ErrInvalidArgument.
type ResultsQuery struct {
	Tier        TierID    // default TierOmega
	Before      time.Time // only entries that start before this time, which must be in 1970 or later; default now, by the service's clock
	Since       time.Time // only entries that start at this time or later; default the whole history
	Resume      Cursor    // continue after the position of a saved cursor, with its tier and, unless the query has one, its Since
	Concurrency int       // requests in flight at once, at most 1,000; default 1
}

// OffsetQuery selects entries of the listing that is paged by offset, as a [ResultsQuery] does.
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

// Pager walks over a paged listing, newest entry first, and yields each entry once, except as
// documented at [RacesService.ResultsV1]. It does not yield entries that finish later; to keep a store
// up to date, use [Follower.CatchUp]. No request is made until it is ranged over.
//
// A pager keeps its position: after a break or an error, range again to continue after the last entry
// yielded, or save its [Cursor] and resume in another process. It is not safe for concurrent use: a
// second loop at a time fails with ErrInvalidArgument.
//
// Every error ends the loop. A [*DecodeError] of an entry that cannot be read is yielded in its
// position, or before its page if it has no start time, and a [*TieOverflowError] if all entries of
// a full page have the same start time. While the service refuses requests, the loop waits; after an
// hour of refusals of its listing it ends with the last one.
//
// The loop ends at Since, or at an empty page. Because the service may show one by mistake, the pager
// requests the page of the last entry yielded, the empty page again and, with a Since, the page before
// it. If entries are missing, the error is a [*DecodeError]. It is [ErrBodyIgnored] if a response does
// not match the page that was requested.
type Pager[T any] struct {
	source  source[T]
	reader  listing.Reader[T]
	resume  Cursor // the query's
	invalid error  // of the query; yielded instead of anything else
}

const maxConcurrency = 1000

// All ranges over the entries after the pager's position. An error is yielded with a nil entry, after
// all entries that precede it.
func (p *Pager[T]) All(ctx context.Context) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		p.each(ctx, func(e entry.Entry[*T]) bool { return yield(e.Value, e.Err) })
	}
}

// Entries is like All, but yields the JSON of each entry, too.
func (p *Pager[T]) Entries(ctx context.Context) iter.Seq2[Entry[T], error] {
	return func(yield func(Entry[T], error) bool) {
		p.each(ctx, func(e entry.Entry[*T]) bool {
			return yield(Entry[T]{e.Value, p.source.tier.orDefault(), e.JSON}, e.Err)
		})
	}
}

// each calls yield with each entry, until it returns false, and with the error that ends the loop.
func (p *Pager[T]) each(ctx context.Context, yield func(entry.Entry[*T]) bool) {
	if err := p.source.begin(ctx, p.invalid); err != nil {
		yield(entry.Entry[*T]{Err: err})
		return
	}
	loop := p.reader.Loop(ctx)
	defer func() { loop.End(); p.source.ranging.Store(false) }()
	for e, ok := loop.Next(); ok; e, ok = loop.Next() {
		if !p.source.skips(ctx, &e) && (!yield(e) || e.Err != nil) {
			return
		}
	}
}

// Take returns up to n more entries, and fewer only at the end of the listing, or beside an error, after
// which it can continue. With a Concurrency, prefer All: pages that Take has read ahead are requested again.
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

// Cursor returns the position after the last entry yielded, with the tier and the Since of the query.
func (p *Pager[T]) Cursor() Cursor {
	if p.invalid != nil || p.source.backend == nil {
		return p.resume
	}
	return newCursor(p.source.cursors, p.source.tier, p.reader.Range)
}

// newPager returns a pager of a listing by start time.
func newPager[T any, S ~struct{ *backend }](s *S, l paged[T], q ResultsQuery) *Pager[T] {
	before := int64(walk.Latest)
	if !q.Before.IsZero() {
		before = ceilMilli(q.Before) - 1
	}
	p := resumePager(backendOf(s), l, q.Tier, q.Resume, before)
	p.reader.Concurrency = max(1, q.Concurrency)
	if !q.Since.IsZero() {
		p.reader.Since = ceilMilli(q.Since)
	}
	if p.reader.Position.At > before {
		p.reader.Position = walk.Position{At: before}
	}
	switch {
	case q.Concurrency < 0 || q.Concurrency > maxConcurrency:
		p.fail(fmt.Errorf("a Concurrency of %d is not between 0 and %d", q.Concurrency, maxConcurrency))
	case !q.Before.IsZero() && minMilliseconds <= before && before < 0: // an entry that starts then counts as one without a start
		p.fail(fmt.Errorf("the Before %s is not after the beginning of 1970", q.Before.Format(time.RFC3339Nano)))
	case !q.Since.IsZero() && !q.Before.IsZero() && p.reader.Since > before+1:
		p.fail(fmt.Errorf("the Since %s is after the Before %s", q.Since.Format(time.RFC3339Nano), q.Before.Format(time.RFC3339Nano)))
	}
	return p
}

// newOffsetPager returns a pager of a listing by offset.
func newOffsetPager[T any, S ~struct{ *backend }](s *S, l paged[T], q OffsetQuery) *Pager[T] {
	p := resumePager(backendOf(s), l, q.Tier, q.Resume, int64(q.Offset))
	if q.Offset < 0 {
		p.fail(fmt.Errorf("an Offset of %d is negative", q.Offset))
	}
	return p
}

// resumePager returns a pager at the position of a cursor or, without one, at first.
func resumePager[T any](b *backend, l paged[T], tier TierID, resume Cursor, first int64) *Pager[T] {
	p := &Pager[T]{source: source[T]{paged: l, backend: b, priority: pace.Walks}, resume: resume}
	p.reader = listing.Reader[T]{Listing: p.source.listing(), Range: listing.Range{Position: walk.Position{At: first}}, Concurrency: 1}
	var problem error
	p.source.tier, problem = resume.open(l.cursors, tier, &p.reader.Range)
	if p.reader.Position.At > walk.Latest {
		problem = listing.ErrDamaged
	}
	if problem != nil {
		p.fail(problem)
	}
	return p
}

// fail makes the pager yield the error of an invalid query.
func (p *Pager[T]) fail(problem error) { p.invalid = p.source.op().invalid(problem) }

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

// paging is how the pages of a listing are requested.
type paging int

const (
	byStart  paging = iota // by the start time that the entries of a page are before
	byOffset               // by how many of the newest entries to skip
)

// paged declares a paged listing. Each stands beside the methods of its resource, as finishedRaces does.
type paged[T any] struct {
	route         string
	paging        paging                                  // how its pages are requested
	cursors       string                                  // the kind of its pagers' cursors; no other listing has it
	followCursors string                                  // the kind of its followers' cursors, if it has followers
	startAndTier  func(*T) (start Timestamp, tier TierID) // of an entry; the tier that it names, zero if that is not known
	isPending     func(*T) bool                           // reports whether an entry is listed before it has its result, or is nil if none is
	lookback      time.Duration                           // of followers, by default
}

// source is a listing of one tier, as a pager or a follower reads it.
type source[T any] struct {
	paged[T]
	backend  *backend
	tier     TierID // zero is the service's default, which no request names
	priority pace.Priority
	ranging  atomic.Bool // a loop is under way
}

// begin notes that a loop begins, or returns why none may.
func (s *source[T]) begin(ctx context.Context, invalid error) error {
	switch {
	case s.backend == nil:
		return errNotMade
	case invalid != nil:
		return invalid
	case ctx == nil:
		return s.op().invalid(errNilContext)
	case s.ranging.Swap(true):
		return s.op().invalid(errors.New("another loop is ranging over it"))
	}
	return nil
}

// skips reports whether the skip handler gets the error of an entry, instead of the loop.
func (s *source[T]) skips(ctx context.Context, e *entry.Entry[*T]) bool {
	return e.Err != nil && e.IsOfPart() && s.backend.skip(ctx, e.Err)
}

// listing returns the listing as the engine sees it.
func (s *source[T]) listing() *listing.Listing[T] {
	fail := func(problem error) error { return listingError(s.op(), problem) }
	return &listing.Listing[T]{ByOffset: s.paging == byOffset, Page: s.page, Fail: fail}
}

func (s *source[T]) op() operation {
	return operation{method: http.MethodGet, route: s.route, priority: s.priority, isPage: true}
}

// page requests a page.
func (s *source[T]) page(ctx context.Context, r walk.PageRequest) ([]entry.Entry[*T], error) {
	op := s.op()
	op.body = s.body(r)
	l, err := getEntries[T](ctx, s.backend, op, nil)
	if err != nil {
		return nil, err
	}
	if how := s.place(l, r); how != "" {
		return nil, listingError(op, &walk.Problem{How: how, IsIgnored: true})
	}
	hasStart := slices.ContainsFunc(l.entries, func(e entry.Entry[*T]) bool { return !e.NoStart })
	hasPosition := slices.ContainsFunc(l.entries, func(e entry.Entry[*T]) bool { return !e.NoStart && e.ID != "" })
	// The next page is requested from a start. A full page without a position has another form: ten errors would say no more.
	if n := len(l.entries); s.paging == byStart && n > 0 && !hasStart || n >= listing.PageSize && !hasPosition {
		return nil, withoutPosition(l.entries[0].Err)
	}
	return l.entries, nil
}

// place gives the entries of a page their starts. It returns how they show that the body of the request was
// ignored, or the empty string.
func (s *source[T]) place(l *list[T], r walk.PageRequest) (how string) {
	var first entry.Key
	for i := range l.entries {
		e := &l.entries[i]
		start, tier := s.startAndTier(e.Value)
		e.Start, e.NoStart = start.UnixMilli(), start.UnixMilli() <= 0
		if how := s.mismatch(r, e.Start, tier); how != "" {
			return how
		}
		isPlaced := e.ID != "" && !e.NoStart
		if isPlaced && first.ID == "" {
			first = e.Key()
		}
		if e.Err == nil && !isPlaced {
			e.Err = l.entryError(i, e.ID, e.JSON, &decode.Error{Err: errors.New("an entry without an id or a start time has no position in the listing")})
		}
		if e.Err != nil {
			e.Value = nil
		}
	}
	if first.ID != "" && s.backend.pages.isOther(tierPage{s.route, s.tier.orDefault()}, first) {
		return "the page of another tier came"
	}
	return ""
}

// body returns the body of a request. The service has defaults for absent members.
func (s *source[T]) body(r walk.PageRequest) any {
	var body struct {
		Tier          TierID `json:"tier,omitzero"`
		StartTimeFrom *int64 `json:"start_time_from,omitzero"`
		Offset        int64  `json:"offset,omitzero"`
	}
	if body.Tier = s.tier; s.paging == byOffset {
		body.Offset = r.From
	} else if !r.Newest() {
		body.StartTimeFrom = &r.From
	}
	return body
}

// mismatch returns how an entry shows that the body of the request was ignored, or the empty string. A
// request that names no tier is for the default one, which the service perhaps does not have.
func (s *source[T]) mismatch(r walk.PageRequest, start int64, tier TierID) string {
	requested := s.tier.orDefault()
	switch {
	case s.paging == byStart && start > r.From:
		return "an entry starts after start_time_from"
	case tier == 0 || tier == requested:
		return ""
	case s.tier == 0:
		return fmt.Sprintf("the query names no tier, and an entry is of tier %d instead of the default %d: name a tier", tier, requested)
	}
	return fmt.Sprintf("tier %d was requested, and an entry is of tier %d", requested, tier)
}

// tierPages remembers the first entry of the last page of each listing and tier. The names of most tiers
// are undocumented, so a page of another tier, from a cache by URL, is known by its first entry.
type tierPages struct {
	mu    sync.Mutex
	first map[tierPage]entry.Key
}

type tierPage struct {
	route string
	tier  TierID
}

// isOther reports whether a page that begins with an entry was that of another tier.
func (p *tierPages) isOther(page tierPage, first entry.Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for other, key := range p.first {
		if other.route == page.route && other.tier != page.tier && key == first {
			return true
		}
	}
	p.first[page] = first
	return false
}
