package horseracing

import (
	"context"
	"errors"
	"fmt"

	"github.com/horseracing-go/horseracing/internal/walk"
)

// fetcher requests the pages that a pager's walk needs, up to the pager's concurrency
// at once, and passes them to the walk.
type fetcher[T any] struct {
	listing     *listing[T]
	walk        walk.Walker[Entry[T]]
	concurrency int
	ctx         context.Context
	cancel      context.CancelFunc
	results     chan pageResult[T]
	inFlight    int

	interrupted *TransportError // the error of a canceled request; of several the one with the most attempts
}

// pageResult is the outcome of one page request.
type pageResult[T any] struct {
	request walk.Request
	page    []walk.Entry[Entry[T]]
	err     error
}

func newFetcher[T any](ctx context.Context, l *listing[T], w walk.Walker[Entry[T]], concurrency int) *fetcher[T] {
	f := &fetcher[T]{listing: l, walk: w, concurrency: concurrency, results: make(chan pageResult[T], concurrency)}
	f.ctx, f.cancel = context.WithCancel(ctx)
	return f
}

// fill requests the pages that the walk needs now.
func (f *fetcher[T]) fill() {
	for f.inFlight < f.concurrency {
		r, ok := f.walk.Next()
		if !ok {
			return
		}
		f.inFlight++
		if f.concurrency == 1 {
			f.fetch(r)
		} else {
			go f.fetch(r)
		}
	}
}

func (f *fetcher[T]) fetch(r walk.Request) {
	result := pageResult[T]{request: r, err: fmt.Errorf("%v: %w", f.listing.op(), errAborted)}
	defer func() { f.results <- result }()
	result.page, result.err = f.listing.fetch(f.ctx, r)
}

// wait passes the next page that arrives to the walk.
func (f *fetcher[T]) wait() {
	result := <-f.results
	f.inFlight--
	if result.err != nil {
		if e, ok := errors.AsType[*TransportError](result.err); ok && f.ctx.Err() != nil && (f.interrupted == nil || e.Attempts > f.interrupted.Attempts) {
			f.interrupted = e
		}
		f.walk.Fail(result.request, result.err)
	} else {
		f.walk.Learn(result.request, result.page)
	}
}

// close cancels the requests in flight and waits for them.
func (f *fetcher[T]) close() {
	f.cancel()
	for f.inFlight > 0 {
		f.wait()
	}
}
