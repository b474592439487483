package walk

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
)

// Offset walks a listing whose page is the entries from the n-th on, newest
// first. Such a listing shifts while it is read: an entry that arrives pushes
// all others back, so that some come again; one that goes pulls them forward, so
// that some would be skipped.
//
// So each page overlaps the one before by one entry. As long as a page holds a
// recent entry, one of those read last, nothing lies between, and its other
// entries are new. If it holds none, entries went: the walk steps back, further
// each time, until a page holds one. A page of which every entry is newer than
// the recent ones was pushed back by arrivals: the walk goes on forward. The end
// is an empty page right behind the last entry.
//
// Several pages are read at once by requesting several offsets; each is
// processed when its turn comes, by the same rules.
type Offset[V any] struct {
	pageSize int
	slots    int

	wanted   int64       // the offset of the page to process next
	behind   int64       // the offset just behind the entries read
	bare     bool        // the page wanted does not overlap the one before: it looks for the end
	doubts   int         // bare pages from which the walk stepped back since there was a new entry
	idle     int         // pages in a row without a new entry
	pushed   bool        // most of the page processed last had been read before: arrivals push the listing back
	short    bool        // the page processed last was short, as at the end of the listing
	longest  int64       // entries of the longest page
	stepBack int64       // how far the last step back went; zero: none
	previous []Entry[V]  // the page processed last
	recent   []placed[V] // the entries read last, oldest first, without values

	ready    []placed[V] // to be taken
	handed   []placed[V] // the entries taken last, for the position
	resumeAt int64       // the offset to resume from behind them
	unplaced unplaced    // the last entries without a place that were read

	pages    map[int64]offsetPage[V] // waiting for their turn
	inFlight []int64
	failed   map[int64]error
	emptyAt  int64 // the offset of an empty page: nothing is read ahead from there on
	ended    bool

	newest   int64      // the latest start seen
	top      []Entry[V] // the last page that held it
	evidence float64    // that the offset is ignored
	ignored  error      // the offset is ignored: no page can be trusted
	proven   bool       // a page has proved that the service heeds the offset
	unproven int        // requests made before that
}

// placed is an entry with the offset to resume from behind it: that of its page
// until the whole page was taken, because the order inside a page is not reliable.
type placed[V any] struct {
	Entry[V]
	resumeAt int64
}

// offsetPage is a page, newest first.
type offsetPage[V any] struct {
	placed   []Entry[V]
	unplaced []Entry[V]
	length   int64
	tail     int64 // how many at its end have no place
}

const (
	recentEntries   = 64 // remembered while walking
	positionEntries = 20 // remembered in a position
)

// NewOffset returns a walk over the entries behind the first offset ones, or
// behind resume if that is not nil, with up to slots requests in flight. A page
// holds up to pageSize entries.
func NewOffset[V any](offset int64, resume *Position, slots, pageSize int) *Offset[V] {
	w := &Offset[V]{
		pageSize: pageSize, slots: slots, wanted: offset, behind: offset,
		newest: math.MinInt64, emptyAt: math.MaxInt64, pages: map[int64]offsetPage[V]{}, failed: map[int64]error{},
	}
	if resume != nil {
		w.behind, w.wanted, w.resumeAt = resume.At, max(0, resume.At-1), resume.At
		for _, id := range resume.Seen {
			w.recent = append(w.recent, placed[V]{Entry: Entry[V]{ID: id, Start: resume.Newest}})
			w.unplaced.add(id)
		}
		w.handed = slices.Clone(w.recent)
	}
	return w
}

// Position implements [Walker].
func (w *Offset[V]) Position() *Position {
	if len(w.handed) == 0 {
		return nil
	}
	p := &Position{At: w.resumeAt, Newest: newestOf(w.handed)}
	for _, e := range w.handed {
		p.Seen = append(p.Seen, e.ID)
	}
	return p
}

// Done implements [Walker].
func (w *Offset[V]) Done() bool { return w.ended && len(w.ready) == 0 }

// Restart implements [Walker].
func (w *Offset[V]) Restart() {
	clear(w.failed)
	w.ignored, w.unproven = nil, 0
}

// Peek implements [Walker].
func (w *Offset[V]) Peek() (Entry[V], bool) {
	if len(w.ready) > 0 {
		return w.ready[0].Entry, true
	}
	err := w.failed[w.wanted]
	if err == nil && !slices.Contains(w.inFlight, w.wanted) { // else the page before it is in flight
		err = w.ignored
	}
	return Entry[V]{Err: err}, err != nil
}

