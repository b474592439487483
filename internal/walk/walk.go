// Package walk decides which page of a listing to request next, and in which order
// entries are yielded. It does no input or output, starts no goroutine and reads no clock:
// its caller sends the requests and passes in the pages.
//
// There are two walks: [Time], over a listing that is paged by start time, and [Offset],
// over one that is paged by offset.
package walk

import (
	"cmp"
	"slices"
)

// Walk is a [Time] or an [Offset].
type Walk[V any] interface {
	Next() (Request, bool)                          // the page to request next, if one is needed now
	Learn(r Request, page []Entry[V], failed error) // what came of a request
	Take() (Entry[V], bool)                         // the next entry, or the error in its position
	Done() bool                                     // everything was taken
}

// Request is a request for a page.
type Request struct {
	At    int64 // the instant or offset that the page is requested from
	Empty int   // how often the page was empty: it is requested again after a pause, then the newest page is instead
}

// AskNewest is the value of Empty for which the newest page is requested, to see that the
// listing is not empty as a whole. Learn gets an error if it is, and else the empty page.
const AskNewest = 2

// Entry is one entry of a listing, or an error in its position.
type Entry[V any] struct {
	Value  V
	Start  int64  // epoch milliseconds
	Adrift bool   // it has no start: Start is that of an entry beside it
	ID     string // empty if the error is not that of an entry
	Err    error  // why the entry or a page cannot be read
	Ties   int    // if not 0, so many entries of that start filled a whole page: the listing cannot show whether there are more
}

// Position is a position in a listing, after the entry that was taken last.
type Position struct {
	At   int64    `json:"at"`             // by time the start of that entry, by offset that of the page to request next
	Seen []string `json:"seen,omitempty"` // entries that a walk from there may read again: by time their ids, by offset their ids and starts
}

// Latest as an instant means the service's own now, which it uses if a
// request names none. Earliest is before everything.
const (
	Latest   = 1<<63 - 1
	Earliest = -1<<63 + 1
)

func (e Entry[V]) isSame(other Entry[V]) bool { return e.ID == other.ID && e.Start == other.Start }

// sortPage returns the entries of a page, newest first and each once. On one instant they
// keep their order.
func sortPage[V any](page []Entry[V]) (sorted []Entry[V]) {
	for _, e := range page {
		if !slices.ContainsFunc(sorted, e.isSame) {
			sorted = append(sorted, e)
		}
	}
	slices.SortStableFunc(sorted, func(a, b Entry[V]) int { return cmp.Compare(b.Start, a.Start) })
	return sorted
}

// isEnd reports whether an empty page is the end of the listing. If not, it is requested
// again, and if entries were shown, the newest page after that.
func (r Request) isEnd(shown bool) bool { return r.Empty == AskNewest || r.Empty > 0 && !shown }
