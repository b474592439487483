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
	passed  [ranks]int // requests of other ranks sent while this one waited
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
	var next, overdue *Ticket
	for r, w := range l.waiting {
		i := slices.IndexFunc(w, may)
		if i < 0 {
			continue
		}
		if next == nil {
			next = w[i]
		}
		if l.passed[r] >= maxPassed && (overdue == nil || l.passed[r] > l.passed[overdue.rank]) {
			overdue = w[i]
		}
	}
	if overdue != nil {
		return overdue
	}
	return next
}

// grant removes t, whose turn it is.
func (l *line) grant(t *Ticket) {
	for r := range l.passed {
		l.passed[r]++
	}
	l.passed[t.rank] = 0
	l.leave(t)
}

// leave removes t and reports whether it waited.
func (l *line) leave(t *Ticket) bool {
	w := l.waiting[t.rank]
	i := slices.Index(w, t)
	if i < 0 {
		return false
	}
	l.waiting[t.rank] = slices.Delete(w, i, i+1)
	for r, w := range l.waiting {
		if len(w) == 0 {
			l.passed[r] = 0
		}
	}
	return true
}
