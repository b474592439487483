package listing

import (
	"context"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing/internal/entry"
	"github.com/horseracing-go/horseracing/internal/follow"
	"github.com/horseracing-go/horseracing/internal/walk"
)

// Poller polls a listing by start time for the entries that appear.
type Poller[T any] struct {
	*Listing[T]
	Progress    *follow.Progress[*T]
	Schedule    Schedule
	Concurrency int
	known       walk.Position // the newest entry with a start that a poll has read; not part of the cursor
	shown       walk.Shown    // what the listing has shown; not part of the cursor
}

// Poll reads the entries that start at settled or later, and passes the new ones to the poller's
// progress. It goes forward, window by window. A window is a range of starts, which one [Reader] reads,
// newest entry first. Once all of it was read, its new entries are yielded, oldest first, and the next
// window begins where it ends. The first window has no end, so that it shows the newest entry. If there
// is little to catch up with, it is the only one.
//
// If a window has too many new entries, or a page of it fails again and again, nothing of it is
// yielded, and a shorter one is read instead, from the same instant on. For 1,000 races, one a minute
// from 0 on, in pages of ten:
//
//	[0, no end)     the newest page, races 990 to 999, is all new; a quarter of the rest is tried
//	[0, 247½)       races 238 to 247 are too many, as are those of [0, 59½) and [0, 12½)
//	[0, ¾)          race 0 is yielded; the next window is four times as long
//	[¾, 3¾)         races 1 to 3 are yielded, and then those of [3¾, 15¾), [15¾, 63¾) and [63¾, 255¾)
//	[255¾, no end)  all others are yielded, as a window of 768 minutes would end after the newest race
//
// In case of trouble:
//
//	a late result       is yielded by the next poll, if its entry starts at settled or later
//	a missing result    makes its race wait, as follow.Progress describes
//	an outage           yields the error of each page that fails, with a backoff after it; nothing is passed over
//	a broken page       yields its error at each attempt; older entries are yielded, newer ones wait
//	an unreadable entry yields its error once, because the error counts as yielded
//	an empty page       is the end if it comes twice, the known entry is shown in between, and no older one was ever shown
type Poll[T any] struct {
	poller *Poller[T]
	began  int64      // when the poll began, by the local clock
	low    int64      // entries that start earlier were read and yielded; it is noEnd after the last window, and zero at the first poll of a follower that has no position
	window *window[T] // the one that is being read, or nil between two
	length int64      // of the next window, in milliseconds
	limit  int        // how many new entries a window may have, unless all share one start
	newest int64      // the latest start that this poll has read, which is that of poller.known, or zero if it has read none
}

// window is a range of starts, from low on and before high, and the entries that were read of it.
type window[T any] struct {
	reader    *Reader[T]
	low, high int64
	reached   int64             // entries that start at this instant or later were read: low if all were, high if none
	fresh     []entry.Entry[*T] // new entries, newest first, including ties and unreadable ones
}

const (
	firstLimit  = PageSize - 1 // new entries of the first window of a poll: if its newest page is all new, there is much to catch up with
	fullLimit   = 4000         // after a window that had new entries
	maxFailures = 4            // of one page in a row; then a shorter window is tried, which may not need that page

	noEnd = walk.Latest + 1 // the upper end of the last window of a poll
)

// Poll begins a poll.
func (f *Poller[T]) Poll() *Poll[T] {
	waited := f.Progress.Begin()
	return &Poll[T]{poller: f, began: time.Now().UnixMilli(), low: f.Progress.Settled, length: noEnd, limit: firstLimit + waited}
}

// IsDone reports whether all of the poll was read.
func (p *Poll[T]) IsDone() bool { return p.low == noEnd }

// Next reads the next window, and passes its new entries to the progress. After an error it is
// called again, and requests the page that failed, or reads a shorter window.
func (p *Poll[T]) Next(ctx context.Context) error {
	if p.low == 0 {
		p.low = noEnd // if it fails, the next poll starts again
		return p.first(ctx)
	}
	for {
		if p.window == nil {
			p.window = p.open(p.low)
		}
		w := p.window
		err := p.read(ctx, w)
		if isStuck := p.poller.Schedule.Failures%maxFailures == maxFailures-1; err != nil && (!isStuck || p.newest == 0) {
			return err
		}
		p.window = nil
		if w.reached == w.low {
			return p.pass(w)
		}
		isFirst := p.length == noEnd
		p.length, p.limit = max(1, (w.reached-w.low)/4), firstLimit
		if err == nil && isFirst {
			err = p.skipGap(ctx, w.low, w.reached)
		}
		if err != nil {
			return err
		}
	}
}

