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
// that some would be skipped in silence.
//
// So each page overlaps what was read by one entry. As long as it holds an
// entry that was read lately, nothing lies between, and what was not read before
// is news. Where it holds none, entries went: the walk steps back, further each
// time, until a page holds one. A page that is newer as a whole than all that
// was read lately has been pushed back by arrivals: the walk goes on forward.
// The end is an empty page right behind the last entry.
//
// Several pages are read at once by requesting several offsets; each is
// processed when its turn comes, by the same rules.
type Offset[V any] struct {
	pageSize int
	slots    int

	wanted   int64       // the offset of the page to process next
	behind   int64       // the offset just behind what was read
	bare     bool        // the page wanted does not overlap: it looks for the end
	doubtful bool        // a bare page that was not empty has led to stepping back
	stepBack int64       // how far the last step back went; zero: none
	previous []Entry[V]  // the page processed last
	recent   []placed[V] // what was read lately, oldest first, without values

	ready    []placed[V] // to be handed out
	handed   []placed[V] // what was handed out lately, for the position
	resumeAt int64       // the offset to resume from behind what was handed out

	pages    map[int64][]Entry[V] // waiting for their turn
	inFlight []int64
	failed   map[int64]error
	emptyAt  int64 // an offset that showed an empty page: nothing is read ahead from there on
	ended    bool

	newest   int64      // the latest start seen
	top      []Entry[V] // the page that showed it last
	evidence float64    // that the offset is ignored
	ignored  error      // it is: no page can be trusted
	proven   bool       // a page has shown that the service heeds the offset
	unproven int        // requests made before that
}

// placed is an entry with the offset to resume from behind it: that of its
// page as long as the page is not handed out whole, for the order inside a page
// is not to be trusted.
type placed[V any] struct {
	Entry[V]
	resumeAt int64
}

const (
	recentEntries   = 64 // remembered while walking
	positionEntries = 20 // remembered in a position

	enoughEvidence = 8 // pages that show the top of the listing, whatever the offset
)

// NewOffset returns a walk over the entries behind the first offset ones, or
// behind resume if that is not nil, with up to slots requests in flight. A page
// holds up to pageSize entries.
func NewOffset[V any](offset int64, resume *Position, slots, pageSize int) *Offset[V] {
	w := &Offset[V]{
		pageSize: pageSize, slots: slots, wanted: offset, behind: offset,
		newest: math.MinInt64, emptyAt: math.MaxInt64, pages: map[int64][]Entry[V]{}, failed: map[int64]error{},
	}
	if resume != nil {
		w.behind, w.wanted, w.resumeAt = resume.At, max(0, resume.At-1), resume.At
		for _, id := range resume.Seen {
			w.recent = append(w.recent, placed[V]{Entry: Entry[V]{ID: id, Start: resume.Newest}})
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
	if err == nil && !slices.Contains(w.inFlight, w.wanted) { // else the page before is on its way
		err = w.ignored
	}
	return Entry[V]{Err: err}, err != nil
}

// Frontier implements [Walker]: offsets say nothing of starts.
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
		if _, known := w.pages[at]; known || slices.Contains(w.inFlight, at) {
			continue
		}
		w.inFlight = append(w.inFlight, at)
		w.unproven++
		return at, true
	}
	return 0, false
}

