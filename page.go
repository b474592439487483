package horseracing

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/transport"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// Entry is an entry of a listing, with its JSON.
type Entry[T any] struct {
	Value *T              // nil if there is an error
	Tier  TierID          // the tier whose listing contains it
	JSON  json.RawMessage // as received, with undocumented members, not redacted, or nil if the error is not about one entry
}

// listing describes a paged listing to its pager.
type listing[T any] struct {
	backend  *backend
	kind     cursorKind
	route    string
	byOffset bool // pages are requested by offset, not by start time
	key      func(*T) entryKey

	hasResult func(*T) bool   // reports whether an entry has its result, or is nil if every listed entry has one
	order     pace.Priority   // priority of its requests, or zero for that of walks
	responded func(time.Time) // called with the service's time of each response, unless nil
	tiers     []TierID        // sorted, where zero is the service's default, which no request names
	patience  *transport.Patience
	otherSeen *atomic.Bool // a tier other than Omega was shown under another name
	shown     walk.Shown   // what its pages have shown so far
}

// entryKey determines the position of an entry in a listing.
type entryKey struct {
	start   Timestamp
	id      string // empty if the entry has none
	isOmega bool   // its tier is named Omega
	isOther bool   // its tier is named otherwise
}

func raceKey(r *Race) entryKey {
	isOmega := r.Tier == TierNameOmega
	return entryKey{start: r.StartTime, id: idOf(r), isOmega: isOmega, isOther: !isOmega && r.Tier != ""}
}

func tournamentKey(t *Tournament) entryKey {
	isOmega := t.Tier == TierOmega
	return entryKey{start: t.StartTime, id: idOf(t), isOmega: isOmega, isOther: !isOmega && t.Tier != 0}
}

func (l *listing[T]) op() operation { return operation{method: http.MethodGet, route: l.route} }

// tier returns the tier of the listing at an index.
func (l *listing[T]) tier(source int) TierID { return l.tiers[source].orDefault() }

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

// pageBody is the body of a page request. The service has defaults for absent members.
type pageBody struct {
	Tier          TierID `json:"tier,omitzero"`
	StartTimeFrom *int64 `json:"start_time_from,omitzero"`
	Offset        *int64 `json:"offset,omitzero"`
}

// pageBody returns the body of a page request: the tier and the start of the page.
func (l *listing[T]) pageBody(r walk.Request) pageBody {
	body := pageBody{Tier: l.tiers[r.Source]}
	if l.byOffset && r.At > 0 {
		body.Offset = &r.At
	}
	if !l.byOffset && r.At < walk.Latest {
		body.StartTimeFrom = &r.At
	}
	return body
}

// emptyDelay is after how long a page in doubt is requested again: a replica that lags
// shows none. maxEmptyDelay is the last wait for one that cannot be empty.
const (
	emptyDelay    = 200 * time.Millisecond
	maxEmptyDelay = 16 * emptyDelay
)

