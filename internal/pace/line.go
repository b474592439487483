package pace

import (
	"cmp"
	"slices"
)

// line holds the requests that wait: by rank, and first in, first out within one.
type line []*Ticket

func (l *line) join(t *Ticket) {
	end, _ := slices.BinarySearchFunc(*l, t.rank+1, func(other *Ticket, rank Rank) int { return cmp.Compare(other.rank, rank) })
	*l = slices.Insert(*l, end, t)
}

// first returns the ticket to be sent next of those that may be, nil if there is none.
func (l line) first(may func(*Ticket) bool) *Ticket {
	if i := slices.IndexFunc(l, may); i >= 0 {
		return l[i]
	}
	return nil
}

// leave removes t, and reports whether it was in line.
func (l *line) leave(t *Ticket) bool {
	i := slices.Index(*l, t)
	if i >= 0 {
		*l = slices.Delete(*l, i, i+1)
	}
	return i >= 0
}