// readsAhead reports whether the pages behind the one that is wanted are worth
// requesting now.
func (w *Offset[V]) readsAhead() bool {
	return w.slots > 1 && w.newest != math.MinInt64 && !w.bare && w.stepBack == 0 &&
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
func (w *Offset[V]) Learn(at int64, page []Entry[V]) {
	w.landed(at)
	slices.SortStableFunc(page, func(a, b Entry[V]) int { return cmp.Compare(b.Start, a.Start) })
	if w.isIgnored(at, page) {
		w.ignored = Ignored("the top of the listing comes whatever the offset")
		return
	}
	if len(page) == 0 {
		w.emptyAt = min(w.emptyAt, at)
	}
	w.pages[at] = page
	for !w.ended {
		page, known := w.pages[w.wanted]
		if !known {
			break
		}
		delete(w.pages, w.wanted)
		w.process(w.wanted, page)
	}
	passed := func(at int64) bool { return at < w.wanted }
	maps.DeleteFunc(w.pages, func(at int64, _ []Entry[V]) bool { return passed(at) })
	maps.DeleteFunc(w.failed, func(at int64, _ error) bool { return passed(at) })
}

// isIgnored notices a service, or something on the way to it, that ignores the
// offset: it shows the top of the listing again and again. So may a listing at
// which many arrive, so the evidence is weighed: the same page again is much of
// it, but less the fewer arrivals would explain it, and a page of none but newer
// entries is little. An older page clears the service.
func (w *Offset[V]) isIgnored(at int64, page []Entry[V]) bool {
	if len(page) == 0 {
		return false
	}
	newest, again := page[0].Start, 0
	for _, e := range page {
		if contains(w.top, e.ID) {
			again++
		}
	}
	// As long as the top, for behind an offset a short listing shows less of it.
	same := again > len(w.top)/2 && len(page) >= len(w.top)
	if newest < w.newest || newest == w.newest && !same { // many may share the newest start
		w.proven, w.evidence = true, 0
		return false
	}
	w.newest, w.top = newest, page
	switch {
	case same:
		w.evidence += min(1, float64(at)/4)
	case at > 0:
		w.evidence += 0.1
	}
	if w.evidence < enoughEvidence {
		return false
	}
	w.evidence = 0
	return true
}

// process takes up the page that was wanted.
func (w *Offset[V]) process(at int64, page []Entry[V]) {
	newest, known, first := newestOf(w.recent), 0, 0 // first: known ones where the overlap is expected
	linked, allNewer := len(w.recent) == 0 || at == 0, len(page) > 0
	var fresh []Entry[V]
	for i, e := range page {
		switch {
		case slices.ContainsFunc(w.recent, func(r placed[V]) bool { return r.ID == e.ID }):
			if known++; int64(i) < w.behind-at {
				first++
			}
		case !contains(fresh, e.ID):
			fresh = append(fresh, e)
		}
		linked = linked || known > 0 || contains(w.previous, e.ID)
		allNewer = allNewer && e.Start > newest
	}
	switch {
	case linked:
		if len(w.recent) > 0 && (int64(known) != w.behind-at || first != known) {
			// The listing has shifted. What is newer than all that was read
			// lately was read before, or has arrived since.
			fresh = slices.DeleteFunc(fresh, func(e Entry[V]) bool { return e.Start > newest })
		}
	case allNewer:
		fresh = nil
	case w.bare && (len(page) == 0 || w.doubtful):
		// Nothing lies between: the page before it ended with what is known.
	default: // entries have gone: look further up for what was read
		w.doubtful, w.bare = w.doubtful || w.bare, false
		w.stepBack = max(int64(w.pageSize)-1, 2*w.stepBack, 1)
		w.wanted = max(0, at-w.stepBack)
		return
	}
	w.previous = page
	w.append(at, page, fresh)
}

// append makes what is news ready, and moves on.
func (w *Offset[V]) append(at int64, page, fresh []Entry[V]) {
	behind := at + int64(len(page))
	for i, e := range fresh {
		news := placed[V]{Entry: e, resumeAt: at + 1}
		if i == len(fresh)-1 {
			news.resumeAt = behind
		}
		w.ready = append(w.ready, news)
		w.recent = remember(w.recent, news, recentEntries)
	}
	if len(fresh) > 0 {
		w.doubtful = false
	}
	w.behind, w.stepBack, w.ended = behind, 0, len(page) == 0
	w.wanted = behind - 1
	if w.bare = w.wanted <= at; w.bare { // the same request would teach nothing
		w.wanted = behind
	}
}

func contains[V any](entries []Entry[V], id uint64) bool {
	return slices.ContainsFunc(entries, func(e Entry[V]) bool { return e.ID == id })
}

// remember appends e without its value, and forgets the first of more than most.
func remember[V any](list []placed[V], e placed[V], most int) []placed[V] {
	var none V
	e.Value = none
	if len(list) == most {
		list = slices.Delete(list, 0, 1)
	}
	return append(list, e)
}

func newestOf[V any](list []placed[V]) int64 {
	newest := int64(math.MinInt64)
	for _, e := range list {
		newest = max(newest, e.Start)
	}
	return newest
}
