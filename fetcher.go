package horseracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// fetcher requests the pages that a pager's walk wants, as many at once as the
// pager may, and passes them to the walk.
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
	page    []walk.Entry[Entry[T]]
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

// poll passes a page to the walk if one has arrived.
func (f *fetcher[T]) poll() {
	select {
	case result := <-f.results:
		f.learn(result)
	default:
	}
}

// wait passes the next page that arrives to the walk.
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
func (p *Pager[T]) fetch(ctx context.Context, r walk.Request) ([]walk.Entry[Entry[T]], error) {
	l := &p.listing
	op := l.op()
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
	page := make([]walk.Entry[Entry[T]], len(entries))
	newest := int64(0)
	if l.byTime() && r.At != l.first {
		newest = r.At
	}
	for i := range entries {
		key := l.keyOf(&entries[i])
		if key.omega && l.tier(r.Source) != TierOmega {
			return nil, walk.IgnoredError(fmt.Sprintf("requested tier %d, got tier %d (Omega)", l.tier(r.Source), TierOmega))
		}
		if page[i].ID = key.id; !key.start.IsZero() {
			page[i].Start = key.start.UnixMilli()
		}
		newest = max(newest, page[i].Start)
	}
	for i := range page {
		e, from := &page[i], &entries[i]
		if problem, member := placementProblem(e.ID, e.Start, newest); problem != "" {
			if e.ID = ""; from.err == nil {
				response.fail(l.client, op, i, member, errors.New(problem))
			}
		}
		if e.Value = (Entry[T]{Value: from.value, JSON: from.json}); from.err != nil {
			e.Err = from.err
		}
	}
	return page, nil
}

// placementProblem returns why an entry cannot be placed among others, of which newest is
// the latest start, and the member that is wrong. The problem is empty if it can.
func placementProblem(id string, start, newest int64) (problem, member string) {
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
