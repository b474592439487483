package walk

import (
	"cmp"
	"math"
	"slices"

	"github.com/horseracing-go/horseracing/internal/entry"
)

// Time walks a listing that is paged by start time, newest first: a page requested from T
// holds the latest entries that start before T.
//
// To have several requests in flight, the time that is to be read is cut into segments, of
// which each has one request in flight. A segment is read from its newest end to its oldest,
// page after page. Its entries are taken when all entries of newer segments were taken. At
// first there is one segment. If every segment has a request in flight, and one more is
// allowed, the longest segment is cut in two.
//
//	newest ────────────────────────────────────────────────────► oldest
//	[■■■■■■■■······][■■■■■■■···········][■■···········][·········
//	  ready   ▲ to be read (from high down to low)
//	          high
//
// A page requested from T whose earliest start is L proves that it holds every entry that
// starts after L and before T. The listing may have more entries that start at L, so the next
// request is from L + 1 ms, and the entries that were read before are dropped. If that page
// shows nothing that starts before L, the request after it is from L. If the newest entry of
// the page starts before the low of the segment, the segment has no further entries, and all
// segments between it and that entry are empty.
//
// If all entries of a full page start at L, the listing cannot show whether there are more of
// them, and after these entries Take returns an entry with Ties. A page is full if it has as many
// entries as the longest one so far, or ten. While all entries so far start at L, that is decided
// by the page from L: if it shows older entries, the page before it was full.
//
// If a page shows an entry that starts when it was requested from, the service includes that
// instant, and the page is requested again from one millisecond earlier.
//
// A segment ends when a page shows an entry that starts before its low; the low of the oldest
// segment is the since of [NewTime]. A segment also ends at an empty page, after it was
// checked, as described at emptyPage.
type Time[V any] struct {
	segments   []*segment[V] // newest first
	position   *Position     // after the entries taken
	known      Position      // the entry whose page is requested to check an empty page: the last one taken with a start, or else the one given to NewTime
	bound      int64         // from the latest instant of a page to its From: 1, or 0 if the service includes From
	pageSize   int           // the most entries of a page
	ahead      int           // how many entries may be ready before no more is requested ahead
	readyCount int           // entries that are ready, in all segments
	inFlight   int           // requests that were returned by Next, and whose outcome is not learned
	pages      int           // pages that have arrived
}

// segment is a range of instants, and what was read of it.
type segment[V any] struct {
	ready     []entry.Entry[V] // read and not taken, newest first
	low, high int64            // the instants that are to be read, none if low > high
	span      float64          // milliseconds of a page here; 0 if not known
	isSent    bool             // a request for it is in flight
	sent      PageRequest      // that request
	empty     emptyPage        // what is known of its last page, if that was empty
	doubt     int              // entries of its last page, if all start at high + 1, and the next page decides whether it was full
	failed    error            // of its request
	hadRoom   bool             // its page before an empty one was not full and showed no older entry, and no check has begun
}

const (
	lookAhead = 32 // pages for each request in flight that may be ready
	stride    = 12 // pages for which the density of the entries read is a fair estimate
	shortest  = 2  // pages of a segment that is cut
)

// NewTime returns a walk from a position to the entries that start at since, with at most the
// given number of requests in flight. The walk updates the position. If the position is not
// after an entry, known can be an entry that the listing has shown before; otherwise it is
// zero.
func NewTime[V any](since int64, position *Position, known Position, requests, pageSize int) *Time[V] {
	w := &Time[V]{position: position, known: known, bound: 1, pageSize: pageSize, ahead: lookAhead * pageSize * requests}
	if len(position.Seen) > 0 {
		w.known = *position
	}
	high := position.At
	if position.Tied {
		high--
	}
	w.segments = []*segment[V]{{low: since, high: high}}
	w.dropTaken()
	return w
}

// Done reports whether everything was taken.
func (w *Time[V]) Done() bool { return len(w.segments) == 0 }

// dropTaken drops the segments that are read and taken.
func (w *Time[V]) dropTaken() {
	w.segments = slices.DeleteFunc(w.segments, func(s *segment[V]) bool { return len(s.ready) == 0 && s.low > s.high })
}

