package horseracing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/transport"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// Pager walks over a paged listing, newest entry first, each entry exactly
// once. No request is made until it is ranged over.
//
// A pager keeps its place: break out of a loop or meet an error, then range
// again to go on behind the last entry handed out, or save its [Cursor] and
// resume in another process.
//
// An error that marks a hole does not end the loop; every other does. There are
// two of them: the [*DecodeError] of one entry, which stands at the entry's place
// and has its JSON, and a [*TieOverflowError], behind the entries of its instant.
// The pager's place is behind the hole then, as it is behind an entry. An entry
// that cannot be placed, because its start or its id cannot be read, comes after
// the others of its page; a page of nothing else ends the loop. [ErrBodyIgnored]
// reports a response that does not fit its request.
//
// A Pager belongs to one goroutine, and to one loop at a time.
type Pager[T any] struct {
	listing     listing[T]
	begin       func([]*walk.Position) *walk.Merge[*listEntry[T]]
	walk        *walk.Merge[*listEntry[T]]
	concurrency int
	withJSON    bool   // Entries was called: pages are read with the JSON of each entry
	resume      Cursor // the query's
	patience    *transport.Patience
	invalid     error // of the query; yielded instead of anything else
	ranging     bool  // a loop is under way
}

// pageSize is how many entries a page holds at most:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#8-limits
const pageSize = 10

// Entry is an entry of a listing with the JSON it was read from.
type Entry[T any] struct {
	Value *T              // nil with an error
	Tier  TierID          // the tier of the listing that it is from
	JSON  json.RawMessage // as it came, undocumented members included, and not redacted; nil with an error that does not concern one entry
}

// pageEntry is what a walk hands out: an entry, or an error in its place.
type pageEntry[T any] struct {
	Entry[T]
	Start int64  // epoch milliseconds; zero: it cannot be placed
	ID    uint64 // within the listing
	Err   error
}

// All ranges over the entries from where the pager stands. An error comes with
// a nil entry, after everything that lies before it. The entries belong to the
// caller.
func (p *Pager[T]) All(ctx context.Context) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for e := range p.entries(ctx) {
			if !yield(e.Value, e.Err) {
				return
			}
		}
	}
}

// Entries is All with the JSON of each entry. With the [*DecodeError] of an entry
// the Value is nil and the JSON is there.
func (p *Pager[T]) Entries(ctx context.Context) iter.Seq2[Entry[T], error] {
	return func(yield func(Entry[T], error) bool) {
		if !p.withJSON && !p.ranging { // pages that were read ahead have no JSON
			p.withJSON = true
			p.walk = p.begin(p.positions())
		}
		for e := range p.entries(ctx) {
			if !yield(e.Entry, e.Err) {
				return
			}
		}
	}
}

// Pages ranges over the entries in slices of a page; the last one, and one
// before an error, are shorter. A slice belongs to the caller. An error comes
// without entries; an unreadable entry is such an error, and in no slice.
func (p *Pager[T]) Pages(ctx context.Context) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		var page []T
		for e := range p.entries(ctx) {
			if e.Err == nil {
				page = append(page, *e.Value)
			}
			if len(page) == pageSize || e.Err != nil && len(page) > 0 {
				if !yield(page, nil) {
					return
				}
				page = nil
			}
			if e.Err != nil && !yield(nil, e.Err) {
				return
			}
		}
		if len(page) > 0 {
			yield(page, nil)
		}
	}
}

// Take returns up to n more entries: fewer only at the end of the listing, or
// with an error and the entries before it; of n <= 0 none. An error that marks a
// hole ends a Take as every other does; the next one goes on behind the hole.
// With a Concurrency above one each call discards the pages that it has read
// ahead: take large pieces, or range over All.
func (p *Pager[T]) Take(ctx context.Context, n int) ([]T, error) {
	if n <= 0 {
		return nil, p.invalid
	}
	taken := make([]T, 0, min(n, 10*pageSize))
	for e := range p.entries(ctx) {
		if e.Err != nil {
			return taken, e.Err
		}
		if taken = append(taken, *e.Value); len(taken) == n {
			break
		}
	}
	return taken, nil
}

