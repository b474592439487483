package walk

import (
	"slices"
	"strconv"

	"github.com/horseracing-go/horseracing/internal/entry"
)

// Offset walks a listing whose page is the entries from the n-th on, one page at a time.
//
// A page overlaps the one before by an entry, so that the removal of one entry between two
// requests loses nothing. New entries shift the others back, so that some are read again:
// those are dropped, if they are among the forty that were taken last. If a page has only
// entries that were read before, the next page does not overlap it, so that the walk proceeds
// faster than new entries appear. If an entry is removed just then, the walk misses another
// one. Such a page skips as many entries as the longest page so far had: the service may have
// pages of fewer than ten. If two such pages in a row have the same entries, a page from ten
// entries further on is requested, whose entries are not used. If it has the same entries,
// too, the service ignores the offset, and the walk fails with [ErrIgnored]. If a page has no entry
// that was read before, entries were removed: it is requested again from half a page further back. If
// that has none, too, the service does not count entries, and the walk fails with [ErrNoOverlap]. The
// walk ends at an empty page, after it was checked, as described at emptyPage.
type Offset[V any] struct {
	position *Position        // after the entries taken
	pageSize int              // the most entries of a page
	longest  int              // entries of the longest page
	next     Position         // after those of the last page
	ready    []entry.Entry[V] // of the last page, not taken
	empty    emptyPage        // what is known of the last page, if that was empty
	isLast   bool             // the last page had room for more, and showed none
	repeated []entry.Entry[V] // the last page, if all of it was known
	repeats  int              // how often in a row that page came
	backed   bool             // the last page had no entry of those before, and is requested from further back
	failed   error
}

const (
	recentEntries = 40
	maxRepeats    = 3
)

// NewOffset returns a walk from a position. The walk updates the position.
func NewOffset[V any](position *Position, pageSize int) *Offset[V] {
	return &Offset[V]{position: position, pageSize: pageSize, next: Position{At: position.At, Seen: slices.Clone(position.Seen)}}
}

// entryKey identifies an entry: several may have one id.
func entryKey[V any](e entry.Entry[V]) string { return e.ID + "@" + strconv.FormatInt(e.Start, 10) }

// Done reports whether everything was taken.
func (w *Offset[V]) Done() bool { return w.empty == isEnd && len(w.ready) == 0 }

// Take returns the next entry, or an error. The position moves to the next page once a
// page is taken whole, because the order inside it is not reliable.
func (w *Offset[V]) Take() (e entry.Entry[V], ok bool) {
	if len(w.ready) == 0 {
		return entry.Entry[V]{Err: w.failed}, w.failed != nil
	}
	e, w.ready = w.ready[0], w.ready[1:]
	w.next.Seen = append(w.next.Seen, entryKey(e))
	w.next.Seen = w.next.Seen[max(0, len(w.next.Seen)-recentEntries):]
	w.position.Seen = w.next.Seen
	if len(w.ready) == 0 {
		w.position.At = w.next.At
	}
	return e, true
}

// Next returns the request for the next page, or, to check an empty page, for the page before
// it, whose entries are known.
func (w *Offset[V]) Next() (PageRequest, bool) {
	r := PageRequest{From: w.next.At, Pause: w.empty == emptyOnce}
	if w.isCheck() {
		r.From = max(0, r.From-int64(w.pageSize))
	} else if w.isProbe() {
		r.From += int64(w.pageSize)
	}
	return r, len(w.ready) == 0 && w.failed == nil && w.empty != isEnd
}

// isCheck reports whether the next request checks that the known entries are shown.
func (w *Offset[V]) isCheck() bool { return w.empty == emptyOnce && len(w.next.Seen) > 0 }

// isProbe reports whether the next request only checks that the offset is not ignored.
func (w *Offset[V]) isProbe() bool { return w.repeats == maxRepeats-1 }

// Learn processes the outcome of a request.
func (w *Offset[V]) Learn(r PageRequest, page []entry.Entry[V], failed error) {
	if w.failed = failed; failed != nil {
		return
	}
	isFirst := w.longest == 0
	w.longest = min(max(w.longest, len(page)), w.pageSize)
	page = sortPage(page)
	fresh := slices.DeleteFunc(slices.Clone(page), func(e entry.Entry[V]) bool { return slices.Contains(w.next.Seen, entryKey(e)) })
	switch {
	case w.isProbe():
		w.repeats = 0
		if slices.EqualFunc(page, w.repeated, isSame) {
			w.failed = ErrIgnored
		}
	case len(page) == 0 || w.isCheck() && len(fresh) < len(page): // a check that shows only new entries is read
		w.empty, w.failed = w.empty.next(evidence{isOfKnown: w.isCheck(), showsKnown: len(page) > 0, hadRoom: w.isLast})
	case len(fresh) == len(page) && w.overlaps(r, isFirst):
		if w.backed {
			w.failed = ErrNoOverlap
		}
		w.backed, w.next.At = true, max(0, r.From-int64(w.pageSize)/2)
	default:
		w.backed = false
		w.add(r, page, fresh)
	}
}

// overlaps reports whether a page was requested so that it shows an entry that was read before. The
// first page after a cursor need not: much may have changed since. Nor need the one after a page of known entries.
func (w *Offset[V]) overlaps(r PageRequest, isFirst bool) bool {
	return !isFirst && !w.isCheck() && w.repeated == nil && w.longest > 1 && r.From > 0 && len(w.next.Seen) > 0
}

// add makes the fresh entries of a page ready, and moves to the next page.
func (w *Offset[V]) add(r PageRequest, page, fresh []entry.Entry[V]) {
	w.ready, w.empty, w.isLast = fresh, notEmpty, len(fresh) == 0 && len(page) < w.longest
	if len(fresh) > 0 {
		w.next.At, w.repeated = r.From+max(1, int64(len(page))-1), nil
		return
	}
	w.next.At = r.From + int64(w.longest)
	if !slices.EqualFunc(page, w.repeated, isSame) {
		w.repeated, w.repeats = page, 0
	}
	w.repeats++
}
