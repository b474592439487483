package pace

import (
	"container/list"
	"context"
	"math"
	"time"
)

// Priority is the priority of a request. The request with the lowest number is sent first.
type Priority uint8

// The priorities, from the first to the last.
const (
	Write Priority = iota // a request that changes something
	Read                  // a single read
	Poll                  // a read that is repeated
	Walk                  // one page of many
)

// Waiter is a request that waits to be sent. One waiter serves all attempts of a call.
type Waiter struct {
	Once    bool          // it must not be refused with a 503, because its outcome would be unknown
	Patient bool          // it waits until its context ends, and is not sent before the learners allow it
	MaxWait time.Duration // for how long its call waits in all, unless it is patient

	priority  Priority
	routeName string
	route     *route    // the one with this name, once it joined
	number    int       // its number among all that joined a queue; once it is sent, among all that were sent
	sent      time.Time // its last request
	element   *list.Element

	ctx    context.Context
	waits  bool          // it is in a queue
	since  time.Time     // when it began to wait
	waited time.Duration // how long earlier attempts of its call waited
	done   chan struct{} // closed when it no longer waits
	err    error         // why it is not sent
}

// NewWaiter returns the waiter of a call. route is its method and the documented path.
func NewWaiter(priority Priority, route string) Waiter {
	return Waiter{priority: priority, routeName: route}
}

// deadline returns until when it may wait.
func (w *Waiter) deadline() time.Time {
	if w.Patient {
		return w.since.Add(math.MaxInt64)
	}
	return w.since.Add(w.MaxWait - w.waited)
}

// queue holds the requests of a route that wait, by priority: first in, first out.
type queue [Walk + 1]list.List

func (q *queue) join(w *Waiter) { w.element = q[w.priority].PushBack(w) }

func (q *queue) leave(w *Waiter) { q[w.priority].Remove(w.element) }

// head returns the one to be sent first, nil if none waits.
func (q *queue) head() *Waiter {
	for i := range q {
		if e := q[i].Front(); e != nil {
			return e.Value.(*Waiter)
		}
	}
	return nil
}

// all returns all that wait.
func (q *queue) all() (all []*Waiter) {
	for i := range q {
		for e := q[i].Front(); e != nil; e = e.Next() {
			all = append(all, e.Value.(*Waiter))
		}
	}
	return all
}
