package walk

import "slices"

// UnplacedID is the bit that is set in the ids of entries without a place, and in
// no others.
const UnplacedID = 1 << 63

// Unplaceable reports whether a start cannot be used to place an entry: it is
// not after 1970, or it is about a thousandth of its neighbor's, as an instant in
// seconds is among milliseconds.
func Unplaceable(start, neighbor int64) bool {
	const first, last = 1e11, 1e14 // modern times in milliseconds, which are 1970 in seconds
	return start <= 0 || first <= neighbor && neighbor < last && neighbor/2000 <= start && start <= neighbor/500
}

// An UnplacedError is the error of a page of which no entry can be placed.
type UnplacedError[V any] struct{ First Entry[V] }

func (e *UnplacedError[V]) Error() string { return "no entry of the page can be placed" }

// unplaced holds the ids of the last entries without a place that were read:
// several pages may hold the same one. Two with the same content count as one,
// unless one page holds both.
type unplaced []uint64

const maxUnplaced = 64

func (u *unplaced) add(id uint64) {
	if len(*u) == maxUnplaced {
		*u = slices.Delete(*u, 0, 1)
	}
	*u = append(*u, id)
}

func (u unplaced) has(id uint64) bool { return slices.Contains(u, id) }

// unplacedOf separates the entries without a place from the others of a page.
// Those with the same content get different ids.
func unplacedOf[V any](page []Entry[V]) (placed, rest []Entry[V]) {
	if !slices.ContainsFunc(page, func(e Entry[V]) bool { return e.Unplaced }) {
		return page, nil
	}
	for _, e := range page {
		if !e.Unplaced {
			placed = append(placed, e)
			continue
		}
		for contains(rest, e.ID) {
			e.ID++
		}
		rest = append(rest, e)
	}
	return placed, rest
}

// carried is the id of an entry without a place. It stays in the position while
// the next entries are taken, because a page requested from there may hold the
// entry again.
type carried struct {
	id   uint64
	left int // entries to be taken until the id is dropped
}

func (w *Time[V]) carry(id uint64) {
	const most = 8
	if id&UnplacedID == 0 {
		return
	}
	if len(w.carried) == most {
		w.carried = slices.Delete(w.carried, 0, 1)
	}
	w.carried = append(w.carried, carried{id, 2 * w.pageSize})
}

// batch is a page with entries without a place. They come behind its other
// entries, so until all are taken a walk resumes before the page.
type batch struct {
	before, after Position
	left          int // entries that were not taken yet
}

// joinUnplaced appends the entries without a place to the fresh ones of a page.
func (w *Time[V]) joinUnplaced(s *segment[V], at int64, page, fresh, unplaced []Entry[V]) []Entry[V] {
	bottom := min(at-1, s.high)
	b := &batch{left: len(fresh) + len(unplaced), before: Position{At: bottom}}
	if len(page) > 0 {
		bottom = max(s.low, page[len(page)-1].Start)
	}
	if b.before.At == s.high {
		b.before.Seen = slices.Clone(s.seen)
	}
	b.after.At = bottom
	if bottom == s.high {
		b.after.Seen = slices.Clone(s.seen)
	}
	for _, e := range page {
		if e.Start == bottom && !slices.Contains(b.after.Seen, e.ID) {
			b.after.Seen = append(b.after.Seen, e.ID)
		}
	}
	for _, e := range unplaced {
		w.unplaced.add(e.ID)
		b.after.Seen = append(b.after.Seen, e.ID)
		e.Start = bottom
		fresh = append(fresh, e)
	}
	for i := range fresh {
		fresh[i].batch = b
	}
	return fresh
}
