package walk

import (
	"cmp"
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
// More entries that start at L may lie beyond the page's edge, so L stays in the
// gap, with the ids seen at L: the next request, from L + 1 ms, returns that
// instant again, and the entries seen before are dropped. A page requested from
// inside a gap splits it in two. A page that reaches the gap's low end closes
// it. The entries above the topmost gap are ready to be taken.
//
// If a page holds nothing older than the instant it was requested for, the next
// request excludes that instant; only an empty page is the end. A whole page of
// entries with one start leaves a [TieError] between the entries, and the walk
// goes on behind it.
//
// With one slot, only the top gap is read. With several (see Next), probes open
// gaps further down, which are read from their own upper ends. The error of a
// request stays in the gap that the request was for. It is taken after everything
// above it, and after every page in flight that may hold entries above it.
type Time[V any] struct {
	pageSize int
	slots    int
	segments []*segment[V]  // newest first; never empty
	inFlight map[int64]bool // requests without a response; true: a guess
	newest   int64          // the latest start seen
	longest  int            // entries of the longest page with two instants or more
	batch    *batch         // the page of the entry taken last; see unplaced.go
	carried  []carried
	unplaced unplaced // the last entries without a place that were read
	proven   bool     // a page has proved that the service heeds start_time_from
	unproven int      // requests made before that
	guesses  int      // how many guesses may be in flight: fewer where they bring little
	begin    int64    // the instant of the first request
	exact    bool     // a page has proved that the service reads milliseconds; see seconds.go
	seconds  bool     // pages have proved that it rounds to whole seconds
	position *Position
}

type segment[V any] struct {
	ready     []Entry[V] // newest first
	seen      []uint64   // ids that were read at the instant high
	low       int64      // the gap: the instants low to high, none if low > high
	high      int64
	tie       *tie    // the page above the gap was one instant; the next page shows whether it was cut
	span      float64 // milliseconds that a page spans around here; 0: not measured
	failed    error   // of the request for the gap
	requested int64   // the value of low if the service reads milliseconds
	doubt     bool    // the service may have rounded the request for the gap
}

// tie is an instant that filled a whole page, of length entries.
type tie struct {
	TieError
	length int
}

func (s *segment[V]) open() bool { return s.low <= s.high }

// Latest as an instant stands for the service's own now, which it uses if a
// request names none. Earliest is before everything.
const (
	Latest   = math.MaxInt64
	Earliest = math.MinInt64 + 1
)

// NewTime returns a walk over the entries that start in [since, before),
// beginning at resume unless that is nil, with up to slots requests in flight. A
// page holds up to pageSize entries.
func NewTime[V any](since, before int64, resume *Position, slots, pageSize int) *Time[V] {
	top := &segment[V]{low: since, high: before - 1}
	w := &Time[V]{
		pageSize: pageSize, slots: slots, segments: []*segment[V]{top}, inFlight: map[int64]bool{},
		newest: math.MinInt64, guesses: slots,
	}
	if resume != nil {
		w.position = &Position{At: resume.At, Seen: slices.Clone(resume.Seen)}
		for _, id := range resume.Seen {
			w.unplaced.add(id)
			w.carry(id)
		}
		if resume.At < before {
			top.high, top.seen = resume.At, resume.Seen
		}
	}
	w.begin = top.high + 1
	return w
}

// Position implements [Walker].
func (w *Time[V]) Position() *Position {
	if w.position == nil {
		return nil
	}
	p := *w.position
	p.Seen = slices.Clone(p.Seen)
	for _, c := range w.carried {
		if !slices.Contains(p.Seen, c.id) {
			p.Seen = append(p.Seen, c.id)
		}
	}
	return &p
}

// Done implements [Walker].
func (w *Time[V]) Done() bool {
	w.trim()
	s := w.segments[0]
	return len(w.segments) == 1 && len(s.ready) == 0 && !s.open()
}

// trim drops segments at the top that hold nothing any more.
func (w *Time[V]) trim() {
	for len(w.segments) > 1 && len(w.segments[0].ready) == 0 && !w.segments[0].open() {
		w.segments = w.segments[1:]
	}
}

// Peek implements [Walker].
func (w *Time[V]) Peek() (Entry[V], bool) {
	w.trim()
	switch s := w.segments[0]; {
	case len(s.ready) > 0:
		return s.ready[0], true
	case s.failed != nil && !w.awaits(s.high):
		return Entry[V]{Start: s.high, Err: s.failed}, true
	}
	return Entry[V]{}, false
}

// Frontier implements [Walker].
func (w *Time[V]) Frontier() int64 {
	for _, s := range w.segments {
		if s.open() {
			return s.high
		}
	}
	return math.MinInt64
}

// Take implements [Walker].
func (w *Time[V]) Take() (Entry[V], bool) {
	e, ok := w.Peek()
	s := w.segments[0]
	if len(s.ready) == 0 {
		return e, ok
	}
	s.ready[0] = Entry[V]{}
	s.ready = s.ready[1:]
	for i := len(w.carried) - 1; i >= 0; i-- {
		if w.carried[i].left--; w.carried[i].left == 0 {
			w.carried = slices.Delete(w.carried, i, i+1)
		}
	}
	if e.Unplaced {
		w.carry(e.ID)
	}
	if w.position == nil {
		w.position = &Position{At: Latest}
	}
	if b := e.batch; b != nil {
		if b.left--; b.left == 0 {
			w.position, w.batch = &b.after, nil
			return e, true
		}
		if w.batch != b {
			w.position, w.batch = &b.before, b
		}
		w.position.Seen = append(w.position.Seen, e.ID)
		return e, true
	}
	at := e.Start
	if e.Err != nil { // a tie: the walk goes on behind the instant
		at--
	}
	if at != w.position.At {
		w.position.At, w.position.Seen = at, w.position.Seen[:0]
	}
	if e.Err == nil {
		w.position.Seen = append(w.position.Seen, e.ID)
	}
	return e, true
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

// Restart implements [Walker].
func (w *Time[V]) Restart() {
	for _, s := range w.segments {
		s.failed = nil
	}
	w.unproven = 0
}

// Fail implements [Walker].
func (w *Time[V]) Fail(at int64, err error) {
	delete(w.inFlight, at)
	i := w.gapFor(at)
	if i < 0 {
		return // another page has closed the gap in the meantime
	}
	s := w.segments[i]
	if at-1 < s.high { // requested from inside the gap: the part above has not failed
		if !w.exact {
			if at = second(at); at <= s.low {
				return // no page from a whole second begins here
			}
		}
		below := &segment[V]{low: s.low, requested: s.requested, high: at - 1, span: s.span}
		s.low = at
		w.segments = slices.Insert(w.segments, i+1, below)
		s = below
	}
	s.failed = err
}

// gapFor returns the index of the topmost segment whose gap a page requested from
// at can hold entries of; -1: there is none.
func (w *Time[V]) gapFor(at int64) int {
	return slices.IndexFunc(w.segments, func(s *segment[V]) bool { return s.open() && s.low < at })
}

// Learn implements [Walker].
func (w *Time[V]) Learn(at int64, page []Entry[V]) {
	length := len(page)
	page, unplaced := unplacedOf(page)
	slices.SortFunc(page, func(a, b Entry[V]) int {
		return cmp.Or(cmp.Compare(b.Start, a.Start), cmp.Compare(b.ID, a.ID))
	})
	page = slices.CompactFunc(page, func(a, b Entry[V]) bool { return a.Start == b.Start && a.ID == b.ID })
	bottom := int64(math.MinInt64)
	if len(page) > 0 {
		bottom = page[len(page)-1].Start
		if page[0].Start >= at {
			w.Fail(at, Ignored("an entry starts at or after start_time_from"))
			return
		}
		w.newest = max(w.newest, page[0].Start)
		if page[0].Start != bottom {
			w.longest = max(w.longest, length)
		}
	}
	unplaced = slices.DeleteFunc(unplaced, func(e Entry[V]) bool { return w.unplaced.has(e.ID) })
	// A short page is the end of the listing. A resumed walk goes on within one.
	isShort := length < w.longest || length < w.pageSize && len(unplaced) < length
	if len(page) == 0 && len(unplaced) > 0 && !isShort {
		w.Fail(at, &UnplacedError[V]{First: unplaced[0]})
		return
	}
	guess := w.inFlight[at]
	delete(w.inFlight, at)
	w.proven = w.proven || at <= w.newest
	requested := at
	at = w.servedFrom(at, page)
	i := w.gapFor(at)
	if i < 0 || bottom > w.segments[i].high {
		w.passSecond(at, bottom, length)
		return // other pages have shown all of it
	}

	s := w.segments[i]
	w.checkDoubt(s, page)
	fresh := s.fresh(page)
	little := 10*len(fresh) < 3*w.pageSize
	if !little { // else most of the page lies elsewhere
		s.measure(page, w.pageSize)
	}
	switch {
	case guess && little:
		w.guesses = max(1, w.guesses-3)
	case guess:
		w.guesses = min(w.slots, w.guesses+2)
	}
	if len(unplaced) > 0 {
		fresh = w.joinUnplaced(s, at, page, fresh, unplaced)
	}
	below := &segment[V]{low: s.low, requested: s.requested, high: bottom, span: s.span}
	if t := s.tie; t != nil && s.high < at && at <= t.Start && len(page) > 0 && max(length, w.longest) <= t.length {
		fresh = slices.Insert(fresh, 0, Entry[V]{Start: t.Start, Err: &t.TieError})
	}
	if bottom >= s.low {
		w.readEdge(s, below, at, page, length)
		if below.tie != nil && below.tie.length >= w.full() {
			fresh = append(fresh, Entry[V]{Start: below.tie.Start, Err: &below.tie.TieError})
			below.tie, below.high, below.seen = nil, below.tie.Start-1, nil
		}
	}
	if at <= s.high { // a probe: the gap goes on above it
		s.low, s.requested = at, requested
		if len(fresh) > 0 || below.open() {
			below.ready = fresh
			w.segments = slices.Insert(w.segments, i+1, below)
		}
		return
	}
	if s.seen, s.high, s.tie, s.doubt = below.seen, below.high, below.tie, false; len(s.ready) == 0 {
		s.ready = fresh
	} else {
		s.ready = append(s.ready, fresh...)
	}
}

// fresh returns the entries of a page that are new: inside the gap, and not seen.
func (s *segment[V]) fresh(page []Entry[V]) []Entry[V] {
	fresh := make([]Entry[V], 0, len(page)+1)
	for _, e := range page {
		if s.low <= e.Start && e.Start <= s.high && !slices.Contains(s.seen, e.ID) {
			fresh = append(fresh, e)
		}
	}
	return fresh
}

// readEdge sets in below, the rest of the gap of s, which entries of the page's
// last instant were seen, and whether it is to be requested again. The page was
// requested from at.
func (w *Time[V]) readEdge(s, below *segment[V], at int64, page []Entry[V], length int) {
	bottom := below.high
	for _, e := range page {
		if e.Start == bottom {
			below.seen = append(below.seen, e.ID)
		}
	}
	if bottom == s.high {
		for _, id := range s.seen {
			if !slices.Contains(below.seen, id) {
				below.seen = append(below.seen, id)
			}
		}
	}
	if page[0].Start == bottom && length > 1 {
		below.tie = &tie{TieError{Start: bottom, Seen: len(below.seen)}, length}
	}
	switch {
	case w.seconds && second(bottom) == second(at-1): // nothing older came: request from the second itself
		if length > 1 {
			below.tie = &tie{TieError{Start: second(bottom), Seen: len(page)}, length}
		}
		below.high, below.seen = second(bottom)-1, nil
	case bottom == at-1: // likewise, from the instant itself
		below.high, below.seen = bottom-1, nil
	}
}

// full returns the length from which on a page of one instant may have been cut.
// Pages may be shorter than documented: the longest one with two instants shows
// how long, unless the service rounds to whole seconds.
func (w *Time[V]) full() int {
	if w.longest > 0 && !w.seconds {
		return min(w.longest, w.pageSize)
	}
	return w.pageSize
}

// measure updates the span of a page from the entries of one.
func (s *segment[V]) measure(page []Entry[V], pageSize int) {
	if len(page) < 2 {
		return
	}
	span := float64(page[0].Start-page[len(page)-1].Start) * float64(pageSize) / float64(len(page))
	if s.span == 0 {
		s.span = span
	}
	s.span = max(1, 0.7*s.span+0.3*span)
}

// Waiting implements [Walker].
func (w *Time[V]) Waiting() (n int) {
	for _, s := range w.segments {
		n += len(s.ready)
	}
	return n
}