// Cursor returns the place just behind the last entry handed out. Before
// anything was handed out it is the query's Resume.
func (p *Pager[T]) Cursor() Cursor {
	if p.invalid != nil {
		return p.resume
	}
	positions := p.walk.Positions()
	if positions == nil {
		return p.resume
	}
	return newCursor(p.listing.kind, p.listing.tiers, writePositions(positions))
}

// positions returns where each walk stands, as begin takes it.
func (p *Pager[T]) positions() []*walk.Position {
	begin := make([]*walk.Position, len(p.listing.tiers))
	positions := p.walk.Positions()
	for i := range positions {
		begin[i] = &positions[i]
	}
	return begin
}

// entries runs the walk. This goroutine owns it; others only fetch, and the
// end of the loop, however it comes about, cancels them and waits for them.
func (p *Pager[T]) entries(ctx context.Context) iter.Seq[pageEntry[T]] {
	return func(yield func(pageEntry[T]) bool) {
		if err := p.mayRange(ctx); err != nil {
			yield(pageEntry[T]{Err: err})
			return
		}
		p.ranging = true
		f := newFetcher(ctx, p)
		defer func() {
			f.close()
			p.walk.Restart()
			p.ranging = false
		}()
		for !p.walk.Done() {
			if err := ctx.Err(); err != nil {
				yield(pageEntry[T]{Err: fmt.Errorf("%v: %w", p.listing.op(), err)})
				return
			}
			if p.concurrency > 1 { // read ahead, also while the caller is at work
				f.poll()
				f.fill()
			}
			e, source, ok := p.walk.Take()
			switch {
			case ok:
				if !yield(p.pageEntry(e, source)) || e.Err != nil && !isHole(e.Err) {
					return
				}
			case !p.walk.Done():
				f.fill()
				f.wait()
			}
		}
	}
}

// isHole reports whether an error of the walk has passed what it is about.
func isHole(err error) bool {
	_, tie := errors.AsType[*walk.TieError](err)
	return tie
}

// pageEntry turns what the walk hands out into what a caller meets.
func (p *Pager[T]) pageEntry(e walk.Entry[*listEntry[T]], source int) pageEntry[T] {
	if e.Err != nil {
		return pageEntry[T]{Entry: Entry[T]{Tier: p.listing.tiers[source]}, Start: e.Start, Err: p.publicError(e.Err)}
	}
	out := pageEntry[T]{Entry: Entry[T]{Value: e.Value.value, Tier: p.listing.tiers[source], JSON: e.Value.json}, Start: e.Start, ID: e.ID}
	if e.Value.err != nil {
		out.Value, out.Err = nil, e.Value.err
	}
	if e.Unplaced {
		out.Start = 0
	}
	return out
}

// mayRange returns why no loop may begin.
func (p *Pager[T]) mayRange(ctx context.Context) error {
	switch {
	case p.invalid != nil:
		return p.invalid
	case ctx == nil:
		return p.listing.op().invalid("the context is nil")
	case p.ranging:
		return p.listing.op().invalid("the pager is being ranged over already")
	}
	return nil
}

// publicError turns an error of the walk into the one that a caller meets.
func (p *Pager[T]) publicError(err error) error {
	switch e := err.(type) { //nolint:errorlint // the walk wraps none of them
	case *walk.TieError:
		return &TieOverflowError{StartTime: timestampOf(e.Start), Seen: e.Seen, op: p.listing.op()}
	case *walk.UnplacedError[*listEntry[T]]:
		cause := *e.First.Value.err
		cause.ID, cause.Raw, cause.entry = "", nil, false // it is about the page
		cause.Err = fmt.Errorf("no entry of the page can be placed in the listing: %w", cause.Err)
		return &cause
	case walk.Ignored:
		return fmt.Errorf("%v: %w: %w; a proxy or cache on the way drops the bodies of GET requests, or serves them another request's response",
			p.listing.op(), ErrBodyIgnored, e)
	}
	return err
}

// fetcher requests the pages that a pager's walk wants, as many at once as the
// pager may, and hands them to the walk.
type fetcher[T any] struct {
	pager    *Pager[T]
	ctx      context.Context
	cancel   context.CancelFunc
	results  chan pageResult[T]
	inFlight int
}

