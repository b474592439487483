package pace

import (
	"container/heap"
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
	index       int // in hasty
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

// line holds the requests of a route that wait. Nothing goes over all of them.
type line struct {
	ranks [Walk + 1]list.List // first in, first out
	hasty hasty
}

func (l *line) join(t *Ticket) {
	t.place = l.ranks[t.rank].PushBack(t)
	heap.Push(&l.hasty, t)
}

func (l *line) leave(t *Ticket) {
	l.ranks[t.rank].Remove(t.place)
	heap.Remove(&l.hasty, t.index)
}

// first returns the one to be sent first, nil if none waits.
func (l *line) first() *Ticket {
	for i := range l.ranks {
		if e := l.ranks[i].Front(); e != nil {
			return e.Value.(*Ticket)
		}
	}
	return nil
}

// hasty is a heap of requests: the first one is one that waits for the shortest time.
type hasty []*Ticket

func (h hasty) Len() int           { return len(h) }
func (h hasty) Less(i, j int) bool { return h[i].longest < h[j].longest }
func (h hasty) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *hasty) Push(x any) {
	t := x.(*Ticket)
	t.index = len(*h)
	*h = append(*h, t)
}

func (h *hasty) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last], *h = nil, (*h)[:last]
	return t
}

// route is what is known of one route.
type route struct {
	name string
	line
	own     *learner  // its own limit, nil unless it is set apart
	until   time.Time // by its Retry-After
	refusal Outcome   // the last one, if there was one
}