// Next returns the page that is needed soonest: that of the latest instant. If each segment
// has a request in flight, the longest one is cut, and the page is that of its lower part. No
// page older than that of a failed request is requested. If many entries are ready, only the
// first segment is read or cut, and only while Take waits for it. At first one request may be
// in flight, and one more for each page that has arrived, so that a short walk sends few
// requests that it does not need.
func (w *Time[V]) Next() (PageRequest, bool) {
	if w.inFlight > w.pages {
		return PageRequest{}, false
	}
	var next, longest *segment[V]
	for i, s := range w.segments {
		isAwaited := i == 0 && len(s.ready) == 0
		if s.failed != nil || w.readyCount >= w.ahead && !isAwaited {
			break
		}
		if isAwaited && s.empty != notEmpty && w.inFlight > 0 {
			break // the pages in flight may show older entries
		}
		// An empty page is checked when everything above it was taken.
		if s.low <= s.high && !s.isSent && (s.empty == notEmpty || isAwaited) {
			next = s
			break
		}
		if pages := s.expected(); pages > shortest && (longest == nil || pages > longest.expected()) {
			longest = s
		}
	}
	if next == nil && longest != nil {
		next = w.cut(longest)
	}
	if next == nil {
		return PageRequest{}, false
	}
	latest := next.high
	if w.isCheck(next) {
		latest = w.known.At
	} else if next.empty == emptyTwice {
		latest = next.low - 1
	}
	next.isSent, next.sent = true, PageRequest{From: latest + w.bound, Pause: next.empty == emptyOnce}
	w.inFlight++
	return next.sent, true
}

// isCheck reports whether the next request for a segment checks that the known entry is shown.
func (w *Time[V]) isCheck(s *segment[V]) bool { return s.empty == emptyOnce && len(w.known.Seen) > 0 }

// cut cuts a segment in the middle, but at most stride pages below its upper end, and returns
// its lower part.
func (w *Time[V]) cut(s *segment[V]) *segment[V] {
	below := &segment[V]{low: s.low, high: s.high - int64(s.expected()/2*s.span), span: s.span}
	s.low = below.high + 1
	w.segments = slices.Insert(w.segments, slices.Index(w.segments, s)+1, below)
	return below
}

// expected returns for how many pages a segment is expected to have entries, at most twice
// stride, or 0 if that is not known.
func (s *segment[V]) expected() float64 {
	if s.span == 0 || s.empty != notEmpty || s.doubt > 0 {
		return 0
	}
	return min((float64(s.high)-float64(s.low))/s.span, 2*stride)
}

// Learn processes the outcome of a request.
func (w *Time[V]) Learn(r PageRequest, page []entry.Entry[V], failed error) {
	w.inFlight--
	rows := min(len(page), w.pageSize)
	page = sortPage(page)
	if shown := &w.position.Shown; rows > 0 {
		shown.Longest = max(shown.Longest, rows)
		shown.Newest = max(shown.Newest, page[0].Start)
		shown.Oldest = min(cmp.Or(shown.Oldest, page[0].Start), page[len(page)-1].Start)
	}
	i := slices.IndexFunc(w.segments, func(s *segment[V]) bool { return s.isSent && s.sent == r })
	if i >= 0 { // else the segment was joined with one above it
		if w.segments[i].isSent, w.segments[i].failed = false, failed; failed == nil {
			w.learn(i, page, rows)
		}
	}
	for _, s := range w.segments {
		s.hadRoom = s.hadRoom && failed == nil                    // a page that failed may have shown older entries
		if w.inFlight == 0 && s.hadRoom && s.empty == emptyOnce { // the pages that were in flight count, too
			s.empty = notEmpty
			w.learnEmpty(s, nil, false)
			s.hadRoom = false // what follows is the check
		}
	}
	w.dropTaken()
}

// learn processes a page of a segment.
func (w *Time[V]) learn(i int, page []entry.Entry[V], rows int) {
	s := w.segments[i]
	w.pages++
	isOfKnown := w.isCheck(s)
	switch {
	case isOfKnown || rows == 0 || s.empty == emptyTwice:
		if !isOfKnown {
			w.join(i, math.MinInt64)
		}
		s.hadRoom = s.empty == notEmpty && s.doubt > 0 && s.doubt < w.position.Shown.Longest
		w.learnEmpty(s, page, isOfKnown)
	case page[0].Start > s.high: // the service includes the instant that the page was requested from
		w.bound = 0
	default:
		w.join(i, page[0].Start)
		w.add(s, page, rows)
	}
}

// join joins a segment with those below it that have no entries, if a page proves that they
// have none: nothing starts between the page's newest entry and the segment's upper end. The
// segment takes over those below it, down to the one of that entry.
func (w *Time[V]) join(i int, newest int64) {
	s := w.segments[i]
	for i+1 < len(w.segments) && len(w.segments[i+1].ready) == 0 && newest < s.low {
		s.low = w.segments[i+1].low
		w.segments = slices.Delete(w.segments, i+1, i+2)
	}
}

