// Package walk decides which pages of a listing to request, what a page
// proves, and in which order its entries are handed out. It does no input or
// output, starts no goroutine and reads no clock: its caller sends the
// requests and passes in the pages.
//
// There are two walks: [Time], for a listing that is paged by start time, and
// [Offset], for one that is paged by offset. [Merge] makes one of several.
package walk

import "fmt"

// Entry is one entry of a listing, or an error that takes its place.
type Entry[V any] struct {
	Value    V
	Start    int64 // epoch milliseconds
	ID       uint64
	Unplaced bool  // it cannot be placed; ID identifies its content, with the bit UnplacedID
	Err      error // of the request that should have returned the entries from here on

	batch *batch // the page it is from, if that has entries without a place
}

// Position is a place in a listing: just behind the entry that was taken last.
type Position struct {
	At     int64    // Time: the start of the last entry. Offset: the offset to resume from
	Newest int64    // Offset only: the latest start among Seen
	Seen   []uint64 // ids that a walk resumed there may meet again
}

// Walker is a [Time] or an [Offset]. It is not safe for concurrent use.
type Walker[V any] interface {
	// Next returns the instant or offset of the page to request next. It reports
	// false if no page is worth requesting now.
	Next() (at int64, ok bool)
	// Learn processes the page that was requested from at.
	Learn(at int64, page []Entry[V])
	// Fail records the error of the request from at, which Take returns at its
	// place.
	Fail(at int64, err error)
	// Take returns the next entry in order, or the error in its place. It
	// reports false if a page is missing, and at the end.
	Take() (Entry[V], bool)
	// Peek returns what Take would return.
	Peek() (Entry[V], bool)
	// Frontier returns the start down to which everything was read.
	Frontier() int64
	// Waiting returns the number of entries that were read and not taken yet.
	Waiting() int
	// Done reports whether everything was taken.
	Done() bool
	// Restart forgets the errors of requests, so that Next returns them again.
	Restart()
	// Position returns the place behind the entries taken; nil: the beginning.
	Position() *Position
}

// A TieError stands behind the entries of an instant that filled a whole page:
// the listing cannot show whether there are more. The walk goes on behind it.
type TieError struct {
	Start int64 // the instant, in epoch milliseconds
	Seen  int   // how many entries of that instant were read
}

func (e *TieError) Error() string {
	return fmt.Sprintf("a whole page (%d entries) starts at %d", e.Seen, e.Start)
}

const (
	lookAhead     = 32 // pages per slot that may wait to be taken before reading ahead pauses
	unprovenLimit = 10 // requests made until a page proves that the service heeds them
)
