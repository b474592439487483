package walk

import (
	"math"
	"slices"
)

// Time walks a listing that is paged by start time: a page requested from T holds
// the latest entries that start before T.
//
// What was read is kept in segments, newest first. A segment is a run of
// consecutive entries and the gap below it: the instants from low to high, of
// which entries may be missing.
//
//	newest ──────────────────────────────────────────────────────────► oldest
//	 entries    gap      entries   gap     entries      gap
//	[■■■■■■■■]··········[■■■■]············[■■■]···················· (since)
//	        high      low    high       low   high              low
//
// A page requested from T whose lowest start is L holds every entry in (L, T).
// More entries that start at L may be beyond the page's edge, so L stays in the
// gap, with the ids seen at L: the next request, from L + 1 ms, returns that
// instant again, and the entries seen before are dropped. A page requested from
// inside a gap splits it in two. A page that reaches the gap's low end closes it.
//
// If a page holds nothing older than the instant it was requested for, the next
// request excludes that instant; only an empty page is the end. A whole page of
// entries with one start leaves a [TieError] between the entries, and the walk
// continues after it. Entries that cannot be placed precede the others of their
// page. A page of such entries alone is an [UnplacedError], because nothing shows
// where the listing continues; a short one is the end of the listing.
//
// With one slot, only the top gap is read. With several (see Next), guesses open
// gaps further down, which are read from their own upper ends. The error of a
// request stays in the gap that the request was for. It is yielded after
// everything above it, and after every page in flight that may hold entries
// above it.
type Time[V any] struct {
	pageSize int
	slots    int
	segments []*segment[V]  // newest first
	inFlight map[int64]bool // requests without a response; the value is true for a guess
	guesses  int            // how many guesses may be in flight: fewer if they bring little
	position Position       // after the entries taken
	empty    int64          // a guess showed no entry below it
}

const (
	lookAhead    = 32 // pages per slot that may wait to be taken before reading ahead pauses
	firstGuesses = 9  // in flight at first: the service may ignore start_time_from
)

type segment[V any] struct {
	ready  []Entry[V] // newest first
	seen   []string   // ids that were read at the instant high
	low    int64      // the gap is the instants low to high, none if low > high
	high   int64
	span   float64 // milliseconds that a page spans around here; 0 if not measured
	failed error   // of the request for the gap
	isLast bool    // the page above the gap had room for older entries, and showed none
}

func (s *segment[V]) open() bool { return s.low <= s.high }

// NewTime returns a walk over the entries from a position down to those that
// start at since, with up to slots requests in flight. A page holds up to
// pageSize entries.
func NewTime[V any](since int64, from Position, slots, pageSize int) *Time[V] {
	w := &Time[V]{pageSize: pageSize, slots: slots, inFlight: map[int64]bool{}, position: from}
	w.segments = []*segment[V]{{low: since, high: from.At, seen: slices.Clone(from.Seen)}}
	w.dropEmpty()
	w.Restart()
	return w
}

// Done reports whether everything was taken.
func (w *Time[V]) Done() bool { return len(w.segments) == 0 }

// Peek returns the next entry, or the error in its position; see [Walker].
func (w *Time[V]) Peek() (Entry[V], bool) {
	if w.Done() {
		return Entry[V]{}, false
	}
	switch s := w.segments[0]; {
	case len(s.ready) > 0:
		return s.ready[0], true
	case s.failed != nil && !w.awaits(s.high):
		return Entry[V]{Start: s.high, Err: s.failed}, true
	}
	return Entry[V]{}, false
}

// awaits reports whether a page in flight may hold entries that start at high:
// an error there comes after them.
func (w *Time[V]) awaits(high int64) bool {
	for at := range w.inFlight {
		if at > high {
			return true
		}
	}
	return false
}

// Take moves past the entry that Peek returns, unless that is a request's error.
func (w *Time[V]) Take() {
	s := w.segments[0]
	if len(s.ready) == 0 {
		return
	}
	w.position = s.ready[0].after
	s.ready[0] = Entry[V]{}
	s.ready = s.ready[1:]
	w.dropEmpty()
}

// lower lowers the position to a start above which no entry waits.
func (w *Time[V]) lower(start int64) {
	if w.position.At > start {
		shown, _ := w.position.shown()
		w.position = Position{At: start, Newest: shown}
	}
}

// dropEmpty drops the segments that hold nothing any more.
func (w *Time[V]) dropEmpty() {
	w.segments = slices.DeleteFunc(w.segments, func(s *segment[V]) bool { return len(s.ready) == 0 && !s.open() })
}

// Restart forgets the errors of requests; see [Walker].
func (w *Time[V]) Restart() {
	for _, s := range w.segments {
		s.failed = nil
	}
	w.guesses = min(w.slots-1, firstGuesses)
}

// frontier returns the start down to which everything was read.
func (w *Time[V]) frontier() int64 {
	for _, s := range w.segments {
		if s.open() {
			return s.high
		}
	}
	return math.MinInt64
}

// waiting returns the number of entries that were read and not taken yet.
func (w *Time[V]) waiting() (n int) {
	for _, s := range w.segments {
		n += len(s.ready)
	}
	return n
}

