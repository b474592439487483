package horseracing

import (
	"cmp"
	"math"
	"slices"
)

// timeWalk reads a listing that answers the question "the latest ten that
// start before T", excluding T itself.
//
// What is known is a row of stretches, newest first. A stretch is a run of
// entries without a hole, and below it a gap: the instants between low and high
// of which something may be missing.
//
//	newest ──────────────────────────────────────────────────────────► oldest
//	 entries    gap      entries   gap     entries      gap
//	[■■■■■■■■]··········[■■■■]············[■■■]···················· (Since)
//	        high      low    high       low   high              low
//
// A page asked from T whose lowest start is L shows every entry in (L, T). At L
// itself more may hide behind the page's edge, so L stays in the gap, together
// with the ids at L that are known: asking from L + 1 ms shows that instant
// again, and what was seen is dropped. That is all there is to ties. A page
// asked from inside a gap cuts it in two. A page that reaches the gap's low end
// closes it. Whatever lies above the topmost gap is ready to be handed out.
//
// Where a page brings nothing older than the instant it was asked for, the next
// question excludes that instant; only an empty page is the end. A whole page on
// one instant leaves a TieOverflowError between the entries, and the walk goes
// on behind it.
//
// Reading one page at a time, the only question is the top gap's. With several
// at once (see next), gaps further down are opened by probes and read from
// their own upper ends. An error is kept in the gap whose question met it, and
// handed out when everything above it has been, and no answer on its way can
// show more of it.
type timeWalk[T any] struct {
	op        operation
	slots     int
	stretches []*stretch[T]  // newest first; never empty
	asked     map[int64]bool // questions without an answer yet; true: a guess
	newest    int64          // the latest start seen
	proven    bool           // an answer has shown that the service heeds the question
	unproven  int            // questions asked before that
	guesses   int            // how many guesses may be out at once: fewer where they bring little
	taken     Cursor
}

type stretch[T any] struct {
	ready  []entry[T] // newest first
	seen   []uint64   // ids at the instant high that are known
	low    int64      // the gap: the instants low to high, none where low > high
	high   int64
	pace   float64 // milliseconds a page spans hereabouts
	failed error   // what the question for the gap met
}

func (s *stretch[T]) open() bool { return s.low <= s.high }

// latest as a question leaves the instant to the service: its own now.
const (
	latest   = math.MaxInt64
	earliest = math.MinInt64 + 1
)

const (
	lookAhead     = 32   // pages per slot that may wait before the reading ahead pauses
	stride        = 12   // pages for which the pace of what was read is trusted
	narrow        = 0.25 // pages a run must span to be split: a busy hour may hide in one
	unprovenLimit = 10   // questions until the service has shown that it heeds them
)

func newTimeWalk[T any](op operation, before, since int64, resume Cursor, slots int) *timeWalk[T] {
	top := &stretch[T]{low: since, high: before - 1}
	if !resume.IsZero() && resume.at < before {
		top.high, top.seen = resume.at, resume.seen
	}
	taken := resume
	taken.seen = slices.Clone(resume.seen) // taken.seen is written to
	return &timeWalk[T]{op: op, slots: slots, stretches: []*stretch[T]{top}, asked: map[int64]bool{}, newest: math.MinInt64, guesses: slots, taken: taken}
}

func (w *timeWalk[T]) place() Cursor {
	c := w.taken
	c.seen = slices.Clone(c.seen)
	return c
}

func (w *timeWalk[T]) done() bool {
	w.trim()
	s := w.stretches[0]
	return len(w.stretches) == 1 && len(s.ready) == 0 && !s.open()
}

// trim drops stretches at the top that hold nothing any more.
func (w *timeWalk[T]) trim() {
	for len(w.stretches) > 1 && len(w.stretches[0].ready) == 0 && !w.stretches[0].open() {
		w.stretches = w.stretches[1:]
	}
}

