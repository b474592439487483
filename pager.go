package horseracing

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Pager walks over a paged listing, newest entry first, each entry exactly
// once. No request is made until it is ranged over.
//
// A pager keeps its place: break out of a loop or meet an error, then range
// again to go on behind the last entry handed out, or save its [Cursor] and
// resume in another process. Every error ends the loop. After a
// [*TieOverflowError] ranging again goes on behind its instant; [ErrBodyIgnored]
// is an answer that does not fit the question. A Pager belongs to one goroutine,
// and to one loop at a time.
type Pager[T any] struct {
	listing     listing[T]
	walk        walker[T]
	concurrency int
	resume      Cursor // the query's
	invalid     error  // of the query; yielded instead of anything else
	ranging     bool   // a loop is under way
}

// entry is an entry of a listing, or an error that stands at its place.
type entry[T any] struct {
	value *T
	start int64 // epoch milliseconds
	id    uint64
	err   error
}

// pageSize is how many entries an answer holds at most (interface document, section 8).
const pageSize = 10

// walker decides which pages to ask for, puts together what they hold, and
// hands it out in order. It does no input or output and knows no goroutine.
// There are two: timeWalk and offsetWalk.
type walker[T any] interface {
	// next returns a question worth asking now, and false where there is none.
	next() (at int64, ok bool)
	// learn takes the answer to a question.
	learn(at int64, page []entry[T]) error
	// fail takes the error that a question met; it is handed out at its place.
	fail(at int64, err error)
	// take hands out what is next in order: an entry or an error. There is
	// nothing where answers are missing, and at the end.
	take() (entry[T], bool)
	// done reports whether everything was taken.
	done() bool
	// restart forgets the errors of questions, so that they are asked again.
	restart()
	// place returns the cursor behind what was taken, but for listing and tier.
	place() Cursor
}

// All ranges over the entries from where the pager stands. An error is yielded
// last, with a nil entry, after everything that lies before it. The entries
// belong to the caller.
func (p *Pager[T]) All(ctx context.Context) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for e := range p.entries(ctx) {
			if !yield(e.value, e.err) {
				return
			}
		}
	}
}

// Pages ranges over the entries in slices of a page, the last one shorter. A
// slice belongs to the caller. An error is yielded last, without entries.
func (p *Pager[T]) Pages(ctx context.Context) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		var page []T
		for e := range p.entries(ctx) {
			if e.err == nil {
				page = append(page, *e.value)
			}
			if len(page) == pageSize || e.err != nil && len(page) > 0 {
				if !yield(page, nil) {
					return
				}
				page = nil
			}
			if e.err != nil {
				yield(nil, e.err)
				return
			}
		}
		if len(page) > 0 {
			yield(page, nil)
		}
	}
}

// Take returns up to n more entries: fewer only at the end, or with an error,
// beside which stand the entries that came before it. With several requests in
// flight each call throws away what is on its way: take large pieces, or range
// over All.
func (p *Pager[T]) Take(ctx context.Context, n int) ([]T, error) {
	if n <= 0 {
		return nil, p.invalid
	}
	taken := make([]T, 0, min(n, 10*pageSize))
	for e := range p.entries(ctx) {
		if e.err != nil {
			return taken, e.err
		}
		if taken = append(taken, *e.value); len(taken) == n {
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
	c := p.walk.place()
	if c.seen != nil || c.at != 0 {
		c.listing, c.tier = p.listing.name, p.listing.tier
	}
	return c
}

// answered is what came of a question.
type answered[T any] struct {
	at   int64
	page []entry[T]
	err  error
}

// entries runs the walk. This goroutine owns it; others only fetch, and the
// end of the loop, however it comes about, cancels them and waits for them.
func (p *Pager[T]) entries(ctx context.Context) iter.Seq[entry[T]] {
	return func(yield func(entry[T]) bool) {
		invalid := p.invalid
		switch {
		case invalid != nil:
		case ctx == nil:
			invalid = p.listing.op.invalid("the context is nil")
		case p.ranging:
			invalid = p.listing.op.invalid("the pager is being ranged over already")
		}
		if invalid != nil {
			yield(entry[T]{err: invalid})
			return
		}
		p.ranging = true
		fetching, cancel := context.WithCancel(ctx)
		answers, inFlight := make(chan answered[T], p.concurrency), 0
		ask := func() {
			for inFlight < p.concurrency {
				at, ok := p.walk.next()
				if !ok {
					return
				}
				inFlight++
				fetch := func() {
					a, done := answered[T]{at: at}, false
					defer func() {
						if !done {
							a.err = fmt.Errorf("%v: %w", p.listing.op, errAborted)
						}
						answers <- a
					}()
					a, done = p.fetch(fetching, at), true
				}
				if p.concurrency == 1 {
					fetch()
				} else {
					go fetch()
				}
			}
		}
		receive := func(a answered[T]) {
			inFlight--
			if a.err == nil {
				a.err = p.walk.learn(a.at, a.page)
			}
			if a.err != nil {
				p.walk.fail(a.at, a.err)
			}
		}
		defer func() {
			cancel()
			for inFlight > 0 {
				receive(<-answers)
			}
			p.walk.restart()
			p.ranging = false
		}()

		for !p.walk.done() {
			if err := ctx.Err(); err != nil {
				yield(entry[T]{err: fmt.Errorf("%v: %w", p.listing.op, err)})
				return
			}
			if p.concurrency > 1 { // read ahead, also while the caller is at work
				select {
				case a := <-answers:
					receive(a)
				default:
				}
				ask()
			}
			e, ok := p.walk.take()
			switch {
			case ok && !yield(e), ok && e.err != nil:
				return
			case !ok && !p.walk.done():
				ask()
				receive(<-answers)
			}
		}
	}
}

// errAborted is what comes of a question whose goroutine the caller's own code
// (a RoundTripper, a handler, a t.Fatal in one) has ended.
var errAborted = errors.New("the request was aborted by what it called")

// fetch asks one question. An entry that the walk could not place, or one
// that cannot be an answer to the question, is an error.
func (p *Pager[T]) fetch(ctx context.Context, at int64) answered[T] {
	l := &p.listing
	op := l.op
	op.body = l.ask(at)
	values, err := getList[T](ctx, l.client, op, nil)
	if err != nil {
		return answered[T]{at: at, err: err}
	}
	page := make([]entry[T], len(values))
	for i := range values {
		v := &values[i]
		start, id := l.start(v), l.id(v)
		switch {
		case start.IsZero():
			err = op.undecodable(fmt.Sprintf("/%d/start_time", i), 0, errors.New("an entry without a start time cannot be placed"))
		case id == 0:
			err = op.undecodable(fmt.Sprintf("/%d", i), 0, errors.New("an entry without an id cannot be told from others"))
		case l.tier != TierOmega && l.omega(v):
			err = op.bodyIgnored(fmt.Sprintf("asked for tier %d, got tier %d (Omega)", l.tier, TierOmega))
		}
		if err != nil {
			return answered[T]{at: at, err: err}
		}
		page[i] = entry[T]{value: v, start: start.UnixMilli(), id: id}
	}
	return answered[T]{at: at, page: page}
}

func (op operation) bodyIgnored(evidence string) error {
	return fmt.Errorf("%v: %w: %s; a proxy or cache on the way drops the bodies of GET requests, or answers them from another request's", op, ErrBodyIgnored, evidence)
}
