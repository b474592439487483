package world

import (
	"cmp"
	"slices"
)

// pageSize is how many entries a results listing shows at most (see
// docs/service.md, section 8).
const pageSize = 10

// listed is an entry of a listing: by start, then by id. One of the past has no value, and
// is made up when it is shown.
type listed[K cmp.Ordered, E any] struct {
	start int64
	id    K
	value *E
}

func (e listed[K, E]) compare(other listed[K, E]) int {
	return cmp.Or(cmp.Compare(e.start, other.start), cmp.Compare(e.id, other.id))
}

// listing is what a results operation shows, oldest first.
type listing[K cmp.Ordered, E any] []listed[K, E]

// add adds an entry.
func (l *listing[K, E]) add(start int64, id K, value *E) {
	added := listed[K, E]{start, id, value}
	i, _ := slices.BinarySearchFunc(*l, added, listed[K, E].compare)
	*l = slices.Insert(*l, i, added)
}

// has reports whether the listing has an entry.
func (l listing[K, E]) has(start int64, id K) bool {
	_, found := slices.BinarySearchFunc(l, listed[K, E]{start: start, id: id}, listed[K, E].compare)
	return found
}

// remove takes an entry out, if it is there.
func (l *listing[K, E]) remove(start int64, id K) {
	if i, found := slices.BinarySearchFunc(*l, listed[K, E]{start: start, id: id}, listed[K, E].compare); found {
		*l = slices.Delete(*l, i, i+1)
	}
}

// before returns the newest n entries that start before the instant, newest first.
func (l listing[K, E]) before(instant int64, n int) listing[K, E] {
	end, _ := slices.BinarySearchFunc(l, instant, func(e listed[K, E], instant int64) int { return cmp.Or(cmp.Compare(e.start, instant), 1) })
	return l[:end].newest(n)
}

// skip returns the page after the newest n entries.
func (l listing[K, E]) skip(n int) listing[K, E] {
	return l[:max(0, len(l)-n)].newest(pageSize)
}

func (l listing[K, E]) newest(n int) listing[K, E] {
	page := slices.Clone(l[max(0, len(l)-n):])
	slices.Reverse(page)
	return page
}
