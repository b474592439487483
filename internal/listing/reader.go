package listing

import (
	"cmp"
	"context"
	"errors"

	"github.com/horseracing-go/horseracing/internal/entry"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// Reader reads a listing from a position on, newest entry first.
type Reader[T any] struct {
	*Listing[T]
	Range
	Known       walk.Position // an entry that the listing has shown before; ignored if the position has one
	Concurrency int           // pages that are requested at once
}

// Range is what a reader has still to read, and the payload of a pager's cursor.
type Range struct {
	Since    int64         `json:"since,omitzero"` // only entries that start then or later, or zero in a listing by offset
	Position walk.Position `json:"position"`       // after the entries that were returned
}

// Loop reads on from a reader's position. It requests the pages that a walk needs, several at once.
// One goroutine uses it.
type Loop[T any] struct {
	listing  *Listing[T]
	walk     walk.Walk[*T]
	ctx      context.Context // of its requests
	cancel   context.CancelFunc
	pages    chan page[T] // as many as may be in flight
	inFlight int
	canceled error           // of a request that was canceled: it may name a failure before
	noStart  map[string]bool // entries that have no start: several pages show them
	failed   bool
}

// page is the outcome of one request.
type page[T any] struct {
	request walk.PageRequest
	entries []entry.Entry[*T]
	err     error
}

// Loop begins a loop. It ends with [Loop.End].
func (r *Reader[T]) Loop(ctx context.Context) *Loop[T] {
	l := &Loop[T]{listing: r.Listing, pages: make(chan page[T], r.Concurrency), noStart: map[string]bool{}}
	l.ctx, l.cancel = context.WithCancel(ctx)
	if r.ByOffset {
		l.walk = walk.NewOffset[*T](&r.Position, PageSize)
	} else {
		l.walk = walk.NewTime[*T](r.Since, &r.Position, r.Known, r.Concurrency, PageSize)
	}
	return l
}

// Next returns the next entry, or the error in its place. It reports false at the end, which is
// also after an error that is not of a part of the listing.
func (l *Loop[T]) Next() (e entry.Entry[*T], ok bool) {
	for !l.failed {
		if e, ok = l.take(); !ok {
			return e, false
		}
		problem, isProblem := errors.AsType[*walk.Problem](e.Err)
		switch {
		case e.NoStart && l.noStart[e.ID]:
			continue
		case e.NoStart:
			l.noStart[e.ID] = true
		case e.Ties > 0:
			e.Err = l.listing.Fail(&walk.Problem{Ties: e.Ties, Start: e.Start})
		case isProblem:
			e.Err = l.listing.Fail(problem)
		}
		l.failed = e.Err != nil && !e.IsOfPart()
		return e, true
	}
	return e, false
}

// take waits until the walk has the next entry.
func (l *Loop[T]) take() (entry.Entry[*T], bool) {
	for {
		for len(l.pages) > 0 {
			l.wait()
		}
		if l.walk.Done() { // also if the last page came while the caller was at work
			return entry.Entry[*T]{}, false
		}
		if err := l.ctx.Err(); err != nil {
			l.End()
			return entry.Entry[*T]{Err: cmp.Or(l.canceled, l.listing.Fail(err))}, true
		}
		if cap(l.pages) > 1 { // fetch ahead, also while the caller is at work
			l.fill()
		}
		if e, ok := l.walk.Take(); ok {
			return e, true
		}
		l.fill()
		l.wait()
	}
}

// fill requests the pages that the walk needs now.
func (l *Loop[T]) fill() {
	for l.inFlight < cap(l.pages) {
		r, ok := l.walk.Next()
		if !ok {
			return
		}
		l.inFlight++
		go func() {
			result := page[T]{request: r, err: l.listing.Fail(errAborted)}
			defer func() { l.pages <- result }()
			result.entries, result.err = l.listing.fetch(l.ctx, r)
		}()
	}
}

// wait passes the next page that arrives to the walk.
func (l *Loop[T]) wait() {
	result := <-l.pages
	l.inFlight--
	if l.ctx.Err() != nil {
		l.canceled = cmp.Or(result.err, l.canceled)
	}
	l.walk.Learn(result.request, result.entries, result.err)
}

// End cancels the requests in flight, and waits until none is.
func (l *Loop[T]) End() {
	for l.cancel(); l.inFlight > 0; {
		l.wait()
	}
}
