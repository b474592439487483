package walk

import (
	"cmp"
	"slices"
)

// Time walks a listing that is paged by start time, newest first: a page requested from T
// holds the latest entries that start before T.
//
// The time that is to be read is cut into windows. Each is read from its upper end down,
// one page after the other, and its entries are taken once the windows above it are empty.
// At first there is one window. If one more request may be in flight, and every window has
// one, the longest window is cut in two.
//
//	newest ────────────────────────────────────────────────────► oldest
//	[■■■■■■■■······][■■■■■■■···········][■■···········][·········
//	  ready   ▲ to be read (low to high)
//	          high
//
// A page requested from T whose lowest start is L holds every entry between them. More
// entries that start at L may be beyond the page's edge, so the next request is from L + 1
// ms, and the entries seen before are dropped. If nothing older came, the next request is
// from L. Only an empty page is the end, at once if it is below a page that had room for
// older entries and showed none, or one whose entries all have no start.
type Time[V any] struct {
	windows   []*window[V] // newest first
	position  *Position    // after the entries taken
	pageSize  int
	ahead     int  // entries that may wait to be taken
	waiting   int  // those that do
	inFlight  int  // requests
	pages     int  // that have come
	shown     bool // the listing has had an entry
	hasFailed bool // a request
}

// window is a range of instants, and what was read of it.
type window[V any] struct {
	ready     []Entry[V] // read and not taken, newest first
	low, high int64      // the instants that are to be read, none if low > high
	span      float64    // milliseconds of a page here; 0 if not known
	isSent    bool       // a request for it is in flight
	empty     int        // how often its last page was empty
	isLast    bool       // its last page had room for older entries, and showed none
	failed    error      // of its request
}

const (
	lookAhead = 32 // pages for each request in flight that may wait to be taken
	stride    = 12 // pages for which the density of the entries read is a fair estimate
	shortest  = 2  // pages of a window that is cut
	firstFew  = 5  // requests in flight at first, and for each page that has come: the service may ignore start_time_from
)

// NewTime returns a walk from a position, which it keeps current, down to the entries that
// start at since, with that many requests in flight.
func NewTime[V any](since int64, position *Position, requests, pageSize int) *Time[V] {
	w := &Time[V]{position: position, pageSize: pageSize, ahead: lookAhead * pageSize * requests, shown: len(position.Seen) > 0}
	w.windows = w.finished([]*window[V]{{low: since, high: position.At}})
	return w
}

// Done reports whether everything was taken.
func (w *Time[V]) Done() bool { return len(w.windows) == 0 }

// finished returns the windows without those that have nothing any more.
func (w *Time[V]) finished(windows []*window[V]) []*window[V] {
	return slices.DeleteFunc(windows, func(x *window[V]) bool { return len(x.ready) == 0 && x.low > x.high })
}

// pages returns for how many pages a window is expected to have entries, two strides at most.
func (x *window[V]) pages() float64 {
	if x.span == 0 || x.empty > 0 || x.isLast {
		return 0
	}
	return min((float64(x.high)-float64(x.low))/x.span, 2*stride)
}

// Next returns the page that is needed soonest: that of the latest instant. Nothing is
// requested below a failed request. If many entries wait, only what Take waits for is.
func (w *Time[V]) Next() (Request, bool) {
	var next, longest *window[V]
	for i, x := range w.windows {
		isNeeded := i == 0 && len(x.ready) == 0
		if x.failed != nil || w.waiting >= w.ahead && !isNeeded {
			break
		}
		if x.low <= x.high && !x.isSent {
			next = x
			break
		}
		if pages := x.pages(); pages > shortest && (longest == nil || pages > longest.pages()) {
			longest = x
		}
	}
	if w.inFlight >= firstFew*(w.pages+1) {
		return Request{}, false
	}
	if next == nil && longest != nil && !w.hasFailed {
		next = w.cut(longest)
	}
	if next == nil {
		return Request{}, false
	}
	next.isSent = true
	w.inFlight++
	return Request{At: next.high + 1, Empty: next.empty}, true
}

