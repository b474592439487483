// Package walk decides which pages of a listing to request, what a page proves,
// and in which order its entries are yielded. It does no input or output, starts
// no goroutine and reads no clock: its caller sends the requests and passes in
// the pages.
//
// There are two walks: [Tiers], over listings that are paged by start time, each
// of which is read by a [Time], and [Offset], over one that is paged by offset.
package walk

import (
	"cmp"
	"fmt"
	"slices"
)

// Walker is a [Tiers] or an [Offset]. It is not safe for concurrent use.
type Walker[V any] interface {
	// Next returns the request to make next. It reports false if no page is worth
	// requesting now.
	Next() (Request, bool)
	// Learn processes the page that was requested.
	Learn(r Request, page []Entry[V])
	// Fail records the error of a request, which Peek returns in its position.
	Fail(r Request, err error)
	// Peek returns the next entry in order, or the error in its position. It
	// reports false if a page is missing, and at the end.
	Peek() (Entry[V], bool)
	// Take moves past the entry that Peek returns. The error of a request stays.
	Take()
	// Done reports whether everything was taken.
	Done() bool
	// Restart forgets the errors of requests, so that Next returns them again.
	Restart()
	// Positions returns the position after the entries taken, in each listing.
	Positions() []Position
}

// Shown is the lowest start that each listing has shown, by its index.
type Shown map[int]int64

func (s Shown) note(source int, start int64) {
	if lowest, ok := s[source]; !ok || start < lowest {
		s[source] = start
	}
}

// witness returns the [Request.Witness] of a page that is requested from at.
func (s Shown) witness(source int, at int64) int64 {
	if lowest, ok := s[source]; ok {
		return max(at, lowest+1)
	}
	return -1
}

// Request is a request for a page.
type Request struct {
	Source      int   // the index of the listing
	At          int64 // the instant or offset that the page is requested from
	AcceptEmpty bool  // if the page is empty, it is not requested again
	Witness     int64 // a page from there shows entries, as one did before: At, if it is this page; negative if none is known
}

// Entry is one entry of a listing, or an error in its position.
type Entry[V any] struct {
	Value  V
	Start  int64  // epoch milliseconds
	ID     string // empty if the entry cannot be placed in the listing
	Source int    // the index of the listing
	Err    error  // why the entry cannot be read, or an error of the walk

	after Position // by time the position after the entry is taken
}

// Position is a position in a listing, after the entry that was taken last.
type Position struct {
	At     int64    `json:"at"`              // by time the start of that entry, by offset that of the page to request next
	Newest int64    `json:"newest,omitzero"` // by offset the latest start of the last page; by time, without Seen, the start of an entry which the listing has shown
	Seen   []string `json:"seen,omitempty"`  // entries that a walk resumed there may read again: by time their ids, by offset their ids and starts
}

// shown returns the start of an entry that the listing, paged by time, has shown.
func (p Position) shown() (start int64, ok bool) {
	if len(p.Seen) > 0 {
		return p.At, true
	}
	return p.Newest, p.Newest != 0
}

// Latest as an instant means the service's own now, which it uses if a
// request names none. Earliest is before everything.
const (
	Latest   = 1<<63 - 1
	Earliest = -1<<63 + 1
)

// A TieError follows the entries of an instant that filled a whole page: the
// listing cannot show whether there are more. The walk continues after it.
type TieError struct {
	Start int64 // the instant, in epoch milliseconds
	Seen  int   // how many entries of that instant were read
}

func (e *TieError) Error() string {
	return fmt.Sprintf("a whole page (%d entries) starts at %d", e.Seen, e.Start)
}

// IgnoredError is the error of a page that does not fit its request. Its text
// reports how.
type IgnoredError string

func (e IgnoredError) Error() string { return string(e) }

// UnplacedError is the error of a page of which no entry can be placed.
type UnplacedError struct {
	First error // why the first entry cannot be placed
}

func (e *UnplacedError) Error() string { return "no entry of the page can be placed" }

// sortPage returns the entries of a page that can be placed, newest first and each
// once, and the others. On one instant they keep their order. Two entries may share an
// id if they differ in their starts, or one is an error.
func sortPage[V any](page []Entry[V]) (placed, unplaced []Entry[V]) {
	for _, e := range page {
		if e.ID == "" {
			unplaced = append(unplaced, e)
		} else if !slices.ContainsFunc(placed, func(o Entry[V]) bool { return e.isSame(o) && (e.Err == nil) == (o.Err == nil) }) {
			placed = append(placed, e)
		}
	}
	slices.SortStableFunc(placed, func(a, b Entry[V]) int { return cmp.Compare(b.Start, a.Start) })
	return placed, unplaced
}

func (e Entry[V]) isSame(other Entry[V]) bool { return e.ID == other.ID && e.Start == other.Start }
