package horseracing

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
)

// offsetWalk reads a listing that answers the question "ten entries from the
// n-th on", newest first. Such a listing shifts while it is read: an entry that
// arrives pushes all others back, so that some come again; one that goes pulls
// them forward, so that some would be skipped in silence.
//
// So each question overlaps what was read by one entry. As long as the answer
// holds an entry that was read lately, nothing lies between, and what was not
// read before is news. Where it holds none, entries went: the walk steps back,
// further each time, until it finds one. A page that is newer as a whole than
// all that was read lately has been pushed back by arrivals: the walk goes on
// forward. The end is an empty page right behind the last entry.
//
// Several pages are read at once by asking for several offsets; each is taken
// up when its turn comes, by the same rules.
type offsetWalk[T any] struct {
	op     operation
	slots  int
	want   int64            // the offset whose page is needed next
	read   int64            // the offset just behind what was read
	bare   bool             // the page wanted does not overlap: it looks for the end
	doubt  bool             // a bare page that was not empty has been answered by stepping back
	back   int64            // how far the last step back went; zero: none
	last   []entry[T]       // the page taken up last
	recent []offsetEntry[T] // what was read lately, oldest first, without values
	ready  []offsetEntry[T] // to be handed out
	kept   []offsetEntry[T] // what was handed out lately, for the cursor
	pages  map[int64][]entry[T]
	asked  []int64
	failed map[int64]error
	empty  int64 // an offset that showed an empty page: nothing is read ahead from there on
	end    bool
	taken  int64 // the offset to resume from behind what was handed out

	newest   int64      // the latest start seen
	shown    []entry[T] // the page that showed it last
	evidence float64    // that the offset is ignored
	ignored  error      // it is: no page can be trusted
	proven   bool       // an answer has shown that the service heeds the offset
	unproven int        // questions asked before that
}

// offsetEntry is an entry with the offset to resume from behind it: that of its
// page as long as the page is not handed out whole, for the order inside a page
// is not to be trusted.
type offsetEntry[T any] struct {
	entry[T]
	resume int64
}

const (
	recentEntries = 64 // remembered while walking
	cursorEntries = 20 // remembered in a cursor

	enoughEvidence = 8 // answers that show the top of the listing, whatever the offset
)

func newOffsetWalk[T any](op operation, offset int64, resume Cursor, slots int) *offsetWalk[T] {
	w := &offsetWalk[T]{
		op: op, slots: slots, want: offset, read: offset, taken: resume.at, newest: math.MinInt64, empty: math.MaxInt64,
		pages: map[int64][]entry[T]{}, failed: map[int64]error{},
	}
	if !resume.IsZero() {
		w.read, w.want = resume.at, max(0, resume.at-1)
		for _, id := range resume.seen {
			w.recent = append(w.recent, offsetEntry[T]{entry: entry[T]{id: id, start: resume.newest}})
		}
		w.kept = slices.Clone(w.recent)
	}
	return w
}

func (w *offsetWalk[T]) place() Cursor {
	if len(w.kept) == 0 {
		return Cursor{}
	}
	c := Cursor{at: w.taken, newest: newestOf(w.kept)}
	for _, e := range w.kept {
		c.seen = append(c.seen, e.id)
	}
	return c
}

func (w *offsetWalk[T]) done() bool { return w.end && len(w.ready) == 0 }

func (w *offsetWalk[T]) restart() {
	clear(w.failed)
	w.ignored, w.unproven = nil, 0
}

func (w *offsetWalk[T]) take() (entry[T], bool) {
	if len(w.ready) == 0 {
		err := w.failed[w.want]
		if err == nil && !slices.Contains(w.asked, w.want) { // else the page before is on its way
			err = w.ignored
		}
		return entry[T]{err: err}, err != nil
	}
	e := w.ready[0]
	w.ready[0] = offsetEntry[T]{}
	w.ready = w.ready[1:]
	w.kept = remember(w.kept, e, cursorEntries)
	w.taken = e.resume
	return e.entry, true
}

// next asks for the page that is wanted, and with slots left over for those
// that follow it if nothing shifts.
func (w *offsetWalk[T]) next() (int64, bool) {
	const stride = pageSize - 1
	for ahead := range int64(lookAhead * w.slots) {
		at := w.want + ahead*stride
		if w.end || w.ignored != nil || w.failed[at] != nil || ahead > 0 && (!w.readsAhead() || at > w.empty) {
			break
		}
		if _, known := w.pages[at]; known || slices.Contains(w.asked, at) {
			continue
		}
		w.asked = append(w.asked, at)
		w.unproven++
		return at, true
	}
	return 0, false
}

// readsAhead reports whether the pages behind the one that is wanted are worth
// asking for now.
func (w *offsetWalk[T]) readsAhead() bool {
	return w.slots > 1 && w.newest != math.MinInt64 && !w.bare && w.back == 0 &&
		(w.proven || w.unproven < unprovenLimit) && len(w.ready) < lookAhead*pageSize*w.slots
}

func (w *offsetWalk[T]) answered(at int64) {
	if i := slices.Index(w.asked, at); i >= 0 {
		w.asked = slices.Delete(w.asked, i, i+1)
	}
}

