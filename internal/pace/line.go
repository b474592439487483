package pace

import "slices"

// Rank is the priority of a request: a lower one goes first.
type Rank uint8

// The ranks, from the first to the last.
const (
	Write Rank = iota // a request that changes something
	Read              // a single read
	Poll              // a read that is repeated
	Walk              // one page of many

	ranks = iota
)

// line holds the requests that wait: first in, first out within a rank.
type line struct {
	waiting [ranks][]*Ticket
}

func (l *line) len() int {
	n := 0
	for _, w := range l.waiting {
		n += len(w)
	}
	return n
}

func (l *line) join(t *Ticket) { l.waiting[t.rank] = append(l.waiting[t.rank], t) }

// first returns the ticket to be sent next of those that may be, nil if there is none.
func (l *line) first(may func(*Ticket) bool) *Ticket {
	for _, w := range l.waiting {
		if i := slices.IndexFunc(w, may); i >= 0 {
			return w[i]
		}
	}
	return nil
}

// leave removes t, and reports whether it was in line.
func (l *line) leave(t *Ticket) bool {
	w := l.waiting[t.rank]
	i := slices.Index(w, t)
	if i >= 0 {
		l.waiting[t.rank] = slices.Delete(w, i, i+1)
	}
	return i >= 0
}
