// Package listing reads a paged listing: newest entry first from a position on, several pages at
// once, or, by polling, each entry that appears. Its caller says how a page is requested. Which page
// is needed next, and which entries are yielded, is decided by the packages walk and follow.
package listing

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strconv"

	"github.com/horseracing-go/horseracing/internal/entry"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// Listing is a paged listing.
type Listing[T any] struct {
	ByOffset bool // pages are requested by offset, not by start time

	// Page requests the page from a start time or an offset on. An entry without an id or with
	// NoStart has an error. A page by time has an entry with a start, or none at all.
	Page func(ctx context.Context, r walk.PageRequest) ([]entry.Entry[*T], error)

	// Fail makes the caller's error of what is wrong with the listing: a *walk.Problem or the error
	// of a context.
	Fail func(problem error) error
}

// PageSize is the most entries of a page, which is documented:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#8-limits
const PageSize = 10

// errAborted is the outcome of a request whose goroutine was ended by the caller's code
// (a RoundTripper, a handler, a t.Fatal in one).
var errAborted = errors.New("the request's goroutine was ended by code that it called")

// fetch requests a page, and gives each of its entries an id and a start. One without a start gets
// the newest start of the page: it comes first, so that no position after another entry of the
// page leaves it out.
func (l *Listing[T]) fetch(ctx context.Context, r walk.PageRequest) ([]entry.Entry[*T], error) {
	if r.Pause {
		if err := Sleep(ctx, EmptyDelay); err != nil {
			return nil, l.Fail(err)
		}
	}
	page, err := l.Page(ctx, r)
	newest := int64(0)
	for i := range page {
		newest = max(newest, page[i].Start)
	}
	for i := range page {
		switch e := &page[i]; {
		case e.NoStart:
			e.Start, e.ID = newest, noIDMark+hashOf(string(e.JSON))
		case e.ID == "":
			e.ID = noIDMark + hashOf(string(e.JSON))
		case len(e.ID) > maxID:
			e.ID = noIDMark + hashOf(e.ID)
		}
	}
	return page, err
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