func (w *offsetWalk[T]) fail(at int64, err error) {
	w.answered(at)
	switch {
	case errors.Is(err, ErrBodyIgnored):
		w.ignored = err
	case at >= w.want:
		w.failed[at] = err
	}
}

func (w *offsetWalk[T]) learn(at int64, page []entry[T]) error {
	w.answered(at)
	slices.SortStableFunc(page, func(a, b entry[T]) int { return cmp.Compare(b.start, a.start) })
	if err := w.checkHeeded(at, page); err != nil {
		return err
	}
	if len(page) == 0 {
		w.empty = min(w.empty, at)
	}
	w.pages[at] = page
	for !w.end {
		page, known := w.pages[w.want]
		if !known {
			break
		}
		delete(w.pages, w.want)
		w.process(w.want, page)
	}
	passed := func(at int64) bool { return at < w.want }
	maps.DeleteFunc(w.pages, func(at int64, _ []entry[T]) bool { return passed(at) })
	maps.DeleteFunc(w.failed, func(at int64, _ error) bool { return passed(at) })
	return nil
}

// checkHeeded notices a service, or something on the way to it, that ignores
// the offset: it shows the top of the listing again and again. So may a listing
// at which many arrive, so the evidence is weighed: the same page again is
// much of it, but less the fewer arrivals would explain it, and a page of none
// but newer entries is little. An older page clears the service.
func (w *offsetWalk[T]) checkHeeded(at int64, page []entry[T]) error {
	if len(page) == 0 {
		return nil
	}
	newest, again := page[0].start, 0
	for _, e := range page {
		if slices.ContainsFunc(w.shown, func(s entry[T]) bool { return s.id == e.id }) {
			again++
		}
	}
	// As long as the top, for behind an offset a short listing shows less of it.
	same := again > len(w.shown)/2 && len(page) >= len(w.shown)
	if newest < w.newest || newest == w.newest && !same { // many may share the newest start
		w.proven, w.evidence = true, 0
		return nil
	}
	w.newest, w.shown = newest, page
	switch {
	case same:
		w.evidence += min(1, float64(at)/4)
	case at > 0:
		w.evidence += 0.1
	}
	if w.evidence < enoughEvidence {
		return nil
	}
	w.evidence = 0
	return w.op.bodyIgnored("the top of the listing comes whatever the offset")
}

// process takes up the page that was wanted.
func (w *offsetWalk[T]) process(at int64, page []entry[T]) {
	newest, known, first := newestOf(w.recent), 0, 0 // first: known ones where the overlap is expected
	linked, allNewer := len(w.recent) == 0 || at == 0, len(page) > 0
	var fresh []entry[T]
	for i, e := range page {
		same := func(other entry[T]) bool { return other.id == e.id }
		switch {
		case slices.ContainsFunc(w.recent, func(r offsetEntry[T]) bool { return r.id == e.id }):
			if known++; int64(i) < w.read-at {
				first++
			}
		case !slices.ContainsFunc(fresh, same):
			fresh = append(fresh, e)
		}
		linked = linked || known > 0 || slices.ContainsFunc(w.last, same)
		allNewer = allNewer && e.start > newest
	}
	switch {
	case linked:
		if len(w.recent) > 0 && (int64(known) != w.read-at || first != known) {
			// The listing has shifted. What is newer than all that was read
			// lately was read before, or has arrived since.
			fresh = slices.DeleteFunc(fresh, func(e entry[T]) bool { return e.start > newest })
		}
	case allNewer:
		fresh = nil
	case w.bare && (len(page) == 0 || w.doubt):
		// Nothing lies between: the page before it ended with what is known.
	default: // entries have gone: look further up for what was read
		w.doubt, w.bare = w.doubt || w.bare, false
		w.back = max(pageSize-1, 2*w.back)
		w.want = max(0, at-w.back)
		return
	}
	w.last = page
	w.hand(at, page, fresh)
}

// hand takes what is news, and moves on.
func (w *offsetWalk[T]) hand(at int64, page, fresh []entry[T]) {
	behind := at + int64(len(page))
	for i, e := range fresh {
		news := offsetEntry[T]{entry: e, resume: at + 1}
		if i == len(fresh)-1 {
			news.resume = behind
		}
		w.ready = append(w.ready, news)
		w.recent = remember(w.recent, news, recentEntries)
	}
	if len(fresh) > 0 {
		w.doubt = false
	}
	w.read, w.back, w.end = behind, 0, len(page) == 0
	w.want = behind - 1
	if w.bare = w.want <= at; w.bare { // the same question would teach nothing
		w.want = behind
	}
}

func remember[T any](list []offsetEntry[T], e offsetEntry[T], most int) []offsetEntry[T] {
	e.value = nil
	if len(list) == most {
		list = slices.Delete(list, 0, 1)
	}
	return append(list, e)
}

func newestOf[T any](list []offsetEntry[T]) int64 {
	newest := int64(math.MinInt64)
	for _, e := range list {
		newest = max(newest, e.start)
	}
	return newest
}
