package walk

import (
	"cmp"
	"slices"
)

const (
	stride = 12   // pages for which the density of the entries read is a fair estimate
	narrow = 0.25 // least width in pages of a run to be split; small, since a busy hour may be in it
	growth = 0.15 // of the distance from the topmost gap, if that is more than a stride
)

// Next returns the instant of the page that is needed soonest. Every gap is read from
// its upper end, the topmost gap first. A spare slot guesses where a page may be
// needed. The fewer entries guesses bring, the fewer are in flight at once, and none
// after an error. Gaps below many waiting entries are not requested, and with onlyTop
// none but the topmost.
func (w *Time[V]) Next(onlyTop bool) (int64, bool) {
	open := w.workable(onlyTop)
	for _, s := range open {
		at := s.high + 1
		if _, isInFlight := w.inFlight[at]; !isInFlight {
			w.inFlight[at] = false
			return at, true
		}
	}
	if w.guessing() < w.guesses {
		if at, ok := w.guess(open); ok {
			w.inFlight[at] = true
			return at, true
		}
	}
	return 0, false
}

// workable returns the segments whose gaps may be requested from now.
func (w *Time[V]) workable(onlyTop bool) (open []*segment[V]) {
	above, enough := 0, lookAhead*w.pageSize*w.slots
	for i, s := range w.segments {
		above += len(s.ready)
		if s.failed != nil || above >= enough || onlyTop && i > 0 {
			break
		}
		if s.open() {
			open = append(open, s)
		}
	}
	return open
}

// guessing returns how many guesses are in flight.
func (w *Time[V]) guessing() (n int) {
	for _, guess := range w.inFlight {
		if guess {
			n++
		}
	}
	return n
}

// guess returns an instant in the widest run of instants without a request, measured in
// pages: its middle, but at most a stride below its upper end, where the density was
// measured. Further down the density may differ. Far below the top a stride grows
// with the distance, so that empty months cost few requests.
func (w *Time[V]) guess(open []*segment[V]) (point int64, ok bool) {
	widest := narrow
	for _, s := range open {
		if s.span == 0 || s.high < w.empty || s.isLast {
			continue
		}
		points := []int64{max(s.low, w.empty, 0), s.high + 1}
		for at := range w.inFlight {
			if s.low < at && at <= s.high {
				points = append(points, at)
			}
		}
		slices.Sort(points)
		for i := 1; i < len(points); i++ {
			run := points[i] - points[i-1]
			if width := float64(run) / s.span; run > 1 && width > widest {
				step := max(stride*s.span, growth*float64(w.segments[0].high-points[i]))
				widest, point, ok = width, points[i]-min(run/2, int64(step)), true
			}
		}
	}
	return point, ok
}

// measure processes how many entries of a page were new to the gap of s: it
// updates the span of a page there, and how many guesses may be in flight.
func (w *Time[V]) measure(s *segment[V], page []Entry[V], fresh int, isGuess bool) {
	if 10*fresh < 3*w.pageSize { // most of the page is elsewhere
		if isGuess {
			w.guesses = max(1, w.guesses-3)
		}
		return
	}
	if isGuess {
		w.guesses = min(w.slots, w.guesses+2)
	}
	span := float64(page[0].Start-page[len(page)-1].Start) * float64(w.pageSize) / float64(len(page))
	s.span = max(1, 0.7*cmp.Or(s.span, span)+0.3*span)
}
