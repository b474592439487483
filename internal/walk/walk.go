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

	"github.com/horseracing-go/horseracing/internal/entry"
)

// Walk is a [Time] or an [Offset].
type Walk[V any] interface {
	Next() (PageRequest, bool)                                // the page to request next, if one is needed now
	Learn(r PageRequest, page []entry.Entry[V], failed error) // the outcome of a request: all rows of the page, or why there is none
	Take() (entry.Entry[V], bool)                             // the next entry, or the error in its position
	Done() bool                                               // everything was taken
}

// PageRequest is a request for a page.
type PageRequest struct {
	From  int64 // the start_time_from or the offset of the page
	Pause bool  // whether to send it after a pause, because a page was empty
}

// Newest reports whether a request by time is for the newest page, which names no instant.
func (r PageRequest) Newest() bool { return r.From > Latest }

// Latest is later than every start. A walk from there begins with the newest page.
const Latest = 1<<63 - 2

// Position is a position in a listing, after the entry that was taken last.
type Position struct {
	At   int64    `json:"at"`             // in a Time walk the start of that entry; in an Offset walk the offset of the page to request next
	Seen []string `json:"seen,omitempty"` // the entries that a walk from there reads again: their ids, and in an Offset walk their starts, too
	Tied bool     `json:"tied,omitzero"`  // whether, in a Time walk, all entries of a page start at At, and those that the listing shows were taken

	// Shown is what the listing has shown, also below the position. It is not saved.
	Shown Shown `json:"-"`
}

// Shown is what a listing has shown to the Time walks of one pager or follower.
type Shown struct {
	Newest, Oldest int64 // starts of entries, zero before there is one
	Longest        int   // entries of the longest page, at most ten: a full page has as many
}

// Problem is what is wrong with a listing. It ends a walk, unless it is about ties.
type Problem struct {
	How       string
	IsIgnored bool  // a page is not the one that was requested
	Ties      int   // not 0 if this many entries, a whole page, start at Start
	Start     int64 // epoch milliseconds
}

func (p *Problem) Error() string { return p.How }

// Problems that walks find.
var (
	ErrEmptied   error = &Problem{How: "the listing is empty, although it was not before"}
	ErrIgnored   error = &Problem{How: "the same page comes whatever the offset", IsIgnored: true}
	ErrNoOverlap error = &Problem{How: "the offset does not count entries: a page shows none of those before it"}
)

// emptyPage is the state of the check whether an empty page is the end of the listing. A
// service may also show an empty page by mistake, for a while, or because it filters a page after
// it has limited it. Therefore, once all requests in flight have their outcomes, and after a pause,
//
//  1. if an entry is known, its page is requested. If it lacks that entry, the walk fails with
//     ErrEmptied. So a walk that knows an entry does not end while every page is empty.
//  2. The empty page is requested again.
//  3. By time, if it is empty again and the walk has a since, the page below since is requested.
//
// The walk fails with ErrEmptied if the listing has shown an older entry: in step 3, to this
// walk, which may have read ahead below the page, or to an earlier walk of the same pager or
// follower. Otherwise the empty page is the end. Steps 1 and 2 are left out if the page before
// had room for more entries, and no older entry was shown.
//
// An entry is known if this walk has yielded it, or if the caller names it: from a cursor, or
// from an earlier poll of a follower. An Offset walk sees no older entries.
type emptyPage int

const (
	notEmpty   emptyPage = iota
	emptyOnce            // step 1 is next or, if no entry is known, step 2
	knownShown           // step 2 is next
	emptyTwice           // step 3 is next
	isEnd
)

// evidence is what a page of the check shows, and what is known of the listing then.
type evidence struct {
	isOfKnown, showsKnown bool // of step 1: whether it is that page, and shows the known entry
	hadRoom               bool // the page before the empty one was not full, and nothing in flight may be older
	isOlderShown          bool // the listing has shown an older entry
	hasSince              bool
}

// next returns the state after a page of the check.
func (e emptyPage) next(seen evidence) (emptyPage, error) {
	switch {
	case seen.isOfKnown && seen.showsKnown:
		return knownShown, nil
	case seen.isOfKnown:
		return e, ErrEmptied
	case e == notEmpty && (seen.isOlderShown || !seen.hadRoom):
		return emptyOnce, nil
	case seen.isOlderShown:
		return e, ErrEmptied
	case e != emptyTwice && seen.hasSince:
		return emptyTwice, nil
	}
	return isEnd, nil
}

func isSame[V any](a, b entry.Entry[V]) bool { return a.ID == b.ID && a.Start == b.Start }

// sortPage returns the entries of a page, newest first and each once. On one instant they
// keep their order, after those without a start of their own.
func sortPage[V any](page []entry.Entry[V]) (sorted []entry.Entry[V]) {
	for _, e := range page {
		if !slices.ContainsFunc(sorted, func(other entry.Entry[V]) bool { return isSame(e, other) }) {
			at := len(sorted)
			if e.NoStart { // its start is that of the newest entry, after which a walk that is resumed would leave it out
				at = 0
			}
			sorted = slices.Insert(sorted, at, e)
		}
	}
	slices.SortStableFunc(sorted, func(a, b entry.Entry[V]) int { return cmp.Compare(b.Start, a.Start) })
	return sorted
}