// Frontier implements [Walker]. Nothing follows from an offset about starts.
func (w *Offset[V]) Frontier() int64 { return Latest }

// Waiting implements [Walker].
func (w *Offset[V]) Waiting() int { return len(w.ready) }

// Take implements [Walker].
func (w *Offset[V]) Take() (Entry[V], bool) {
	if len(w.ready) == 0 {
		return w.Peek()
	}
	e := w.ready[0]
	w.ready[0] = placed[V]{}
	w.ready = w.ready[1:]
	w.handed = remember(w.handed, e, positionEntries)
	w.resumeAt = e.resumeAt
	return e.Entry, true
}

// Next returns the offset that is wanted, and with slots left over those that
// follow it if nothing shifts.
func (w *Offset[V]) Next() (int64, bool) {
	stride := int64(max(1, w.pageSize-1))
	for ahead := range int64(lookAhead * w.slots) {
		at := w.wanted + ahead*stride
		if w.ended || w.ignored != nil || w.failed[at] != nil || ahead > 0 && (!w.readsAhead() || at > w.emptyAt) {
			break
		}
		if w.has(at) {
			continue
		}
		w.inFlight = append(w.inFlight, at)
		w.unproven++
		return at, true
	}
	return 0, false
}

// readsAhead reports whether pages behind the one that is wanted are worth
// requesting now.
func (w *Offset[V]) readsAhead() bool {
	return w.slots > 1 && w.newest != math.MinInt64 && !w.bare && !w.pushed && w.stepBack == 0 &&
		(w.proven || w.unproven < unprovenLimit) && len(w.ready) < lookAhead*w.pageSize*w.slots
}

// landed removes at from the requests in flight.
func (w *Offset[V]) landed(at int64) {
	if i := slices.Index(w.inFlight, at); i >= 0 {
		w.inFlight = slices.Delete(w.inFlight, i, i+1)
	}
}

// Fail implements [Walker].
func (w *Offset[V]) Fail(at int64, err error) {
	w.landed(at)
	_, ignored := errors.AsType[Ignored](err)
	switch {
	case ignored:
		w.ignored = err
	case at >= w.wanted:
		w.failed[at] = err
	}
}

// Learn implements [Walker].
func (w *Offset[V]) Learn(at int64, entries []Entry[V]) {
	w.landed(at)
	page := offsetPage[V]{length: int64(len(entries))}
	for i := len(entries) - 1; i >= 0 && entries[i].Unplaced; i-- {
		page.tail++
	}
	page.placed, page.unplaced = unplacedOf(entries)
	slices.SortStableFunc(page.placed, func(a, b Entry[V]) int { return cmp.Compare(b.Start, a.Start) })
	if w.isIgnored(at, page.placed) {
		w.ignored = Ignored("the top of the listing comes whatever the offset")
		return
	}
	if w.longest = max(w.longest, page.length); page.length == 0 {
		w.emptyAt = min(w.emptyAt, at)
	}
	w.pages[at] = page
	for !w.ended {
		page, ok := w.pages[w.wanted]
		if !ok {
			break
		}
		delete(w.pages, w.wanted)
		w.process(w.wanted, page)
	}
	passed := func(at int64) bool { return at < w.wanted }
	maps.DeleteFunc(w.pages, func(at int64, _ offsetPage[V]) bool { return passed(at) })
	maps.DeleteFunc(w.failed, func(at int64, _ error) bool { return passed(at) })
}