// cut cuts a window in the middle, but at most a stride below its upper end, and returns
// its lower part.
func (w *Time[V]) cut(x *window[V]) *window[V] {
	below := &window[V]{low: x.low, high: x.high - int64(x.pages()/2*x.span), span: x.span}
	x.low = below.high + 1
	w.windows = slices.Insert(w.windows, slices.Index(w.windows, x)+1, below)
	return below
}

// Learn processes what came of a request.
func (w *Time[V]) Learn(r Request, page []Entry[V], failed error) {
	w.inFlight--
	i := slices.IndexFunc(w.windows, func(x *window[V]) bool { return x.isSent && x.high+1 == r.At })
	if i < 0 {
		return // the window was joined with one above it
	}
	x := w.windows[i]
	if x.isSent = false; failed != nil {
		x.failed, w.hasFailed = failed, true
		return
	}
	w.pages++
	page = sortPage(page)
	// The page may prove that windows below have nothing either. They are joined.
	for i+1 < len(w.windows) && len(w.windows[i+1].ready) == 0 && (len(page) == 0 || page[0].Start < x.low) {
		x.low = w.windows[i+1].low
		w.windows = slices.Delete(w.windows, i+1, i+2)
	}
	switch {
	case len(page) > 0:
		w.waiting -= len(x.ready)
		w.add(x, page)
		w.waiting += len(x.ready)
	case x.isLast || r.isEnd(w.shown):
		x.high = x.low - 1
	default:
		x.empty++
	}
	w.windows = w.finished(w.windows)
}

// add adds the entries of a page to a window, and lowers its upper end to the last instant
// of the page.
func (w *Time[V]) add(x *window[V], page []Entry[V]) {
	fresh := slices.DeleteFunc(slices.Clone(page), func(e Entry[V]) bool {
		isTaken := e.Start == w.position.At && slices.Contains(w.position.Seen, e.ID)
		return e.Start < x.low || e.Start > x.high || e.Start == x.high && (isTaken || slices.ContainsFunc(x.ready, e.isSame))
	})
	x.ready = append(x.ready, fresh...)
	x.empty, w.shown = 0, true
	isFull, bottom := len(page) >= w.pageSize, page[len(page)-1].Start
	if len(fresh) > 2 { // else most of the page is elsewhere
		from := fresh[0].Start
		if x.span > 0 {
			from = x.high // what is empty above counts
		}
		span := float64(from-bottom) * float64(w.pageSize) / float64(len(page))
		x.span = max(1, 0.7*cmp.Or(x.span, span)+0.3*span)
	}
	isTie := isFull && page[0].Start == bottom
	switch {
	case bottom < x.low || !slices.ContainsFunc(page, func(e Entry[V]) bool { return !e.Adrift }):
		x.high = x.low - 1
	case isTie:
		x.ready = append(x.ready, Entry[V]{Start: bottom, Ties: len(page)})
		x.high, x.isLast = bottom-1, false
	case bottom == x.high: // nothing older came
		x.high, x.isLast = bottom-1, !isFull
	default:
		x.high = bottom
	}
}

// Take returns the next entry, or the error in its position. It reports false if a page is
// missing that may have a later one.
func (w *Time[V]) Take() (e Entry[V], ok bool) {
	if len(w.windows) == 0 {
		return e, false
	}
	x := w.windows[0]
	if len(x.ready) == 0 {
		return Entry[V]{Start: x.high, Err: x.failed}, x.failed != nil
	}
	e, x.ready[0] = x.ready[0], Entry[V]{}
	x.ready = x.ready[1:]
	w.waiting--
	w.windows = w.finished(w.windows)
	switch {
	case e.Ties > 0:
		*w.position = Position{At: e.Start - 1}
	case e.Start < w.position.At:
		*w.position = Position{At: e.Start, Seen: []string{e.ID}}
	default:
		w.position.Seen = append(w.position.Seen, e.ID)
	}
	return e, true
}