// learnEmpty processes what a page shows about the empty page of a segment.
func (w *Time[V]) learnEmpty(s *segment[V], page []entry.Entry[V], isOfKnown bool) {
	s.empty, s.failed = s.empty.next(evidence{
		isOfKnown:    isOfKnown,
		showsKnown:   slices.ContainsFunc(page, func(e entry.Entry[V]) bool { return slices.Contains(w.known.Seen, e.ID) }),
		hadRoom:      s.hadRoom && w.inFlight == 0,
		isOlderShown: w.isOlderShown(s),
		hasSince:     s.low > 1,
	})
	if s.empty == isEnd {
		s.high = s.low - 1
	}
}

// isOlderShown reports whether the listing has shown an entry at or below the upper end of a segment.
func (w *Time[V]) isOlderShown(s *segment[V]) bool {
	shown := w.position.Shown
	return shown.Longest > 0 && shown.Oldest <= s.high || len(w.known.Seen) > 0 && w.known.At <= s.high
}

// add adds the entries of a page to a segment, and lowers its upper end to the last instant
// of the page.
func (w *Time[V]) add(s *segment[V], page []entry.Entry[V], rows int) {
	shown := w.position.Shown
	if s.doubt > 0 && s.doubt >= shown.Longest { // there are older entries, so that the page was full
		w.push(s, entry.Entry[V]{Start: s.high + 1, Ties: s.doubt})
	}
	fresh := slices.DeleteFunc(slices.Clone(page), func(e entry.Entry[V]) bool {
		isTaken := e.Start == w.position.At && slices.Contains(w.position.Seen, e.ID)
		return e.Start < s.low || e.Start == s.high && (isTaken || slices.ContainsFunc(s.ready, func(other entry.Entry[V]) bool { return isSame(e, other) }))
	})
	w.push(s, fresh...)
	if len(fresh) > 2 { // else most of the page is of another segment
		s.measure(fresh[0].Start, page, shown.Longest)
	}
	newest, oldest := page[0].Start, page[len(page)-1].Start
	isFull := rows == w.pageSize || rows >= shown.Longest && shown.Oldest < shown.Newest
	s.empty, s.doubt = notEmpty, 0
	switch {
	case oldest < s.low:
		s.high = s.low - 1
	case isFull && newest == oldest:
		w.push(s, entry.Entry[V]{Start: oldest, Ties: len(page)})
		s.high = oldest - 1
	case oldest == s.high: // the page shows no older entry
		s.high, s.doubt = oldest-1, len(page)
	default:
		s.high = oldest
	}
}

// push makes entries of a segment ready.
func (w *Time[V]) push(s *segment[V], entries ...entry.Entry[V]) {
	s.ready = append(s.ready, entries...)
	w.readyCount += len(entries)
}

// measure updates the segment's span from a page whose newest fresh entry starts at newest. From
// the second page on, the time between the segment's upper end and that entry counts too. For
// the first page it does not, because the segment may start long after the newest entry. A
// page weighs 30%, so that the pages after an unusual one soon correct it.
func (s *segment[V]) measure(newest int64, page []entry.Entry[V], pageSize int) {
	if s.span > 0 {
		newest = s.high
	}
	span := float64(newest-page[len(page)-1].Start) * float64(pageSize) / float64(len(page))
	s.span = max(1, 0.7*cmp.Or(s.span, span)+0.3*span)
}

// Take returns the next entry, or the error in its position. It reports false if the page with
// the next entry has not arrived yet.
func (w *Time[V]) Take() (e entry.Entry[V], ok bool) {
	if len(w.segments) == 0 {
		return e, false
	}
	s := w.segments[0]
	if len(s.ready) == 0 {
		return entry.Entry[V]{Start: s.high, Err: s.failed}, s.failed != nil
	}
	e, s.ready[0] = s.ready[0], entry.Entry[V]{}
	s.ready = s.ready[1:]
	w.readyCount--
	w.dropTaken()
	switch {
	case e.Ties > 0: // the instant is read as far as the listing shows it
		w.position.At, w.position.Tied = e.Start, true
	case e.Start < w.position.At:
		w.position.At, w.position.Seen, w.position.Tied = e.Start, []string{e.ID}, false
	default:
		w.position.Seen = append(w.position.Seen, e.ID)
	}
	if e.Ties == 0 && !e.NoStart {
		w.known = Position{At: e.Start, Seen: []string{e.ID}}
	}
	return e, true
}