// process takes the new entries from the wanted page, and chooses the next one.
func (w *Offset[V]) process(at int64, page offsetPage[V]) {
	unplaced := slices.DeleteFunc(page.unplaced, func(e Entry[V]) bool { return w.unplaced.has(e.ID) })
	if len(page.placed) == 0 && len(unplaced) > 0 {
		w.failed[at] = &UnplacedError[V]{First: unplaced[0]}
		return
	}
	newest, repeated, first := newestOf(w.recent), 0, 0 // first: repeated entries where the overlap is expected
	linked, allNewer := len(w.recent) == 0 || at == 0, len(page.placed) > 0
	var fresh []Entry[V]
	for i, e := range page.placed {
		switch {
		case slices.ContainsFunc(w.recent, func(r placed[V]) bool { return r.ID == e.ID }):
			if repeated++; int64(i) < w.behind-at {
				first++
			}
		case !contains(fresh, e.ID):
			fresh = append(fresh, e)
		}
		linked = linked || repeated > 0 || contains(w.previous, e.ID)
		allNewer = allNewer && e.Start > newest
	}
	switch {
	case linked:
		if len(w.recent) > 0 && (repeated == 0 || int64(repeated) != w.behind-at || first != repeated) {
			// The listing has shifted. An entry newer than all recent ones was
			// read before, or has arrived since.
			fresh = slices.DeleteFunc(fresh, func(e Entry[V]) bool { return e.Start > newest })
		}
	case allNewer:
		fresh = nil
	case w.bare && (page.length == 0 && w.short || w.doubts >= w.maxDoubts()):
		// Nothing lies between: the page before ended the listing, or the walk
		// has stepped back often enough.
	default: // entries have gone: look further up for recent ones
		if w.bare {
			w.doubts++
		}
		w.bare = false
		w.stepBack = max(int64(w.pageSize)-1, 2*w.stepBack, 1)
		w.wanted = max(0, at-w.stepBack)
		return
	}
	for _, e := range unplaced {
		w.unplaced.add(e.ID)
	}
	w.hand(append(fresh, unplaced...), at, page.length)
	w.previous, w.stepBack, w.behind = page.placed, 0, at+page.length
	w.pushed = 2*len(fresh) < len(page.placed)
	w.advance(at, page, len(fresh) > 0)
}

// hand makes the new entries of the page at an offset ready to be taken.
func (w *Offset[V]) hand(fresh []Entry[V], at, length int64) {
	for i, e := range fresh {
		p := placed[V]{Entry: e, resumeAt: at + 1}
		if i == len(fresh)-1 {
			p.resumeAt = at + length
		}
		w.ready = append(w.ready, p)
		if !e.Unplaced {
			w.recent = remember(w.recent, p, recentEntries)
		}
	}
}

// advance chooses the page after the one at an offset. It overlaps that by one
// entry with a place. If the page has no new entry, arrivals push the listing
// back as fast as it is read: the next page does not overlap. If it is short as
// well, it ends the listing, which only an empty page proves: the walk looks for
// one in growing steps, which no arrivals outrun.
func (w *Offset[V]) advance(at int64, page offsetPage[V], progress bool) {
	w.ended, w.short = page.length == 0, page.length < max(w.longest, 2)
	overlapping := w.behind - 1 - page.tail
	if progress {
		w.doubts, w.idle = 0, 0
	} else {
		w.idle++
	}
	cut := page.length >= int64(w.pageSize) // more may follow it
	switch {
	case overlapping > at && (progress || w.has(overlapping) || cut && w.doubts > 0 && w.idle%2 == 1):
		w.wanted, w.bare = overlapping, false
	case progress || cut:
		w.wanted, w.bare = w.behind, true
	default:
		growth := w.idle - 1
		if w.doubts > 0 {
			growth = w.idle / 4
		}
		w.wanted, w.bare = max(w.behind, at+max(w.longest, 1)<<min(growth, 20)), true
	}
}

// maxDoubts returns how often the walk steps back from a page that does not
// overlap before it accepts it: nothing proves that no entry lies between. Pages
// of a single entry never overlap.
func (w *Offset[V]) maxDoubts() int {
	switch n := len(w.previous); {
	case n <= 1:
		return 1
	case n < w.pageSize:
		return 2
	}
	return 8
}

// has reports whether the page at an offset has arrived or is in flight.
func (w *Offset[V]) has(at int64) bool {
	_, here := w.pages[at]
	return here || slices.Contains(w.inFlight, at)
}

func contains[V any](entries []Entry[V], id uint64) bool {
	return slices.ContainsFunc(entries, func(e Entry[V]) bool { return e.ID == id })
}

// remember appends e without its value. It keeps the last most entries and those
// that share the start of the first of them, so that every forgotten entry is
// newer than every remembered one. It keeps at most four times as many.
func remember[V any](list []placed[V], e placed[V], most int) []placed[V] {
	var none V
	e.Value = none
	list = append(list, e)
	first := 1 // how many share the start of the first
	for first < len(list) && list[first].Start == list[0].Start {
		first++
	}
	switch {
	case len(list)-first >= most:
		return slices.Delete(list, 0, first)
	case len(list) > 4*most:
		return slices.Delete(list, 0, 1)
	}
	return list
}

func newestOf[V any](list []placed[V]) int64 {
	newest := int64(math.MinInt64)
	for _, e := range list {
		newest = max(newest, e.Start)
	}
	return newest
}