// pageResult is the outcome of one page request.
type pageResult[T any] struct {
	request walk.Request
	page    []walk.Entry[*listEntry[T]]
	err     error
}

func newFetcher[T any](ctx context.Context, p *Pager[T]) *fetcher[T] {
	f := &fetcher[T]{pager: p, results: make(chan pageResult[T], p.concurrency)}
	f.ctx, f.cancel = context.WithCancel(ctx)
	return f
}

// fill requests what the walk wants now.
func (f *fetcher[T]) fill() {
	for f.inFlight < f.pager.concurrency {
		r, ok := f.pager.walk.Next()
		if !ok {
			return
		}
		f.inFlight++
		if f.pager.concurrency == 1 {
			f.fetch(r)
		} else {
			go f.fetch(r)
		}
	}
}

// errAborted is the outcome of a request whose goroutine the caller's own code
// (a RoundTripper, a handler, a t.Fatal in one) has ended.
var errAborted = errors.New("the request was aborted by what it called")

func (f *fetcher[T]) fetch(r walk.Request) {
	result := pageResult[T]{request: r, err: fmt.Errorf("%v: %w", f.pager.listing.op(), errAborted)}
	defer func() { f.results <- result }()
	result.page, result.err = f.pager.fetch(f.ctx, r)
}

// poll hands a page to the walk if one has come.
func (f *fetcher[T]) poll() {
	select {
	case result := <-f.results:
		f.learn(result)
	default:
	}
}

// wait hands the next page that comes to the walk.
func (f *fetcher[T]) wait() { f.learn(<-f.results) }

func (f *fetcher[T]) learn(result pageResult[T]) {
	f.inFlight--
	if result.err != nil {
		f.pager.walk.Fail(result.request, result.err)
	} else {
		f.pager.walk.Learn(result.request, result.page)
	}
}

// close cancels what is in flight and waits for it.
func (f *fetcher[T]) close() {
	f.cancel()
	for f.inFlight > 0 {
		f.wait()
	}
}

// fetch requests one page. An entry that does not fit the request is an error.
func (p *Pager[T]) fetch(ctx context.Context, r walk.Request) ([]walk.Entry[*listEntry[T]], error) {
	l := &p.listing
	op, tier := l.op(), l.tiers[r.Source]
	op.body = l.pageBody(r)
	op.order, op.patience = cmp.Or(l.order, pace.Walk), p.patience
	var response list[T]
	var entries []listEntry[T]
	err := l.client.persist(ctx, op, func() (err error) {
		response = list[T]{withJSON: p.withJSON}
		entries, err = response.get(ctx, l.client, op, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	page := make([]walk.Entry[*listEntry[T]], len(entries))
	neighbor := int64(0)
	if r.At != l.first && l.byTime() {
		neighbor = r.At
	}
	for i := range entries {
		key := l.keyOf(&entries[i])
		if key.omega && tier != TierOmega {
			return nil, walk.Ignored(fmt.Sprintf("requested tier %d, got tier %d (Omega)", tier, TierOmega))
		}
		page[i] = walk.Entry[*listEntry[T]]{Value: &entries[i], ID: key.id}
		if !key.start.IsZero() {
			page[i].Start = key.start.UnixMilli()
		}
		neighbor = max(neighbor, page[i].Start)
	}
	for i := range page {
		e := &page[i]
		var problem, member string
		switch {
		case e.ID == 0:
			problem = "an entry without an id cannot be distinguished from others"
		case e.Start == 0:
			problem, member = "an entry without a start time cannot be placed", "/start_time"
		case l.byTime() && walk.Unplaceable(e.Start, neighbor):
			problem, member = fmt.Sprintf("the start time %d cannot be placed among others in milliseconds", e.Start), "/start_time"
		default:
			continue
		}
		e.Unplaced = e.ID == 0 || l.byTime()
		if e.Value.err == nil {
			response.fail(l.client, op, i, member, errors.New(problem))
		}
		if e.Unplaced {
			e.ID = contentID(e.Value.json) | walk.UnplacedID
		}
	}
	return page, nil
}

// contentID identifies an entry that cannot be placed.
func contentID(text []byte) uint64 {
	h := fnv.New64a()
	h.Write(text)
	return h.Sum64()
}
