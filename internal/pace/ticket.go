package pace

import (
	"context"
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
	rank     Rank
	route    string
	own      *Ticket // the same request for the engine of its route, if that is set apart
	of       *Ticket // of such a ticket: the request
	inFlight int     // with it, when it was sent
	episode  int     // when it was sent
	sent     time.Time
	probe    bool
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
	done    chan struct{} // closed when it no longer waits, or nil if it never did
	err     error         // why it is not sent
	permitWait
}

// permitWait is what they keep of a ticket.
type permitWait struct {
	mayWait chan struct{}      // holds one when it is to wait for the limiter
	inWait  bool               // it waits, or is about to
	cancel  context.CancelFunc // of its Wait
}
