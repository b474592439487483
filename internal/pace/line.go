package pace

import (
	"container/list"
	"time"
)

// Rank is the priority of a request: a lower one goes first.
type Rank uint8

// The ranks, from the first to the last.
const (
	Write Rank = iota // a request that changes something
	Read              // a single read
	Poll              // a read that is repeated
	Walk              // one page of many
)

// Ticket is a request. One ticket serves all attempts of a call.
type Ticket struct {
	Once bool // it is not sent again after a 503, since its outcome is unknown

	rank        Rank
	route       string
	in          *route  // the one with this name, once it joined
	common, own sending // own is zero unless its route is set apart
	number      int     // of those that joined, in order
	place       *list.Element
	waiting
}

// NewTicket returns the ticket of a call. route is its method and the documented path.
func NewTicket(rank Rank, route string) Ticket { return Ticket{rank: rank, route: route} }

// waiting is what a gate keeps of a ticket.
type waiting struct {
	waits   bool          // it is in line
	waited  time.Duration // of its call, in all
	since   time.Time     // when it began to wait, less the time that its call waited before
	longest time.Duration // that its call waits while no request is accepted
	timer   *time.Timer   // ends its wait then
	done    chan struct{} // closed when it no longer waits
	cancel  func()        // ends its Wait for the limiter
	err     error         // why it is not sent
}

// line holds the requests of a route that wait, by rank: first in, first out.
type line [Walk + 1]list.List

func (l *line) join(t *Ticket) { t.place = l[t.rank].PushBack(t) }

func (l *line) leave(t *Ticket) { l[t.rank].Remove(t.place) }

// first returns the one to be sent first, nil if none waits.
func (l *line) first() *Ticket {
	for i := range l {
		if e := l[i].Front(); e != nil {
			return e.Value.(*Ticket)
		}
	}
	return nil
}

// all returns all that wait.
func (l *line) all() (all []*Ticket) {
	for i := range l {
		for e := l[i].Front(); e != nil; e = e.Next() {
			all = append(all, e.Value.(*Ticket))
		}
	}
	return all
}

// route is what is known of one route.
type route struct {
	name string
	line
	own     *learner  // its own limit, nil unless it is set apart
	until   time.Time // by its Retry-After
	refusal Outcome   // the last one, if there was one
}
