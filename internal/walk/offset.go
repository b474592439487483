package walk

import (
	"slices"
	"strconv"
)

// Offset walks a listing whose page is the entries from the n-th on, one page at a time. New
// entries shift the others back while it is read, so that some are read again. Those are
// dropped, if they are among the last that were read.
//
// A page overlaps the one before by an entry, so that the removal of one entry between
// two requests loses nothing. A page whose oldest entry was read was shifted by new ones:
// the next page does not overlap it, so that new entries cannot outrun the walk. If that
// goes on, the offset is ignored. Only an empty page is the end, at once if it is below a page
// that had room for more.
type Offset[V any] struct {
	position *Position  // after the entries taken
	next     Position   // after those of the last page
	ready    []Entry[V] // of the last page, not taken
	longest  int        // entries of the longest page: the service may filter a page
	shown    bool       // the listing has had an entry
	empty    int        // how often the page was empty
	isLast   bool       // the last page had room for more
	stale    int        // pages in a row that an ignored offset would explain
	ended    bool
	failed   error
	ignored  error
}

const (
	recentEntries = 40
	maxStale      = 11 // more than the recent entries fill
)

// NewOffset returns a walk from a position, which it keeps current. It ends with an error
// if the offset is ignored.
func NewOffset[V any](position *Position, ignored error) *Offset[V] {
	return &Offset[V]{position: position, next: Position{At: position.At, Seen: slices.Clone(position.Seen)}, shown: len(position.Seen) > 0, ignored: ignored}
}

// key identifies an entry: several may have one id.
func (e Entry[V]) key() string { return e.ID + "@" + strconv.FormatInt(e.Start, 10) }

// Done reports whether everything was taken.
func (w *Offset[V]) Done() bool { return w.ended && len(w.ready) == 0 }

// Take returns the next entry, or an error. The position moves to the next page once a
// page is taken whole, because the order inside it is not reliable.
func (w *Offset[V]) Take() (e Entry[V], ok bool) {
	if len(w.ready) == 0 {
		return Entry[V]{Err: w.failed}, w.failed != nil
	}
	e, w.ready = w.ready[0], w.ready[1:]
	w.next.Seen = append(w.next.Seen, e.key())
	w.next.Seen = w.next.Seen[max(0, len(w.next.Seen)-recentEntries):]
	w.position.Seen = w.next.Seen
	if len(w.ready) == 0 {
		w.position.At = w.next.At
	}
	return e, true
}

// Next returns the request for the next page.
func (w *Offset[V]) Next() (Request, bool) {
	return Request{At: w.next.At, Empty: w.empty}, len(w.ready) == 0 && w.failed == nil && !w.ended
}

// Learn processes what came of a request.
func (w *Offset[V]) Learn(r Request, page []Entry[V], failed error) {
	if w.failed = failed; failed != nil {
		return
	}
	page = sortPage(page)
	isRead := func(e Entry[V]) bool { return slices.Contains(w.next.Seen, e.key()) }
	w.ready = slices.DeleteFunc(slices.Clone(page), isRead)
	if len(page) == 0 || r.Empty > 0 && len(w.ready) == 0 {
		w.empty++
		w.ended = w.isLast || r.isEnd(w.shown) || len(page) > 0
		return
	}
	w.isLast = len(page) < w.longest
	w.shown, w.empty, w.longest = true, 0, max(w.longest, len(page))
	isShifted := isRead(page[len(page)-1])
	if w.next.At = r.At + int64(w.longest) - 1; isShifted {
		w.next.At++
	}
	if isStale := isShifted && (len(w.ready) == 0 || len(page) == w.longest); !isStale {
		w.stale = 0
	} else if w.stale++; w.stale == maxStale {
		w.failed = w.ignored
	}
}
