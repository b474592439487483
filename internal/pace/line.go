package pace

import "slices"

// Rank is the place of a request in line: a lower one goes first.
type Rank uint8

// The ranks, the first to go first.
const (
	Write Rank = iota // a request that changes something
	Read              // a single read
	Poll              // a read that comes again and again
	Walk              // one page of many

	ranks = iota
)

// maxPassed is how many requests of other ranks go before one that waits, at
// most: a rank that waits gets a tenth, however many wait before it.
const maxPassed = 9

// line holds who waits: first in, first out within a rank.
type line struct {
	waiting [ranks][]*Ticket
	passed  [ranks]int // requests of other ranks that went while this one waited
}

func (l *line) len() int {
	n := 0
	for _, w := range l.waiting {
		n += len(w)
	}
	return n
}

func (l *line) join(t *Ticket) { l.waiting[t.rank] = append(l.waiting[t.rank], t) }

// first returns the ticket that goes next, of those that may; nil: none.
func (l *line) first(may func(Rank) bool) *Ticket {
	var next, overdue *Ticket
	for r, w := range l.waiting {
		if len(w) == 0 || !may(Rank(r)) {
			continue
		}
		if next == nil {
			next = w[0]
		}
		if l.passed[r] >= maxPassed && (overdue == nil || l.passed[r] > l.passed[overdue.rank]) {
			overdue = w[0]
		}
	}
	if overdue != nil {
		return overdue
	}
	return next
}

// grant takes t out, whose turn it is.
func (l *line) grant(t *Ticket) {
	for r := range l.passed {
		l.passed[r]++
	}
	l.passed[t.rank] = 0
	l.leave(t)
}

// leave takes t out, if it is there.
func (l *line) leave(t *Ticket) {
	w := l.waiting[t.rank]
	i := slices.Index(w, t)
	if i < 0 {
		return
	}
	l.waiting[t.rank] = slices.Delete(w, i, i+1)
	for r, w := range l.waiting {
		if len(w) == 0 {
			l.passed[r] = 0
		}
	}
}