// fetch requests one page, and one in doubt again: an empty one where more is expected, or
// one of the wrong tier.
func (l *listing[T]) fetch(ctx context.Context, r walk.Request) ([]walk.Entry[Entry[T]], error) {
	page, err := l.request(ctx, r)
	if err == nil && l.isOfOmega(page, r) {
		page, err = l.requestAfter(ctx, emptyDelay, r)
	}
	if err == nil && len(page.entries) == 0 && !r.AcceptEmpty {
		page, err = l.confirmEmpty(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	if l.isOfOmega(page, r) {
		return nil, walk.IgnoredError(fmt.Sprintf("requested tier %d, got tier %d (Omega)", l.tier(r.Source), TierOmega))
	}
	return l.place(page, r), nil
}

// confirmEmpty requests an empty page again. A service in trouble may show empty lists for
// a while: the page counts as empty only if its witness is not.
func (l *listing[T]) confirmEmpty(ctx context.Context, r walk.Request) (page *list[T], err error) {
	for delay := emptyDelay; delay <= maxEmptyDelay; delay *= 4 {
		if page, err = l.requestAfter(ctx, delay, r); err != nil || len(page.entries) > 0 || r.Witness < 0 {
			return page, err
		}
		if r.Witness == r.At {
			continue
		}
		witness, err := l.request(ctx, walk.Request{Source: r.Source, At: r.Witness})
		if err != nil || len(witness.entries) > 0 {
			return page, err
		}
	}
	return nil, newDecodeError(page.record, &readError{err: errors.New("the list is empty, although it has shown entries before")})
}

// requestAfter requests one page after a delay.
func (l *listing[T]) requestAfter(ctx context.Context, delay time.Duration, r walk.Request) (*list[T], error) {
	if transport.Sleep(ctx, delay) != nil {
		return nil, fmt.Errorf("%v: %w", l.op(), ctx.Err())
	}
	return l.request(ctx, r)
}

// request requests one page.
func (l *listing[T]) request(ctx context.Context, r walk.Request) (*list[T], error) {
	op := l.op()
	op.body, op.order, op.patience = l.pageBody(r), cmp.Or(l.order, pace.Walk), l.patience
	requested := time.Now()
	page, err := getEntries[T](ctx, l.backend, op, nil)
	if err == nil && l.responded != nil {
		l.responded(responseTime(page.record.Header, requested))
	}
	return page, err
}

// isOfOmega reports whether a page shows races of Omega alone although another tier was
// requested, and such a tier had another name before.
func (l *listing[T]) isOfOmega(page *list[T], r walk.Request) bool {
	if l.tier(r.Source) == TierOmega || len(page.entries) == 0 || !l.otherSeen.Load() {
		return false
	}
	for i := range page.entries {
		if !l.key(&page.entries[i].value).isOmega {
			return false
		}
	}
	return true
}

// place returns the entries of a page with their ids and starts. An entry that cannot be
// placed among others is an error, and has no id. One that differs from another with its
// id and start is an error too.
func (l *listing[T]) place(page *list[T], r walk.Request) []walk.Entry[Entry[T]] {
	entries := make([]walk.Entry[Entry[T]], len(page.entries))
	for i := range entries {
		e, from := &entries[i], &page.entries[i]
		key := l.key(&from.value)
		if key.isOther && l.tier(r.Source) != TierOmega {
			l.otherSeen.Store(true)
		}
		e.ID, e.Start = key.id, key.start.UnixMilli()
		if problem := unplaced(e.ID, e.Start); problem != nil {
			if e.ID = ""; from.err == nil {
				page.fail(i, problem)
			}
		}
		e.Value.JSON = page.json(i)
		isTwin := func(o walk.Entry[Entry[T]]) bool {
			return e.ID != "" && o.ID == e.ID && o.Start == e.Start && !bytes.Equal(o.Value.JSON, e.Value.JSON)
		}
		if from.err == nil && slices.ContainsFunc(entries[:i], isTwin) {
			page.fail(i, &readError{err: errors.New("another entry of the page has its id and start time")})
		}
		if from.err == nil {
			e.Value.Value = &from.value
		} else {
			e.Err = from.err
		}
	}
	return entries
}

// unplaced returns why an entry cannot be placed among others, or nil if it can.
func unplaced(id string, start int64) *readError {
	switch {
	case id == "":
		return &readError{err: errors.New("an entry without an id cannot be distinguished from others")}
	case start <= 0:
		return &readError{field: "/start_time", err: errors.New("an entry without a start time cannot be placed")}
	}
	return nil
}

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

	interrupted error // that of a request that was canceled: it may name a failure before
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

// receive passes the pages that have arrived to the walk.
func (f *fetcher[T]) receive() {
	for len(f.results) > 0 {
		f.wait()
	}
}

// wait passes the next page that arrives to the walk.
func (f *fetcher[T]) wait() {
	result := <-f.results
	f.inFlight--
	if result.err != nil {
		if f.ctx.Err() != nil {
			f.interrupted = result.err
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

// canceled closes the fetcher, and returns the error of a loop whose context is done.
func (f *fetcher[T]) canceled(cause error) error {
	f.close()
	return cmp.Or(f.interrupted, fmt.Errorf("%v: %w", f.listing.op(), cause))
}
