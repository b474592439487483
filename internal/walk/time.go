package walk

import (
	"cmp"
	"math"
	"slices"
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
// request is from L + 1 ms, and the entries seen before are dropped. If that page shows
// nothing that starts before L, the request after it is from L. If all entries of a full page
// start at L, the listing cannot show whether there are more of them, and after these entries
// Take returns an entry with Ties.
//
// A segment ends when a page shows an entry that starts before its low; the low of the oldest
// segment is the since of [NewTime]. A segment also ends at an empty page, after it was
// checked, as described at emptyPage.
type Time[V any] struct {
	segments []*segment[V] // newest first
	position *Position     // after the entries taken
	known    Position      // an entry that the listing has shown: the last one taken with a start, or else the one given to NewTime
	pageSize int
	ahead    int // entries that may be ready
	ready    int // entries that are
	inFlight int // requests
	pages    int // that have come
}

// segment is a range of instants, and what was read of it.
type segment[V any] struct {
	ready     []Entry[V] // read and not taken, newest first
	low, high int64      // the instants that are to be read, none if low > high
	span      float64    // milliseconds of a page here; 0 if not known
	isSent    bool       // a request for it is in flight
	sent      Request    // that request
	empty     emptyPage  // what is known of its last page, if that was empty
	isLast    bool       // its last page had room for older entries, and showed none
	failed    error      // of its request
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
	w := &Time[V]{position: position, known: known, pageSize: pageSize, ahead: lookAhead * pageSize * requests}
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

// Next returns the page that is needed soonest: that of the latest instant. No page older than
// that of a failed request is requested. If many entries are ready, only the page that Take
// waits for is requested. At first one request may be in flight, and one more for each page
// that has arrived, so that a short walk sends few requests that it does not need.
func (w *Time[V]) Next() (Request, bool) {
	if w.inFlight > w.pages {
		return Request{}, false
	}
	var next, longest *segment[V]
	for i, s := range w.segments {
		isAwaited := i == 0 && len(s.ready) == 0
		if s.failed != nil || w.ready >= w.ahead && !isAwaited {
			break
		}
		// An empty page is requested again when everything above it was taken.
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
		return Request{}, false
	}
	next.isSent, next.sent = true, Request{From: next.high + 1, Pause: next.empty == emptyOnce}
	if w.isCheck(next) {
		next.sent.From = w.known.At + 1
	}
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
	if s.span == 0 || s.empty != notEmpty || s.isLast {
		return 0
	}
	return min((float64(s.high)-float64(s.low))/s.span, 2*stride)
}

// Learn processes the outcome of a request.
func (w *Time[V]) Learn(r Request, page []Entry[V], failed error) {
	w.inFlight--
	i := slices.IndexFunc(w.segments, func(s *segment[V]) bool { return s.isSent && s.sent == r })
	if i < 0 {
		return // the segment was joined with one above it
	}
	s := w.segments[i]
	if s.isSent, s.failed = false, failed; failed != nil {
		return
	}
	w.pages++
	isFull := len(page) >= w.pageSize
	page = slices.DeleteFunc(sortPage(page), func(e Entry[V]) bool { return e.Start >= r.From }) // a service may include them
	switch {
	case w.isCheck(s):
		w.confirm(s, page)
	case len(page) > 0:
		w.join(i, page[0].Start)
		w.add(s, page, isFull)
	default:
		w.join(i, math.MinInt64)
		w.learnEmpty(s)
	}
	w.dropTaken()
}

// join joins a segment with those below it that have no entries, if a page proves that they
// have none: its newest entry is older than the segment.
func (w *Time[V]) join(i int, newest int64) {
	s, below := w.segments[i], w.segments[i+1:]
	n := 0
	for n < len(below) && len(below[n].ready) == 0 && newest < s.low {
		s.low = below[n].low
		n++
	}
	w.segments = slices.Delete(w.segments, i+1, i+1+n)
}

// learnEmpty processes an empty page of a segment, as described at [emptyPage].
func (w *Time[V]) learnEmpty(s *segment[V]) {
	isOlderKnown := s != w.segments[len(w.segments)-1] || len(w.known.Seen) > 0 && w.known.At <= s.high
	switch {
	case s.empty == notEmpty && (isOlderKnown || !s.isLast):
		s.empty = emptyOnce
	case isOlderKnown:
		s.failed = ErrEmptied
	default:
		s.high = s.low - 1
	}
}

// confirm processes the page of the known entry.
func (w *Time[V]) confirm(s *segment[V], page []Entry[V]) {
	if slices.ContainsFunc(page, func(e Entry[V]) bool { return slices.Contains(w.known.Seen, e.ID) }) {
		s.empty = knownShown
	} else {
		s.failed = ErrEmptied
	}
}

// add adds the entries of a page to a segment, and lowers its upper end to the last instant
// of the page.
func (w *Time[V]) add(s *segment[V], page []Entry[V], isFull bool) {
	fresh := slices.DeleteFunc(slices.Clone(page), func(e Entry[V]) bool {
		isTaken := e.Start == w.position.At && slices.Contains(w.position.Seen, e.ID)
		return e.Start < s.low || e.Start == s.high && (isTaken || slices.ContainsFunc(s.ready, e.isSame))
	})
	s.ready = append(s.ready, fresh...)
	w.ready += len(fresh)
	if len(fresh) > 2 { // else most of the page is of another segment
		s.measure(fresh[0].Start, page, w.pageSize)
	}
	newest, oldest := page[0].Start, page[len(page)-1].Start
	isTie := isFull && newest == oldest && oldest >= s.low
	if isTie {
		s.ready = append(s.ready, Entry[V]{Start: oldest, Ties: len(page)})
		w.ready++
	}
	s.empty, s.isLast = notEmpty, oldest == s.high && !isFull
	switch {
	case oldest < s.low || !slices.ContainsFunc(page, func(e Entry[V]) bool { return !e.Unplaced }):
		s.high = s.low - 1
	case isTie || oldest == s.high: // nothing older came
		s.high = oldest - 1
	default:
		s.high = oldest
	}
}

// measure updates the segment's span from a page whose newest fresh entry starts at newest. From
// the second page on, the time between the segment's upper end and that entry counts too. For
// the first page it does not, because the segment may start long after the newest entry. A
// page weighs 30%, so that an unusual one is soon corrected by its neighbors.
func (s *segment[V]) measure(newest int64, page []Entry[V], pageSize int) {
	if s.span > 0 {
		newest = s.high
	}
	span := float64(newest-page[len(page)-1].Start) * float64(pageSize) / float64(len(page))
	s.span = max(1, 0.7*cmp.Or(s.span, span)+0.3*span)
}

// Take returns the next entry, or the error in its position. It reports false if the page with
// the next entry has not arrived yet.
func (w *Time[V]) Take() (e Entry[V], ok bool) {
	if len(w.segments) == 0 {
		return e, false
	}
	s := w.segments[0]
	if len(s.ready) == 0 {
		return Entry[V]{Start: s.high, Err: s.failed}, s.failed != nil
	}
	e, s.ready[0] = s.ready[0], Entry[V]{}
	s.ready = s.ready[1:]
	w.ready--
	w.dropTaken()
	switch {
	case e.Ties > 0: // the instant is read as far as the listing shows it
		*w.position = Position{At: e.Start, Seen: w.position.Seen, Tied: true}
		return e, true
	case e.Start < w.position.At:
		*w.position = Position{At: e.Start, Seen: []string{e.ID}}
	default:
		w.position.Seen = append(w.position.Seen, e.ID)
	}
	if !e.Unplaced {
		w.known = Position{At: e.Start, Seen: []string{e.ID}}
	}
	return e, true
}
