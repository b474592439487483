package horseracing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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
	backend *backend
	kind    cursorKind
	route   string
	key     func(*T) entryKey

	order     pace.Rank       // priority of its requests, or zero for that of walks
	trusted   int64           // an empty page requested from this instant on is believed at once, unless zero
	responded func(time.Time) // called with the service's time of each response, unless nil
	tiers     []TierID        // sorted, where zero is the service's default, which no request names
	patience  *transport.Patience
}

// entryKey determines the position of an entry in a listing.
type entryKey struct {
	start Timestamp
	id    string // empty if the entry has none
	omega bool   // its tier is Omega
}

func raceKey(r *Race) entryKey {
	return entryKey{r.StartTime, idOf(r), r.Tier == TierNameOmega}
}

func tournamentKey(t *Tournament) entryKey {
	return entryKey{t.StartTime, idOf(t), t.Tier == TierOmega}
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
	switch isOffset := l.kind == cursorRacesV1; {
	case isOffset && r.At > 0:
		body.Offset = &r.At
	case !isOffset && r.At < walk.Latest:
		body.StartTimeFrom = &r.At
	}
	return body
}

// emptyDelay is when an empty page is requested again: a replica that lags shows none.
const emptyDelay = 200 * time.Millisecond

// doubts reports whether an empty page is requested again. By offset the walk itself
// steps back from an empty page, except the first.
func (l *listing[T]) doubts(r walk.Request) bool {
	if l.kind == cursorRacesV1 {
		return r.At == 0
	}
	return l.trusted == 0 || r.At < l.trusted
}

// fetch requests one page, and an empty one twice. An entry that does not fit the request is an error.
func (l *listing[T]) fetch(ctx context.Context, r walk.Request) ([]walk.Entry[Entry[T]], error) {
	op, body := l.op(), l.pageBody(r)
	op.body, op.order, op.patience = body, cmp.Or(l.order, pace.Walk), l.patience
	requested := time.Now()
	page, err := getEntries[T](ctx, l.backend, op, nil)
	if err == nil && len(page.entries) == 0 && l.doubts(r) {
		if transport.Sleep(ctx, emptyDelay) != nil {
			return nil, fmt.Errorf("%v: %w", op, ctx.Err())
		}
		page, err = getEntries[T](ctx, l.backend, op, nil)
	}
	if err != nil {
		return nil, err
	}
	if l.responded != nil {
		l.responded(responseTime(page.record.Header, requested))
	}
	newest := int64(0)
	if body.StartTimeFrom != nil {
		newest = *body.StartTimeFrom
	}
	entries := make([]walk.Entry[Entry[T]], len(page.entries))
	for i := range entries {
		key := l.key(&page.entries[i].value)
		if tier := l.tier(r.Source); key.omega && tier != TierOmega {
			return nil, walk.IgnoredError(fmt.Sprintf("requested tier %d, got tier %d (Omega)", tier, TierOmega))
		}
		entries[i].ID, entries[i].Start = key.id, key.start.UnixMilli()
		newest = max(newest, entries[i].Start)
	}
	for i := range entries {
		e, from := &entries[i], &page.entries[i]
		if problem := unplaced(e.ID, e.Start, newest); problem != nil {
			if e.ID = ""; from.err == nil {
				page.fail(i, problem)
			}
		}
		e.Value.JSON = page.json(i)
		if from.err == nil {
			e.Value.Value = &from.value
		} else {
			e.Err = from.err
		}
	}
	return entries, nil
}

// unplaced returns why an entry cannot be placed among others, of which newest is
// the latest start, or nil if it can.
func unplaced(id string, start, newest int64) *readError {
	const modern = 1e11 // the year 1973 in milliseconds; a start in seconds is a thousandth of it
	switch {
	case id == "":
		return &readError{err: errors.New("an entry without an id cannot be distinguished from others")}
	case start <= 0:
		return &readError{field: "/start_time", err: errors.New("an entry without a start time cannot be placed")}
	case newest >= modern && newest/2000 <= start && start <= newest/500:
		return &readError{field: "/start_time", err: fmt.Errorf("the start time %d, in seconds, cannot be placed among others in milliseconds", start)}
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
