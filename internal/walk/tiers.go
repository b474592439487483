package walk

import (
	"cmp"
	"math"
	"slices"
)

// Tiers walks over one listing that is paged by start time, or over several as if
// they were one, newest first. An entry is held back until every other listing
// has been read down to its start.
type Tiers[V any] struct {
	walks  []*Time[V]
	shown  Shown
	enough int // if this many entries wait, only the topmost gap is read
}

// NewTiers returns a walk over the listings from a position in each down to the
// entries that start at since, with up to slots requests in flight. A page holds
// up to pageSize entries. It notes in shown what the pages show.
func NewTiers[V any](since int64, positions []Position, slots, pageSize int, shown Shown) *Tiers[V] {
	m := &Tiers[V]{shown: shown, enough: 2 * lookAhead * pageSize * slots}
	for i, p := range positions {
		m.walks = append(m.walks, NewTime[V](since, p, slots, pageSize))
		if start, ok := p.shown(); ok {
			shown.note(i, start)
		}
	}
	return m
}

// Next returns the request to make next; see [Walker]. The walk with the latest
// frontier goes first, because the others wait for it.
func (m *Tiers[V]) Next() (Request, bool) {
	waiting := 0
	order := make([]int, len(m.walks))
	for i, w := range m.walks {
		order[i] = i
		waiting += w.waiting()
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(m.walks[b].frontier(), m.walks[a].frontier())
	})
	isEnough := waiting >= m.enough
	if isEnough {
		order = order[:1]
	}
	for _, i := range order {
		if at, ok := m.walks[i].Next(isEnough); ok {
			return Request{Source: i, At: at, AcceptEmpty: m.walks[i].acceptsEmpty(at), Witness: m.shown.witness(i, at)}, true
		}
	}
	return Request{}, false
}

// Learn processes the page that r requested.
func (m *Tiers[V]) Learn(r Request, page []Entry[V]) {
	for _, e := range page {
		if e.ID != "" {
			m.shown.note(r.Source, e.Start)
		}
	}
	m.walks[r.Source].Learn(r.At, page)
}

// Fail records the error of r, which Peek returns in its position.
func (m *Tiers[V]) Fail(r Request, err error) { m.walks[r.Source].Fail(r.At, err) }

// Peek returns the next entry in order, or the error in its position; see
// [Walker].
func (m *Tiers[V]) Peek() (best Entry[V], ok bool) {
	unread := int64(math.MinInt64) // the latest start that a listing was not read down to
	for i, w := range m.walks {
		e, ready := w.Peek()
		e.Source = i
		switch {
		case !ready:
			unread = max(unread, w.frontier())
		case !ok || e.Start > best.Start || e.Start == best.Start && e.Err == nil && best.Err != nil:
			best, ok = e, true
		}
	}
	if ok && m.isElsewhere(best) {
		best.Err = IgnoredError("two tiers show the same entry")
	}
	return best, ok && unread <= best.Start
}

// isElsewhere reports whether another listing has shown an entry, too: the service does not
// distinguish them.
func (m *Tiers[V]) isElsewhere(e Entry[V]) bool {
	for i, w := range m.walks {
		if i != e.Source && e.ID != "" && w.position.At == e.Start && slices.Contains(w.position.Seen, e.ID) {
			return true
		}
	}
	return false
}

// Take moves past the entry that Peek returns. No listing has more above its start.
func (m *Tiers[V]) Take() {
	if e, ok := m.Peek(); ok {
		m.walks[e.Source].Take()
		for _, w := range m.walks {
			w.lower(e.Start)
		}
	}
}

// Done reports whether everything was taken.
func (m *Tiers[V]) Done() bool {
	return !slices.ContainsFunc(m.walks, func(w *Time[V]) bool { return !w.Done() })
}

// Restart forgets the errors of requests, so that Next returns them again.
func (m *Tiers[V]) Restart() {
	for _, w := range m.walks {
		w.Restart()
	}
}

// Positions returns the position after the entries taken, in each listing.
func (m *Tiers[V]) Positions() []Position {
	positions := make([]Position, len(m.walks))
	for i, w := range m.walks {
		positions[i] = w.position
	}
	return positions
}
