// Package walk decides which pages of a listing to request, what a page
// proves, and in which order its entries are handed out. It does no input or
// output, starts no goroutine and reads no clock: a caller sends the requests
// and brings the pages.
//
// There are two walks: [Time], for a listing that is paged by start time, and
// [Offset], for one that is paged by offset. [Merge] makes one of several.
package walk

import (
	"fmt"
)

// Entry is one entry of a listing, or an error that takes its place.
type Entry[V any] struct {
	Value    V
	Start    int64 // epoch milliseconds
	ID       uint64
	Unplaced bool  // it cannot be placed; ID identifies its content, with the bit UnplacedID
	Err      error // of the request that would have shown what starts here

	batch *batch // the page that it is part of, if that has entries without a place
}

// Position is a place in a listing: just behind an entry that was handed out.
type Position struct {
	At     int64    // Time: the start of the last entry. Offset: the offset to resume from
	Newest int64    // Offset only: the latest start among Seen
	Seen   []uint64 // ids that may come again when reading goes on there
}

// Walker is what [Time] and [Offset] have in common. None is safe for
// concurrent use.
type Walker[V any] interface {
	// Next returns the instant or offset of a page worth requesting now.
	Next() (at int64, ok bool)
	// Learn takes the page that was requested from at.
	Learn(at int64, page []Entry[V])
	// Fail takes the error of the request from at; it is handed out at its place.
	Fail(at int64, err error)
	// Take returns the next entry in order, or the error in its place. It
	// reports false where a page is missing, and at the end.
	Take() (Entry[V], bool)
	// Peek returns what Take would return.
	Peek() (Entry[V], bool)
	// Frontier returns the start down to which everything is ready.
	Frontier() int64
	// Waiting returns how many entries are held until they are taken.
	Waiting() int
	// Done reports whether everything was taken.
	Done() bool
	// Restart forgets the errors of requests, so that they are made again.
	Restart()
	// Position returns the place behind what was taken; nil: the beginning.
	Position() *Position
}

// A TieError stands behind the entries of an instant that filled a whole page:
// the listing cannot show whether there are more. The walk goes on behind it.
type TieError struct {
	Start int64 // the instant, in epoch milliseconds
	Seen  int   // how many entries of that instant were handed out
}

func (e *TieError) Error() string {
	return fmt.Sprintf("a whole page (%d entries) starts at %d", e.Seen, e.Start)
}

const (
	lookAhead     = 32 // pages per slot that may wait before the reading ahead pauses
	unprovenLimit = 10 // requests until the service has shown that it heeds them
)