// Fail records the error of the request from at.
func (w *Time[V]) Fail(at int64, err error) {
	delete(w.inFlight, at)
	w.guesses = 0
	if s := w.gapFrom(at); s != nil { // else another page has closed the gap in the meantime
		s.failed = err
	}
}

// gapFrom returns the topmost segment of whose gap a page requested from at can
// hold entries, or nil if there is none. A gap that contains at is split there.
func (w *Time[V]) gapFrom(at int64) *segment[V] {
	i := slices.IndexFunc(w.segments, func(s *segment[V]) bool { return s.open() && s.low < at })
	if i < 0 {
		return nil
	}
	s := w.segments[i]
	if at <= s.high {
		below := &segment[V]{low: s.low, high: at - 1, span: s.span}
		s.low = at
		w.segments = slices.Insert(w.segments, i+1, below)
		return below
	}
	return s
}

// Learn processes the page that was requested from at.
func (w *Time[V]) Learn(at int64, page []Entry[V]) {
	placed, unplaced := sortPage(page)
	isFull := len(page) >= w.pageSize
	if err := w.mismatch(at, placed, unplaced, isFull); err != nil {
		w.Fail(at, err)
		return
	}
	placed = slices.DeleteFunc(placed, func(e Entry[V]) bool { return e.Start == at }) // of a service that includes the bound
	isGuess := w.inFlight[at]
	delete(w.inFlight, at)
	if isGuess && len(page) == 0 { // it proves nothing: it was requested once
		w.empty, w.guesses = max(w.empty, at), max(1, w.guesses-3)
		return
	}
	s, bottom := w.gapFrom(at), int64(math.MinInt64)
	if len(placed) > 0 {
		bottom = placed[len(placed)-1].Start
	}
	if s == nil || bottom > s.high {
		return // other pages have shown all of it
	}
	fresh := slices.DeleteFunc(slices.Clone(placed), s.wasRead)
	w.measure(s, placed, len(fresh), isGuess)
	s.append(fresh, unplaced, bottom)
	w.readEdge(s, at, bottom, placed, isFull)
	w.dropEmpty()
}

// mismatch returns why a page that was requested from at cannot be used, or nil.
func (w *Time[V]) mismatch(at int64, placed, unplaced []Entry[V], isFull bool) error {
	switch {
	case len(placed) > 0 && placed[0].Start > at:
		return IgnoredError("an entry starts after start_time_from")
	case len(placed) > 0 && placed[len(placed)-1].Start == at && isFull:
		return IgnoredError("a whole page of entries starts at start_time_from")
	case len(placed) == 0 && len(unplaced) >= w.pageSize:
		return &UnplacedError{First: unplaced[0].Err}
	}
	return nil
}

// append adds the entries of a page. Those that cannot be placed come first: a walk that
// resumes after them reads the page again, and one that resumes further down does not.
func (s *segment[V]) append(fresh, unplaced []Entry[V], bottom int64) {
	p, top := Position{At: s.high, Seen: slices.Clone(s.seen)}, s.high
	if len(fresh) > 0 {
		top = fresh[0].Start
	} else if bottom > math.MinInt64 {
		top = max(bottom, s.low)
	}
	for _, e := range unplaced {
		e.Start, e.after = top, p
		s.ready = append(s.ready, e)
	}
	for _, e := range fresh {
		if e.Start != p.At {
			p = Position{At: e.Start}
		}
		p.Seen = append(p.Seen, e.ID)
		e.after = p
		s.ready = append(s.ready, e)
	}
}

// wasRead reports whether an entry is outside the gap, or was seen at its upper end.
func (s *segment[V]) wasRead(e Entry[V]) bool {
	return e.Start < s.low || e.Start > s.high || e.Start == s.high && slices.Contains(s.seen, e.ID)
}

// readEdge lowers the upper end of the gap of s to bottom, the last instant of a page
// requested from at.
func (w *Time[V]) readEdge(s *segment[V], at, bottom int64, page []Entry[V], isFull bool) {
	if bottom < s.low {
		s.high = s.low - 1
		return
	}
	if bottom < s.high {
		s.seen = nil
	}
	s.high = bottom
	for _, e := range page {
		if e.Start == bottom && !slices.Contains(s.seen, e.ID) {
			s.seen = append(s.seen, e.ID)
		}
	}
	isTie := isFull && page[0].Start == bottom
	if isTie {
		s.ready = append(s.ready, Entry[V]{Start: bottom, after: Position{At: bottom - 1, Newest: bottom}, Err: &TieError{Start: bottom, Seen: len(s.seen)}})
	}
	if isTie || bottom == at-1 { // no older entry: the next request excludes the instant
		s.high, s.seen, s.isLast = bottom-1, nil, !isFull
	}
}

// acceptsEmpty reports whether the page from at is not requested again if it is empty: a guess,
// or one where the end is expected.
func (w *Time[V]) acceptsEmpty(at int64) bool {
	return w.inFlight[at] || slices.ContainsFunc(w.segments, func(s *segment[V]) bool { return s.isLast && s.high+1 == at })
}
