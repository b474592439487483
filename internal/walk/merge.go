package walk

import (
	"math"
	"slices"
)

// Merge walks over one listing, or over several as if they were one, newest
// first. An entry is held back until every other listing has been read down to
// its start.
type Merge[V any] struct {
	walks  []Walker[V]
	enough int   // entries waiting in all walks from which on only the walk furthest behind reads
	lowest int64 // the start of the entry taken last
}

// Request is a request for a page.
type Request struct {
	Source int   // the index of the walk
	At     int64 // the instant or offset that it is from
}

// NewMerge returns a walk over the listings of walks, with up to slots requests
// in flight. Several walks must all be [Time] walks.
func NewMerge[V any](walks []Walker[V], slots, pageSize int) *Merge[V] {
	m := &Merge[V]{walks: walks, enough: 2 * lookAhead * pageSize * slots, lowest: math.MinInt64}
	for _, w := range walks {
		if p := w.Position(); p != nil {
			m.lowest = max(m.lowest, p.At)
		}
	}
	return m
}

// Next returns the request to make next; see [Walker]. The walk furthest behind
// goes first, because the others wait for it.
func (m *Merge[V]) Next() (Request, bool) {
	if len(m.walks) == 1 {
		at, ok := m.walks[0].Next()
		return Request{At: at}, ok
	}
	waiting := 0
	order := make([]int, len(m.walks))
	for i, w := range m.walks {
		order[i] = i
		waiting += w.Waiting()
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch fa, fb := m.walks[a].Frontier(), m.walks[b].Frontier(); {
		case fa > fb:
			return -1
		case fa < fb:
			return 1
		}
		return 0
	})
	if waiting >= m.enough {
		order = order[:1]
	}
	for _, i := range order {
		if at, ok := m.walks[i].Next(); ok {
			return Request{Source: i, At: at}, true
		}
	}
	return Request{}, false
}

// Learn processes the page that r requested.
func (m *Merge[V]) Learn(r Request, page []Entry[V]) { m.walks[r.Source].Learn(r.At, page) }

// Fail records the error of r, which Take returns at its place.
func (m *Merge[V]) Fail(r Request, err error) { m.walks[r.Source].Fail(r.At, err) }

// Take returns the next entry in order, or the error in its place, and the index
// of its walk. It reports false if a page is missing, and at the end.
func (m *Merge[V]) Take() (e Entry[V], source int, ok bool) {
	if source, ok = m.newest(); ok {
		e, ok = m.walks[source].Take()
		m.lowest = e.Start
	}
	return e, source, ok
}

// newest returns the index of the walk that has the next entry.
func (m *Merge[V]) newest() (source int, ok bool) {
	if len(m.walks) == 1 {
		return 0, true
	}
	var best Entry[V]
	unread := int64(math.MinInt64) // the latest start that a listing was not read down to
	for i, w := range m.walks {
		e, ready := w.Peek()
		switch {
		case !ready:
			unread = max(unread, w.Frontier())
		case !ok || e.Start > best.Start || e.Start == best.Start && e.Err == nil && best.Err != nil:
			best, source, ok = e, i, true
		}
	}
	return source, ok && unread <= best.Start
}

// Done reports whether everything was taken.
func (m *Merge[V]) Done() bool {
	for _, w := range m.walks {
		if !w.Done() {
			return false
		}
	}
	return true
}

// Restart forgets the errors of requests, so that Next returns them again.
func (m *Merge[V]) Restart() {
	for _, w := range m.walks {
		w.Restart()
	}
}

// Positions returns the place behind the entries taken, one position for each
// walk; nil: the beginning.
func (m *Merge[V]) Positions() []Position {
	var positions []Position
	begun := false
	for _, w := range m.walks {
		p := w.Position()
		begun = begun || p != nil
		if len(m.walks) > 1 && p == nil {
			p = &Position{At: m.lowest} // nothing of this walk lies above
		}
		if p != nil {
			positions = append(positions, *p)
		}
	}
	if !begun {
		return nil
	}
	return positions
}