func (w *timeWalk[T]) take() (entry[T], bool) {
	w.trim()
	s := w.stretches[0]
	if len(s.ready) == 0 {
		if s.failed == nil || w.awaits(s.high) {
			return entry[T]{}, false
		}
		return entry[T]{err: s.failed}, true
	}
	e := s.ready[0]
	s.ready[0] = entry[T]{}
	s.ready = s.ready[1:]
	switch {
	case e.err != nil: // a TieOverflowError: the walk goes on behind the instant
		w.taken = Cursor{at: e.start - 1, seen: w.taken.seen[:0]}
	case e.start == w.taken.at:
		w.taken.seen = append(w.taken.seen, e.id)
	default:
		w.taken = Cursor{at: e.start, seen: append(w.taken.seen[:0], e.id)}
	}
	return e, true
}

// awaits reports whether an answer on its way may show what starts at high: an
// error stands behind it.
func (w *timeWalk[T]) awaits(high int64) bool {
	for at := range w.asked {
		if at > high {
			return true
		}
	}
	return false
}

func (w *timeWalk[T]) restart() {
	for _, s := range w.stretches {
		s.failed = nil
	}
	w.unproven = 0
}

func (w *timeWalk[T]) fail(at int64, err error) {
	delete(w.asked, at)
	i := w.gapFor(at)
	if i < 0 {
		return // answered by another page in the meantime
	}
	s := w.stretches[i]
	if at-1 < s.high { // asked from inside the gap: what lies above is not touched
		below := &stretch[T]{low: s.low, high: at - 1, pace: s.pace}
		s.low = at
		w.stretches = slices.Insert(w.stretches, i+1, below)
		s = below
	}
	s.failed = err
}

// gapFor returns the index of the topmost stretch in whose gap a page asked
// from at can show something; -1: there is none.
func (w *timeWalk[T]) gapFor(at int64) int {
	return slices.IndexFunc(w.stretches, func(s *stretch[T]) bool { return s.open() && s.low < at })
}

func (w *timeWalk[T]) learn(at int64, page []entry[T]) error {
	slices.SortFunc(page, func(a, b entry[T]) int {
		return cmp.Or(cmp.Compare(b.start, a.start), cmp.Compare(b.id, a.id))
	})
	page = slices.CompactFunc(page, func(a, b entry[T]) bool { return a.start == b.start && a.id == b.id })
	if len(page) > 0 && page[0].start >= at {
		return w.op.bodyIgnored("an entry starts at or after start_time_from")
	}
	guess := w.asked[at]
	delete(w.asked, at)
	w.proven = w.proven || at <= w.newest
	i := w.gapFor(at)
	if i < 0 {
		return nil
	}
	s := w.stretches[i]
	bottom := int64(math.MinInt64)
	if len(page) > 0 {
		bottom = page[len(page)-1].start
		w.newest = max(w.newest, page[0].start)
	}
	if bottom > s.high {
		return nil // all of it is known from another page by now
	}

	// What of the page is news: inside the gap, and not seen at its upper end.
	fresh := make([]entry[T], 0, len(page)+1)
	for _, e := range page {
		if s.low <= e.start && e.start <= s.high && !(e.start == s.high && slices.Contains(s.seen, e.id)) {
			fresh = append(fresh, e)
		}
	}
	little := len(fresh) < 3
	if !little { // else the page tells of elsewhere
		s.learnPace(page)
	}
	switch {
	case guess && little:
		w.guesses = max(1, w.guesses-3)
	case guess:
		w.guesses = min(w.slots, w.guesses+2)
	}
	below := &stretch[T]{low: s.low, high: bottom, pace: s.pace}
	if bottom >= s.low {
		for _, e := range page {
			if e.start == bottom {
				below.seen = append(below.seen, e.id)
			}
		}
		if bottom == s.high {
			for _, id := range s.seen {
				if !slices.Contains(below.seen, id) {
					below.seen = append(below.seen, id)
				}
			}
		}
		if oneInstant := page[0].start == bottom; oneInstant && len(page) >= pageSize {
			fresh = append(fresh, entry[T]{start: bottom, err: &TieOverflowError{StartTime: timestampOf(bottom), Seen: len(below.seen), op: w.op}})
			below.high, below.seen = bottom-1, nil
		} else if bottom == at-1 { // nothing older came: ask from the instant itself
			below.high, below.seen = bottom-1, nil
		}
	}
	if at <= s.high { // a probe: the gap goes on above it
		s.low = at
		if len(fresh) > 0 || below.open() {
			below.ready = fresh
			w.stretches = slices.Insert(w.stretches, i+1, below)
		}
		return nil
	}
	if s.seen, s.high = below.seen, below.high; len(s.ready) == 0 {
		s.ready = fresh
	} else {
		s.ready = append(s.ready, fresh...)
	}
	return nil
}

