// Package listing reads a paged listing: newest entry first from a position on, several pages at
// once, or, by polling, each entry that appears. Its caller says how a page is requested. Which page
// is needed next, and which entries are yielded, is decided by the packages walk and follow.
package listing

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/horseracing-go/horseracing/internal/entry"
	"github.com/horseracing-go/horseracing/internal/poll"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// Entry is an entry of a listing, or an error in its place.
type Entry[T any] = entry.Entry[*T]

// Listing is a paged listing.
type Listing[T any] struct {
	Name     string // of its operation, for errors
	ByOffset bool   // pages are requested by offset, not by start time

	// Page requests the page from a start time or an offset on. An entry without an id or with
	// NoStart has an error.
	Page func(ctx context.Context, r walk.Request) ([]Entry[T], error)
}

// pageSize is the most entries of a page, which is documented:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#8-limits
const pageSize = 10

// NoPlaceError reports that no entry of a page has a place in the listing.
type NoPlaceError struct{ Err error } // of an entry

func (e *NoPlaceError) Error() string { return e.Err.Error() }

// errTies is the error of an entry with Ties.
var errTies = errors.New("a whole page starts at one instant")

// errAborted is the outcome of a request whose goroutine was ended by the caller's code
// (a RoundTripper, a handler, a t.Fatal in one).
var errAborted = errors.New("the request's goroutine was ended by code that it called")

// named returns an error with the name of the operation.
func (l *Listing[T]) named(err error) error { return fmt.Errorf("%s: %w", l.Name, err) }

// fetch requests a page, and gives its entries their places.
func (l *Listing[T]) fetch(ctx context.Context, r walk.Request) ([]Entry[T], error) {
	if r.Pause {
		if err := poll.Sleep(ctx, poll.EmptyDelay); err != nil {
			return nil, l.named(err)
		}
	}
	page, err := l.Page(ctx, r)
	if err != nil {
		return nil, err
	}
	return page, l.place(page, r.From)
}

// place gives each entry of a page its place: its id and its start. One without a start gets the newest
// start of the page: it comes first, so that no position after another entry of the page leaves it out.
//
// A page by time is an error as a whole if none of its entries has a start: it does not show
// where the next page begins. A full page is one, too, if no entry has both an id and a start:
// then the listing has another form, and ten errors would say no more.
func (l *Listing[T]) place(page []Entry[T], from int64) error {
	newest, hasPlace, hasStart := int64(0), false, false
	for i := range page {
		newest = max(newest, page[i].Start)
	}
	var problem error
	for i := range page {
		e := &page[i]
		hasStart = hasStart || !e.NoStart
		if e.NoStart {
			e.Start = newest
		}
		if !l.ByOffset && e.Start > from {
			return &walk.IgnoredError{How: "an entry starts after start_time_from"}
		}
		switch {
		case e.ID == "" || e.NoStart:
			e.ID, problem = noIDMark+hashOf(string(e.JSON)), e.Err
		case len(e.ID) > maxID:
			e.ID, hasPlace = noIDMark+hashOf(e.ID), true
		default:
			hasPlace = true
		}
	}
	if len(page) >= pageSize && !hasPlace || !l.ByOffset && len(page) > 0 && !hasStart {
		return &NoPlaceError{problem}
	}
	return nil
}

// noIDMark begins the id that stands for one that is missing, or longer than maxID bytes: a cursor
// contains some, and is at most maxText long. No other id has it.
const (
	noIDMark = "\x00"
	maxID    = 64
)

// hashOf returns a short text that distinguishes a text from others.
func hashOf(text string) string {
	hash := sha256.Sum256([]byte(text))
	return strconv.FormatUint(binary.BigEndian.Uint64(hash[:]), 36)
}
