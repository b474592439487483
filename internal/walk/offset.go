package walk

import (
	"cmp"
	"slices"
	"strconv"
)

// Offset walks a listing whose page is the entries from the n-th on, newest first, one
// page at a time. New entries shift the others back while it is read, so that some are
// read again. Those are dropped: the entries taken last, and everything newer than the last
// page. No entry is expected to be removed.
//
// A page overlaps the one before by an entry, so that the removal of one entry between
// two requests loses nothing. A page without an unread entry was shifted by new ones:
// the next page does not overlap it, so that new entries cannot outrun the walk. Only an
// empty page is the end.
type Offset[V any] struct {
	pageSize int

	ready   []Entry[V] // of the page from the offset at, not taken yet
	at      int64
	next    int64    // the offset of the page to request next
	recent  []string // keys of the entries taken last
	newest  int64    // the latest start of the last page with an unread entry, without what has arrived since
	longest int      // entries of the longest page
	top     int64    // the latest start of the last page
	repeats int      // pages in a row that an ignored offset would explain
	ended   bool
	failed  error
}

const (
	recentEntries = 40
	maxRepeats    = 8
)

// NewOffset returns a walk over the entries from a position on. A page holds up to
// pageSize entries.
func NewOffset[V any](from Position, pageSize int) *Offset[V] {
	return &Offset[V]{pageSize: pageSize, next: from.At, recent: slices.Clone(from.Seen), newest: cmp.Or(from.Newest, Latest)}
}

// key identifies an entry: several may have one id.
func (e Entry[V]) key() string { return e.ID + "@" + strconv.FormatInt(e.Start, 10) }

// Positions returns the position after the entries taken. Until a page is taken
// whole it is requested again, because the order inside it is not reliable.
func (w *Offset[V]) Positions() []Position {
	p := Position{At: w.next, Newest: w.newest, Seen: slices.Clone(w.recent)}
	if len(w.ready) > 0 {
		p.At = w.at
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
		w.recent = append(w.recent, e.key())
		w.recent = w.recent[max(0, len(w.recent)-recentEntries):]
	}
}

// wasRead reports whether an entry was read before, or has arrived since.
func (w *Offset[V]) wasRead(e Entry[V]) bool {
	return e.Start > w.newest || slices.Contains(w.recent, e.key())
}

// Next returns the request for the next page.
func (w *Offset[V]) Next() (Request, bool) {
	r := Request{At: w.next, Witness: -1}
	if len(w.recent) > 0 {
		r.Witness = max(0, w.next-2*int64(w.pageSize))
	}
	return r, len(w.ready) == 0 && w.failed == nil && !w.ended
}

// Fail records the error of a request, which Peek returns after the entries read.
func (w *Offset[V]) Fail(_ Request, err error) { w.failed = err }

// Learn processes the page that was requested.
func (w *Offset[V]) Learn(r Request, page []Entry[V]) {
	placed, unplaced := sortPage(page)
	fresh := slices.DeleteFunc(slices.Clone(placed), w.wasRead)
	w.longest = max(w.longest, len(page))
	top := w.top
	if len(placed) > 0 {
		w.top = placed[0].Start
	}
	switch {
	case len(page) == 0:
		w.ended = true
		return
	case len(placed) == 0 && len(unplaced) >= w.pageSize:
		w.failed = &UnplacedError{First: unplaced[0].Err}
		return
	case len(placed) > 0 && len(fresh) == 0 && w.top >= top && r.At > 0: // no further down than the last page
		if w.repeats++; w.repeats == maxRepeats {
			w.failed = IgnoredError("the same page or newer ones come whatever the offset")
			return
		}
	default:
		w.repeats = 0
	}
	w.ready, w.at, w.next = append(unplaced, fresh...), r.At, r.At+int64(w.longest)
	if len(fresh) > 0 {
		w.next--
		w.newest = min(w.newest, placed[0].Start)
	}
}
