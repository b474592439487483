package horseracing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// Entry is an entry of a listing, with its JSON.
type Entry[T any] struct {
	Value *T              // nil if there is an error
	Tier  TierID          // the tier whose listing contains it
	JSON  json.RawMessage // the entry as received, not redacted, or nil if the error is not about one entry
}

// listing describes a paged listing to its pager.
type listing[T any] struct {
	backend   *backend
	kind      cursorKind
	route     string
	byOffset  bool                                    // pages are requested by offset, not by start time
	place     func(*T) (start Timestamp, tier TierID) // of an entry; the tier that it names, zero if that is not known
	isPending func(*T) bool                           // reports whether an entry is listed before it has its result, or is nil if none is
	order     pace.Priority                           // priority of its requests
	tier      TierID                                  // zero is the service's default, which no request names
}

// listed is an entry of a listing, or an error in its position, as a walk yields it.
type listed[T any] = walk.Entry[*T]

func placeRace(r *Race) (start Timestamp, tier TierID) {
	if r.Tier == TierNameOmega {
		tier = TierOmega
	}
	return r.StartTime, tier
}

func placeTournament(t *Tournament) (start Timestamp, tier TierID) { return t.StartTime, t.Tier }

func (l *listing[T]) op() operation {
	return operation{method: http.MethodGet, route: l.route, priority: l.order, isPage: true}
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

// pageBody is the body of a page request. The service has defaults for absent members.
type pageBody struct {
	Tier          TierID `json:"tier,omitzero"`
	StartTimeFrom *int64 `json:"start_time_from,omitzero"`
	Offset        *int64 `json:"offset,omitzero"`
}

func (l *listing[T]) pageBody(r walk.Request) pageBody {
	body := pageBody{Tier: l.tier}
	switch {
	case l.byOffset && r.From > 0:
		body.Offset = &r.From
	case !l.byOffset && !r.Newest():
		body.StartTimeFrom = &r.From
	}
	return body
}

// pageRetries is how often a page is retried by default: about half a minute. A walk of hours
// is not to end because of a short failure.
const pageRetries = 10

// page is the outcome of one page request.
type page[T any] struct {
	request walk.Request
	entries []listed[T]
	err     error
}

// fetch requests one page.
func (l *listing[T]) fetch(ctx context.Context, r walk.Request) (p page[T]) {
	op := l.op()
	op.body, p.request = l.pageBody(r), r
	if r.Pause && sleep(ctx, emptyDelay) != nil {
		p.err = fmt.Errorf("%v: %w", op, ctx.Err())
		return p
	}
	response, err := getEntries[T](ctx, l.backend, op, []CallOption{CallRetry(Retry{Max: l.backend.pageRetries})})
	if p.err = err; err != nil {
		return p
	}
	p.entries, p.err = l.read(response, r.From)
	return p
}

// read returns the entries of a page with their ids and starts. An entry that lacks one of them
// is an error, with its JSON for an id. One without a start gets the newest start of the page: it
// comes first, so that no position after another entry of the page leaves it out.
//
// A page by time is an error as a whole if none of its entries has a start: it does not show
// where the next page begins. A page of ten is one, too, if no entry has both an id and a start:
// then the listing has another form, and ten errors would say no more.
func (l *listing[T]) read(response *list[T], from int64) (entries []listed[T], err error) {
	newest, hasPosition, hasStart := l.newestStart(response), false, false
	var problem *DecodeError
	for i := range response.entries {
		e := &response.entries[i]
		at, tier := l.place(&e.value)
		start, noStart := at.UnixMilli(), at.UnixMilli() <= 0
		if noStart {
			start = newest
		}
		hasStart = hasStart || !noStart
		if err := l.checkBody(start, tier, from); err != nil {
			return nil, err
		}
		id := idOf(&e.value)
		if id == "" || noStart {
			id = noIDMark + hashOf(string(e.json))
			if e.err == nil {
				response.fail(i, &readError{err: errors.New("an entry without an id or a start time has no position in the listing")})
			}
			problem = e.err
		} else {
			hasPosition = true
		}
		if len(id) > maxID {
			id = noIDMark + hashOf(id)
		}
		entry := listed[T]{ID: id, Start: start, NoStart: noStart, JSON: e.json}
		if e.err != nil {
			entry.Err = e.err
		} else {
			entry.Value = &e.value
		}
		entries = append(entries, entry)
	}
	if len(entries) >= pageSize && !hasPosition || !l.byOffset && len(entries) > 0 && !hasStart {
		whole := problem.ofResponse("")
		whole.Raw, whole.Err = nil, fmt.Errorf("no entry of the page has a position in the listing: %w", whole.Err)
		return nil, whole
	}
	return entries, nil
}

// newestStart returns the newest start of a page.
func (l *listing[T]) newestStart(response *list[T]) (newest int64) {
	for i := range response.entries {
		start, _ := l.place(&response.entries[i].value)
		newest = max(newest, start.UnixMilli())
	}
	return newest
}

// checkBody returns an error if an entry shows that the body of the request was ignored. A request
// that names no tier is for the default one, which the service perhaps does not have.
func (l *listing[T]) checkBody(start int64, tier TierID, from int64) error {
	switch requested := l.tier.orDefault(); {
	case tier != 0 && tier != requested && l.tier == 0:
		return l.ignored(fmt.Sprintf("the query names no tier, and an entry is of tier %d instead of the default %d: name a tier", tier, requested))
	case tier != 0 && tier != requested:
		return l.ignored(fmt.Sprintf("tier %d was requested, and an entry is of tier %d", requested, tier))
	case !l.byOffset && start > from:
		return l.ignored("an entry starts after start_time_from")
	}
	return nil
}

// ignored returns the error of a response that does not fit its request.
func (l *listing[T]) ignored(how string) error {
	return fmt.Errorf("%v: %w: %s; a proxy or cache drops the bodies of GET requests, or responds with another request's response", l.op(), ErrBodyIgnored, how)
}

// emptied returns the error of a listing that has shown entries, and is empty as a whole.
func (l *listing[T]) emptied() error {
	return &DecodeError{Method: http.MethodGet, Route: l.route, Err: walk.ErrEmptied}
}

// noIDMark begins the id that stands for one that is missing, or longer than maxID bytes: a cursor
// contains some, and is at most maxCursorText long. No other id has it.
const (
	noIDMark = "\x00"
	maxID    = 64
)

// hashOf returns a short text that distinguishes a text from others.
func hashOf(text string) string {
	hash := sha256.Sum256([]byte(text))
	return strconv.FormatUint(binary.BigEndian.Uint64(hash[:]), 36)
}

// fetcher requests the pages that a walk needs, several at once. One goroutine uses it.
type fetcher[T any] struct {
	pager    *Pager[T]
	walk     walk.Walk[*T]
	ctx      context.Context // of its requests
	cancel   context.CancelFunc
	pages    chan page[T] // as many as may be in flight
	inFlight int
	canceled error // of a request that was canceled: it may name a failure before
}

// next returns the next entry, or the error in its position. It reports false at the end.
func (f *fetcher[T]) next() (listed[T], bool) {
	for {
		for len(f.pages) > 0 {
			f.wait()
		}
		if f.walk.Done() { // also if the last page came while the caller was at work
			return listed[T]{}, false
		}
		if err := f.ctx.Err(); err != nil {
			f.end()
			return listed[T]{Err: cmp.Or(f.canceled, fmt.Errorf("%v: %w", f.pager.listing.op(), err))}, true
		}
		if cap(f.pages) > 1 { // fetch ahead, also while the caller is at work
			f.fill()
		}
		if e, ok := f.walk.Take(); ok {
			return e, true
		}
		f.fill()
		f.wait()
	}
}

// fill requests the pages that the walk needs now.
func (f *fetcher[T]) fill() {
	for f.inFlight < cap(f.pages) {
		r, ok := f.walk.Next()
		if !ok {
			return
		}
		f.inFlight++
		go func() {
			result := page[T]{request: r, err: fmt.Errorf("%v: %w", f.pager.listing.op(), errAborted)}
			defer func() { f.pages <- result }()
			result = f.pager.listing.fetch(f.ctx, r)
		}()
	}
}

// wait passes the next page that arrives to the walk.
func (f *fetcher[T]) wait() {
	result := <-f.pages
	f.inFlight--
	if f.ctx.Err() != nil {
		f.canceled = cmp.Or(result.err, f.canceled)
	}
	f.walk.Learn(result.request, result.entries, result.err)
}

// end cancels the requests in flight, and waits until none is.
func (f *fetcher[T]) end() {
	for f.cancel(); f.inFlight > 0; {
		f.wait()
	}
}
