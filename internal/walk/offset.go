package walk

import (
	"math"
	"slices"
)

// Offset walks a listing whose page is the entries from the n-th on, newest first, one
// page at a time. Such a listing shifts while it is read: a new entry shifts the others
// back, so that some are read again; a removed one shifts them forward, so that some
// would be skipped.
//
// So each page overlaps the one before by one entry, and what was read before is
// dropped: the entries taken last, by their ids, and everything newer than these. A
// page that holds such an entry is linked: nothing unread lies above it. If a page is
// not linked, entries were removed, and the walk steps back, further each time, until a
// page is. A page without an unread entry was shifted by new ones: the next page does
// not overlap it, so that new entries cannot outrun the walk. If that page was short,
// too, and the next one is empty, the listing ends.
type Offset[V any] struct {
	pageSize int

	ready  []Entry[V] // of the page from the offset at, not taken yet
	at     int64
	next   int64      // the offset of the page to request next
	recent []Entry[V] // the entries taken last, without values
	ended  bool
	failed error

	longest  int        // entries of the longest page
	bare     bool       // the next page does not overlap the one before
	doubts   int        // bare pages that were not linked, since there was a new entry
	stepBack int64      // how far the last step back went; 0 if the last page was linked
	newest   int64      // the latest start seen
	previous []Entry[V] // the last page
	repeats  int        // pages in a row that an ignored offset would explain
}

const (
	recentEntries = 40
	maxDoubts     = 4 // steps back from a bare page until it is accepted: a service that filters pages shows no links
	maxRepeats    = 8
)

// NewOffset returns a walk over the entries from a position on. A page holds up to
// pageSize entries.
func NewOffset[V any](from Position, pageSize int) *Offset[V] {
	w := &Offset[V]{pageSize: pageSize, next: from.At, newest: math.MinInt64}
	for _, id := range from.Seen {
		w.recent = append(w.recent, Entry[V]{ID: id, Start: from.Newest})
	}
	return w
}

// Positions returns the position after the entries taken. Until a page is taken
// whole it is requested again, because the order inside it is not reliable.
func (w *Offset[V]) Positions() []Position {
	p := Position{At: w.next}
	if len(w.ready) > 0 {
		p.At = w.at
	}
	for _, e := range w.recent {
		p.Seen = append(p.Seen, e.ID)
		p.Newest = w.newestRecent()
	}
	return []Position{p}
}

// Done reports whether everything was taken.
func (w *Offset[V]) Done() bool { return w.ended && len(w.ready) == 0 }

// Restart forgets the error of a request.
func (w *Offset[V]) Restart() { w.failed, w.repeats = nil, 0 }

// Peek returns the next entry, or the error in its position; see [Walker].
func (w *Offset[V]) Peek() (Entry[V], bool) {
	if len(w.ready) > 0 {
		return w.ready[0], true
	}
	return Entry[V]{Err: w.failed}, w.failed != nil
}

// Take moves past the entry that Peek returns, unless that is a request's error.
func (w *Offset[V]) Take() {
	if len(w.ready) == 0 {
		return
	}
	e := w.ready[0]
	w.ready[0] = Entry[V]{}
	w.ready = w.ready[1:]
	if e.ID != "" {
		w.recent = append(w.recent, Entry[V]{ID: e.ID, Start: e.Start})
		w.recent = w.recent[max(0, len(w.recent)-recentEntries):]
	}
}

// newestRecent returns the latest start among the entries taken last.
func (w *Offset[V]) newestRecent() int64 {
	newest := int64(math.MinInt64)
	for _, e := range w.recent {
		newest = max(newest, e.Start)
	}
	return newest
}

// wasRead reports whether an entry was read before, or has arrived since.
func (w *Offset[V]) wasRead(e Entry[V]) bool {
	return len(w.recent) > 0 && (e.Start > w.newestRecent() ||
		slices.ContainsFunc(w.recent, func(r Entry[V]) bool { return r.ID == e.ID }))
}

// Next returns the request for the next page.
func (w *Offset[V]) Next() (Request, bool) {
	return Request{At: w.next}, len(w.ready) == 0 && w.failed == nil && !w.ended
}

// Fail records the error of a request, which Peek returns after the entries read.
func (w *Offset[V]) Fail(_ Request, err error) { w.failed = err }

// Learn processes the page that was requested.
func (w *Offset[V]) Learn(r Request, page []Entry[V]) {
	placed, unplaced := sortPage(page)
	fresh := dropRead(placed, w.wasRead)
	isEnd := len(page) == 0 && w.bare && len(w.previous) < w.pageSize
	isLinked := r.At == 0 || len(w.recent) == 0 || len(fresh) < len(placed)
	if !w.repeatsOrNewer(slices.Concat(placed, unplaced)) || len(fresh) > 0 || len(page) == 0 || r.At == 0 {
		w.repeats = 0
	} else if w.repeats++; w.repeats == maxRepeats {
		w.failed = IgnoredError("the same page or newer ones come whatever the offset")
		return
	}
	if w.bare && !isLinked && !isEnd {
		w.doubts++
	}
	if !isLinked && !isEnd && (!w.bare || w.doubts <= maxDoubts) {
		w.stepBack = max(int64(w.longest)-1, 2*w.stepBack, 1)
		w.next, w.bare = max(0, r.At-w.stepBack), false
		return
	}
	if len(placed) == 0 && len(unplaced) >= w.pageSize {
		w.failed = &UnplacedError{unplaced[0].Err}
		return
	}
	w.ready, w.at, w.ended = append(fresh, unplaced...), r.At, len(page) == 0
	w.longest = max(w.longest, len(page))
	w.advance(page, len(fresh) > 0)
}

// repeatsOrNewer reports whether a page is what an ignored offset returns: the page
// before again, or one of newer entries.
func (w *Offset[V]) repeatsOrNewer(page []Entry[V]) bool {
	repeats := slices.EqualFunc(page, w.previous, func(a, b Entry[V]) bool { return a.ID == b.ID })
	newer := len(page) > 0 && page[0].Start > w.newest
	if w.previous = page; newer {
		w.newest = page[0].Start
	}
	return repeats || newer
}

// advance chooses the page to request after one. It overlaps that by one entry,
// unless nothing was new; after a step back it always does.
func (w *Offset[V]) advance(page []Entry[V], progress bool) {
	last := len(page) - 1
	for last > 0 && page[last].ID == "" {
		last--
	}
	w.next, w.bare = w.at+int64(last), false
	if last <= 0 || !progress && w.stepBack == 0 {
		w.next, w.bare = w.at+int64(max(w.longest, 1)), true
	}
	if w.stepBack = 0; progress {
		w.doubts = 0
	}
}
