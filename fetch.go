package horseracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// fetcher requests the pages that a pager's walk needs, up to the pager's concurrency
// at once, and passes them to the walk.
type fetcher[T any] struct {
	pager    *Pager[T]
	ctx      context.Context
	cancel   context.CancelFunc
	results  chan pageResult[T]
	inFlight int

	interrupted *TransportError // of those that ctx ended, the one with most requests
}

// pageResult is the outcome of one page request.
type pageResult[T any] struct {
	request walk.Request
	page    []walk.Entry[Entry[T]]
	err     error
}

func newFetcher[T any](ctx context.Context, p *Pager[T]) *fetcher[T] {
	f := &fetcher[T]{pager: p, results: make(chan pageResult[T], p.concurrency)}
	f.ctx, f.cancel = context.WithCancel(ctx)
	return f
}

// fill requests the pages that the walk needs now.
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

// errAborted is the outcome of a request whose goroutine was ended by the caller's code
// (a RoundTripper, a handler, a t.Fatal in one).
var errAborted = errors.New("the request's goroutine was ended by code that it called")

func (f *fetcher[T]) fetch(r walk.Request) {
	result := pageResult[T]{request: r, err: fmt.Errorf("%v: %w", f.pager.listing.op(), errAborted)}
	defer func() { f.results <- result }()
	result.page, result.err = f.pager.fetch(f.ctx, r)
}

// wait passes the next page that arrives to the walk.
func (f *fetcher[T]) wait() {
	result := <-f.results
	f.inFlight--
	if result.err != nil {
		if e, ok := errors.AsType[*TransportError](result.err); ok && f.ctx.Err() != nil && (f.interrupted == nil || e.Attempts > f.interrupted.Attempts) {
			f.interrupted = e
		}
		f.pager.walk.Fail(result.request, result.err)
	} else {
		f.pager.walk.Learn(result.request, result.page)
	}
}

// close cancels the requests in flight and waits for them.
func (f *fetcher[T]) close() {
	f.cancel()
	for f.inFlight > 0 {
		f.wait()
	}
}

// fetch requests one page. An entry that does not fit the request is an error.
func (p *Pager[T]) fetch(ctx context.Context, r walk.Request) ([]walk.Entry[Entry[T]], error) {
	op, body := p.listing.op(), p.listing.pageBody(r)
	op.body, op.order, op.patience = body, cmp.Or(p.listing.order, pace.Walk), p.patience
	requested := time.Now()
	l, err := getEntries[T](ctx, p.listing.client, op, nil)
	if err != nil {
		return nil, err
	}
	if p.listing.responded != nil {
		p.listing.responded(responseTime(l.response.Header, requested))
	}
	newest := int64(0)
	if body.StartTimeFrom != nil {
		newest = *body.StartTimeFrom
	}
	page := make([]walk.Entry[Entry[T]], len(l.entries))
	for i := range page {
		key := p.listing.key(&l.entries[i].value)
		if tier := p.listing.tier(r.Source); key.omega && tier != TierOmega {
			return nil, walk.IgnoredError(fmt.Sprintf("requested tier %d, got tier %d (Omega)", tier, TierOmega))
		}
		page[i].ID, page[i].Start = key.id, key.start.UnixMilli()
		newest = max(newest, page[i].Start)
	}
	for i := range page {
		e, from := &page[i], &l.entries[i]
		if problem, member := unplaced(e.ID, e.Start, newest); problem != "" {
			if e.ID = ""; from.err == nil {
				l.fail(i, op.undecodable(member, 0, errors.New(problem)))
			}
		}
		e.Value.JSON = l.json(i)
		if from.err == nil {
			e.Value.Value = &from.value
		} else {
			e.Err = from.err
		}
	}
	return page, nil
}

// unplaced returns why an entry cannot be placed among others, of which newest is
// the latest start, and the member that is wrong. The problem is empty if it can.
func unplaced(id string, start, newest int64) (problem, member string) {
	const modern = 1e11 // a start in milliseconds since 1973, which is at most 1/1000 of it in seconds
	switch {
	case id == "":
		return "an entry without an id cannot be distinguished from others", ""
	case start <= 0:
		return "an entry without a start time cannot be placed", "/start_time"
	case newest >= modern && newest/2000 <= start && start <= newest/500:
		return fmt.Sprintf("the start time %d, in seconds, cannot be placed among others in milliseconds", start), "/start_time"
	}
	return "", ""
}