// learnPace learns from a page how densely entries lie hereabouts.
func (s *stretch[T]) learnPace(page []entry[T]) {
	if len(page) < 2 {
		return
	}
	span := float64(page[0].start-page[len(page)-1].start) * pageSize / float64(len(page))
	if s.pace == 0 {
		s.pace = span
	}
	s.pace = max(1, 0.7*s.pace+0.3*span)
}

// next picks the question whose answer is needed soonest. Every gap is read
// from its upper end, the topmost first. A slot that is left over probes below
// everything known: from further down the further that already is, so that
// empty months cost a few questions. Where there is nothing to probe for, it
// splits the widest gap. These are guesses: the fewer entries they bring, the
// fewer are out at once. No work begins where many entries wait above it.
func (w *timeWalk[T]) next() (int64, bool) {
	w.trim()
	if !w.proven && w.unproven >= unprovenLimit && len(w.asked) > 0 {
		return 0, false
	}
	open := w.stretches[:0:0] // where work may begin
	above, waiting, enough := 0, w.waiting(), lookAhead*pageSize*w.slots
	for i, s := range w.stretches {
		above += len(s.ready)
		if s.failed != nil || above >= enough || i > 0 && waiting >= 2*enough {
			break
		}
		if s.open() {
			open = append(open, s)
			if s.pace > 0 { // the gap, too, holds entries that come first
				above += int(min(float64(s.high-s.low)/s.pace, lookAhead) * pageSize)
			}
		}
	}
	for _, s := range open {
		if at := s.high + 1; !w.isAsked(at) {
			return w.ask(at, false), true
		}
	}
	if w.guessing() >= w.guesses || w.slots == 1 {
		return 0, false
	}
	if at, ok := w.probe(open); ok {
		return w.ask(at, true), true
	}
	if at, ok := w.split(open); ok {
		return w.ask(at, true), true
	}
	return 0, false
}

func (w *timeWalk[T]) ask(at int64, guess bool) int64 {
	w.asked[at] = guess
	w.unproven++
	return at
}

func (w *timeWalk[T]) isAsked(at int64) bool { _, ok := w.asked[at]; return ok }

// guessing returns how many guesses are out.
func (w *timeWalk[T]) guessing() (n int) {
	for _, guess := range w.asked {
		if guess {
			n++
		}
	}
	return n
}

// waiting returns how many entries are ready in all stretches.
func (w *timeWalk[T]) waiting() (n int) {
	for _, s := range w.stretches {
		n += len(s.ready)
	}
	return n
}

// probe returns a point below everything known or asked for.
func (w *timeWalk[T]) probe(open []*stretch[T]) (int64, bool) {
	last := w.stretches[len(w.stretches)-1]
	if len(open) == 0 || open[len(open)-1] != last || last.pace == 0 {
		return 0, false
	}
	point := last.high
	for at := range w.asked {
		if last.low < at && at < point {
			point = at
		}
	}
	step := max(stride*last.pace, 0.15*float64(w.stretches[0].high-point))
	if room := float64(point - max(last.low, 0)); room < step+2*last.pace {
		return 0, false
	}
	return point - int64(step), true
}

// split returns a point within the widest run of instants that nobody reads,
// measured in pages: its middle, but within a stride of its upper end, where
// the pace was learned. Further down a busy day may be followed by an empty week.
func (w *timeWalk[T]) split(open []*stretch[T]) (point int64, ok bool) {
	widest := narrow
	for _, s := range open {
		if s.pace == 0 {
			continue
		}
		points := []int64{s.high + 1}
		for at := range w.asked {
			if s.low < at && at <= s.high {
				points = append(points, at)
			}
		}
		if s.low > earliest {
			points = append(points, s.low)
		}
		slices.Sort(points)
		for i := 1; i < len(points); i++ {
			run := points[i] - points[i-1]
			if width := float64(run) / s.pace; run > 1 && width > widest {
				widest, point, ok = width, points[i]-min(run/2, int64(stride*s.pace)), true
			}
		}
	}
	return point, ok
}