// open returns a window of which nothing was read yet. It has no end if its length reaches the
// newest entry.
func (p *Poll[T]) open(low int64) *window[T] {
	f, high := p.poller, int64(noEnd)
	if p.newest-low > p.length {
		high = low + p.length
	}
	reader := &Reader[T]{Listing: f.Listing, Known: f.known, Concurrency: max(1, min(f.Concurrency, 1+p.limit/(5*PageSize)))}
	reader.Since, reader.Position = low, walk.Position{At: high - 1, Shown: f.shown}
	return &window[T]{reader: reader, low: low, high: high, reached: high}
}

// read reads on, newest entry first, until a window has too many new entries that do not
// all share a start. After an error it continues with the page that failed.
func (p *Poll[T]) read(ctx context.Context, w *window[T]) error {
	f := p.poller
	loop := w.reader.Loop(ctx)
	defer func() { loop.End(); f.shown = w.reader.Position.Shown }()
	for e, ok := loop.Next(); ok; e, ok = loop.Next() {
		if e.Err != nil && !e.IsOfPart() {
			return e.Err
		}
		f.Schedule.Failures = 0
		if e.Start > p.newest && e.Ties == 0 && !e.NoStart {
			p.newest, f.known = e.Start, walk.Position{At: e.Start, Seen: []string{e.ID}}
		}
		if w.reached = e.Start + 1; f.Progress.IsNew(e) { // others may share its start
			w.fresh = append(w.fresh, e)
		}
		if len(w.fresh) > p.limit && w.low < e.Start && e.Start < w.fresh[0].Start {
			return nil
		}
	}
	w.reached = w.low
	return nil
}

// pass passes the new entries of a window to the progress. They determine the length of the next
// one. The local clock only keeps an entry that is dated in the future from raising settled: if it
// is behind, settled rises later, and no entry is missed.
func (p *Poll[T]) pass(w *window[T]) error {
	f, n := p.poller, len(w.fresh)
	p.low, p.length = w.high, w.high-w.low
	if p.newest == 0 && len(f.Progress.Seen) > 0 {
		return f.Fail(walk.ErrEmptied)
	}
	f.Schedule.Failures = 0 // also if the window was empty
	if n == 0 {
		p.length *= 2
	} else if p.limit = fullLimit; n < fullLimit/8 { // four times as many, and even twice that, fit into the next one
		p.length *= 4
	}
	slices.Reverse(w.fresh)
	f.Progress.Add(w.fresh, min(p.newest, p.began))
	return nil
}

// skipGap lengthens the next window if no entry starts in the older half of a range, as before the
// beginning of a listing: it ends at the first entry, which is found by halving. The empty windows
// that this saves would each cost a pause and the checks of an empty page. A wrong page at most costs
// requests, because it only determines a length.
func (p *Poll[T]) skipGap(ctx context.Context, from, high int64) error {
	for low, n := from, 0; high-low > 1 && (n == 0 || n >= PageSize); {
		middle := low + (high-low)/2
		page, err := p.poller.fetch(ctx, walk.PageRequest{From: middle})
		if n = len(page); err != nil || n > 0 && low == from {
			return err
		} else if n == 0 {
			low = middle
		}
		for _, e := range page {
			high = min(high, e.Start)
		}
	}
	p.length = max(p.length, high-from)
	return nil
}

// first is the first poll of a follower that has no position. It settles one lookback before the
// newest entry. In an empty listing, everything that is listed later is new, whatever the clocks show.
func (p *Poll[T]) first(ctx context.Context) error {
	f, w, failures := p.poller, p.open(1), p.poller.Schedule.Failures
	err := p.read(ctx, w)
	if err == nil && p.newest > 0 {
		p.limit = follow.Bound
		w = p.open(max(1, min(p.newest, p.began)-f.Progress.Lookback))
		err = p.read(ctx, w)
	}
	if err != nil {
		f.Schedule.Failures = failures // pages that were read do not count: all of them are requested again
		return err
	}
	slices.Reverse(w.fresh)
	f.Progress.SkipListed(w.reached, w.fresh)
	return nil
}
