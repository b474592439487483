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
	"slices"
	"strconv"
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
	backend   *backend
	kind      cursorKind
	route     string
	byOffset  bool                                  // pages are requested by offset, not by start time
	place     func(*T) (start Timestamp, of TierID) // of an entry; the tier that it names, zero if that is not known
	hasResult func(*T) bool                         // reports whether an entry has its result, or is nil if every listed entry has one
	order     pace.Priority                         // priority of its requests
	tier      TierID                                // zero is the service's default, which no request names
}

func placeRace(r *Race) (start Timestamp, of TierID) {
	if r.Tier == TierNameOmega {
		of = TierOmega
	}
	return r.StartTime, of
}

func placeTournament(t *Tournament) (start Timestamp, of TierID) { return t.StartTime, t.Tier }

func (l *listing[T]) op() operation {
	return operation{method: http.MethodGet, route: l.route, order: l.order, isPatient: true}
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

// pageBody returns the body of a request for the page at an offset, or before an instant.
func (l *listing[T]) pageBody(at int64) pageBody {
	body := pageBody{Tier: l.tier}
	switch {
	case l.byOffset && at > 0:
		body.Offset = &at
	case !l.byOffset && at < walk.Latest:
		body.StartTimeFrom = &at
	}
	return body
}

// emptyDelay is after how long an empty page is requested again: a replica that lags shows
// none.
const emptyDelay = 200 * time.Millisecond

// page is the outcome of one page request.
type page[T any] struct {
	request walk.Request
	entries []walk.Entry[Entry[T]]
	at      int64 // when the service responded, in milliseconds; 0 if it did not
	err     error
}

// fetch requests one page.
func (l *listing[T]) fetch(ctx context.Context, r walk.Request) (p page[T]) {
	op := l.op()
	op.body, p.request = l.pageBody(r.At), r
	if r.Empty == walk.AskNewest {
		op.body = pageBody{Tier: l.tier}
	}
	if r.Empty == 1 && transport.Sleep(ctx, emptyDelay) != nil {
		p.err = fmt.Errorf("%v: %w", op, ctx.Err())
		return p
	}
	requested := time.Now()
	response, err := getEntries[T](ctx, l.backend, op, nil)
	if p.err = err; err != nil {
		return p
	}
	p.at = responseTime(response.record.Header, requested).UnixMilli()
	switch {
	case r.Empty != walk.AskNewest:
		p.entries, p.err = l.read(response, r.At)
	case len(response.entries) == 0:
		p.err = l.emptied()
	}
	return p
}

// emptied returns the error of a listing that has shown entries, and is empty as a whole.
func (l *listing[T]) emptied() error {
	return fmt.Errorf("%v: the listing is empty, although it was not before", l.op())
}

// read returns the entries of a page with their ids and starts. An entry that cannot be
// placed among others is an error, with its JSON for an id and the start of an entry beside
// it. Other pages may show it with another start.
func (l *listing[T]) read(response *list[T], at int64) (entries []walk.Entry[Entry[T]], err error) {
	tier, start, placed := l.tier.orDefault(), at-1, 0
	var problem *DecodeError
	for i := range slices.Backward(response.entries) {
		if s, _ := l.place(&response.entries[i].value); s.UnixMilli() > 0 {
			start = s.UnixMilli() // of the first entry that has one
		}
	}
	for i := range response.entries {
		from := &response.entries[i]
		starts, of := l.place(&from.value)
		if starts.UnixMilli() > 0 {
			start = starts.UnixMilli()
		}
		e := walk.Entry[Entry[T]]{ID: idOf(&from.value), Start: start, Adrift: starts.UnixMilli() <= 0, Value: Entry[T]{Tier: tier, JSON: from.json}}
		switch {
		case tier != TierOmega && of != 0 && of != tier:
			return nil, l.ignored(fmt.Sprintf("tier %d was requested, and an entry is of tier %d", tier, of))
		case !l.byOffset && start > at:
			return nil, l.ignored("an entry starts after start_time_from")
		case !l.byOffset && start == at: // of a service that includes the bound
			continue
		case e.ID != "" && !e.Adrift:
			placed++
		default:
			e.ID = unplacedMark + hashOf(string(from.json))
			if from.err == nil {
				response.fail(i, &readError{err: errors.New("an entry without an id or a start time cannot be placed")})
			}
			problem = from.err
		}
		if from.err != nil {
			e.Err = from.err
		} else {
			e.Value.Value = &from.value
		}
		entries = append(entries, e)
	}
	switch isFull := len(response.entries) >= pageSize; {
	case isFull && placed == 0 && problem != nil:
		whole := problem.ofResponse("")
		whole.Raw, whole.Err = nil, fmt.Errorf("no entry of the page can be placed in the listing: %w", whole.Err)
		return nil, whole
	case isFull && len(entries) == 0:
		return nil, l.ignored("a whole page of entries starts at start_time_from")
	}
	return entries, nil
}

// ignored returns the error of a response that does not fit its request.
func (l *listing[T]) ignored(how string) error {
	return fmt.Errorf("%v: %w: %s; a proxy or cache drops the bodies of GET requests, or responds with another request's response", l.op(), ErrBodyIgnored, how)
}

// unplacedMark begins the id of an entry that cannot be placed. No other id has it.
const unplacedMark = "\x00"

// hashOf returns a short text that tells a text from others.
func hashOf(text string) string {
	hash := sha256.Sum256([]byte(text))
	return strconv.FormatUint(binary.BigEndian.Uint64(hash[:]), 36)
}

// fetcher requests the pages that a walk needs, several at once, and passes them to it.
type fetcher[T any] struct {
	listing  *listing[T]
	walk     walk.Walk[Entry[T]]
	ctx      context.Context
	pages    chan page[T] // as many as may be in flight
	inFlight int
	canceled error // of a request that was canceled: it may name a failure before
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
			result := page[T]{request: r, err: fmt.Errorf("%v: %w", f.listing.op(), errAborted)}
			defer func() { f.pages <- result }()
			result = f.listing.fetch(f.ctx, r)
		}()
	}
}

// wait passes the next page that arrives to the walk, and returns when it was sent.
func (f *fetcher[T]) wait() (at int64) {
	result := <-f.pages
	f.inFlight--
	if f.ctx.Err() != nil {
		f.canceled = cmp.Or(result.err, f.canceled)
	}
	f.walk.Learn(result.request, result.entries, result.err)
	return result.at
}
