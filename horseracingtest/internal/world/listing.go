package world

import (
	"cmp"
	"slices"
	"sort"
)

// pageSize is how many entries a results listing shows at most (see
// docs/service.md, section 8).
const pageSize = 10

// order is the place of an entry in a listing: by start, then by id.
type order[K cmp.Ordered] struct {
	start int64
	id    K
}

func (o order[K]) compare(other order[K]) int {
	return cmp.Or(cmp.Compare(o.start, other.start), cmp.Compare(o.id, other.id))
}

// stored is an entry of a listing that is kept in memory.
type stored[K cmp.Ordered, E any] struct {
	order[K]
	entry E
}

// listing is what a results operation shows: the computed past and what was
// stored since, seen as one list. Lookup by time and by offset costs a few
// binary searches, however long the past is.
type listing[K cmp.Ordered, E any] struct {
	past timeline
	id   func(index int) K // of an event of the past; ascending where starts are equal
	gone []int             // events of the past that were removed, ascending
	kept []stored[K, E]    // ascending
}

// place is one entry of a page: a stored one, or the index of one of the past.
type place[E any] struct {
	index int // -1: stored
	entry E
}

// add stores an entry.
func (l *listing[K, E]) add(at order[K], entry E) {
	i := sort.Search(len(l.kept), func(i int) bool { return l.kept[i].compare(at) > 0 })
	l.kept = slices.Insert(l.kept, i, stored[K, E]{at, entry})
}

// remove takes a stored entry out, if it is there.
func (l *listing[K, E]) remove(at order[K]) {
	l.kept = slices.DeleteFunc(l.kept, func(s stored[K, E]) bool { return s.compare(at) == 0 })
}

// removePast takes an event of the past out.
func (l *listing[K, E]) removePast(index int) {
	if i, found := slices.BinarySearch(l.gone, index); !found {
		l.gone = slices.Insert(l.gone, i, index)
	}
}

// has reports whether the event of the past exists and was not removed.
func (l *listing[K, E]) has(index int) bool {
	if index < 0 || index >= l.past.n {
		return false
	}
	_, gone := slices.BinarySearch(l.gone, index)
	return !gone
}

// before returns the newest n entries that start before the instant.
func (l *listing[K, E]) before(instant int64, n int) []place[E] {
	kept := sort.Search(len(l.kept), func(i int) bool { return l.kept[i].start >= instant })
	return l.page(l.past.before(instant), kept, n)
}

// skip returns the page behind the newest n entries.
func (l *listing[K, E]) skip(n int) []place[E] {
	// The q-th newest stored entry stands behind q stored ones and all newer
	// ones of the past. How many stored ones are among the n to skip?
	total := len(l.kept)
	q := sort.Search(total, func(q int) bool { return q+l.newer(l.kept[total-1-q].order) >= n })
	index := l.past.n - 1 - (n - q) // of the newest event of the past on the page
	for _, gone := range slices.Backward(l.gone) {
		if gone < index {
			break
		}
		index--
	}
	return l.page(max(0, index+1), total-q, pageSize)
}

// newer returns how many events of the past stand before that place.
func (l *listing[K, E]) newer(at order[K]) int {
	n := l.past.before(at.start + 1)
	newer := l.past.n - n
	for n > 0 && l.past.start(n-1) == at.start && l.id(n-1) > at.id {
		n--
		newer++
	}
	first, _ := slices.BinarySearch(l.gone, n)
	return newer - (len(l.gone) - first)
}

// page merges up to size entries of the two newest-first lists, from the events below past and the
// stored entries below kept on.
func (l *listing[K, E]) page(past, kept, size int) []place[E] {
	page := make([]place[E], 0, size)
	for len(page) < size {
		for past > 0 && len(l.gone) > 0 && !l.has(past-1) {
			past--
		}
		switch {
		case past == 0 && kept == 0:
			return page
		case kept > 0 && (past == 0 || l.storedIsNewer(kept-1, past-1)):
			kept--
			page = append(page, place[E]{-1, l.kept[kept].entry})
		default:
			past--
			page = append(page, place[E]{index: past})
		}
	}
	return page
}

func (l *listing[K, E]) storedIsNewer(kept, past int) bool {
	s := &l.kept[kept]
	start := l.past.start(past)
	return s.start > start || s.start == start && s.id > l.id(past)
}
