package walk

import "slices"

// A service may take start_time_from in whole seconds: a page requested from
// 5.3 s then holds what starts before 5 s, and what starts in between would be
// lost. A page requested from a whole second is the same either way.
//
// An entry between that second and the instant requested shows that the service
// takes milliseconds. Until one has come, a page without is taken for what it is
// at least: the page from the second. What lies between stays in the gap, which is
// read from the next whole second on. Where that page shows more, the service
// takes whole seconds, and every later request is from one.

// second returns the whole second that at is in.
func second(at int64) int64 {
	if at < 0 || at > Latest-1000 {
		return at
	}
	return at - at%1000
}

// from returns the instant from which the gap of s is requested.
func (w *Time[V]) from(s *segment[V]) int64 {
	if at := s.high + 1; (s.doubt || w.seconds) && second(at) != at {
		return second(at) + 1000
	}
	return s.high + 1
}

// taken returns the instant that the service can have taken at for, as the page
// requested from there shows.
func (w *Time[V]) taken(at int64, page []Entry[V]) int64 {
	from := second(at)
	if from == at || w.exact {
		return at
	}
	if len(page) > 0 && page[0].Start >= from {
		w.exact, w.seconds = true, false
		for _, s := range w.segments {
			if second(s.requested) == s.low && s.requested <= s.high {
				s.low = s.requested
			}
		}
		return at
	}
	for _, s := range w.segments {
		if s.low == from {
			s.requested = max(s.requested, at)
		}
		if s.open() && s.high == at-1 {
			s.doubt = s.misses(page) || len(s.seen) == 0 && at == w.begin
			if !s.doubt && !w.seconds {
				return at // the page from the next second has brought what it could
			}
		}
	}
	return from
}

// misses reports whether a page leaves out an entry that had to show again.
func (s *segment[V]) misses(page []Entry[V]) bool {
	return slices.ContainsFunc(s.seen, func(id uint64) bool { return id&UnplacedID == 0 && !contains(page, id) })
}

// guess returns at, or its second, as a guess that is worth requesting also if
// the service takes whole seconds.
func (w *Time[V]) guess(at int64, open []*segment[V]) (int64, bool) {
	from := second(at)
	if w.exact || from == at {
		return at, true
	}
	if w.seconds {
		at = from
	}
	inside := slices.ContainsFunc(open, func(s *segment[V]) bool { return s.low < from && from <= s.high })
	return at, inside && !w.isInFlight(at)
}

// checkDoubt looks in a page from the next whole second for what the page before
// it has left out.
func (w *Time[V]) checkDoubt(s *segment[V], page []Entry[V]) {
	if !s.doubt || w.exact {
		return
	}
	from := second(s.high)
	w.seconds = w.seconds || slices.ContainsFunc(page, func(e Entry[V]) bool { return from <= e.Start && e.Start <= s.high })
}

// giveUp ends the reading of a second where the page from the next one does not
// reach the gap in it. A whole page may have been cut: that leaves a tie.
func (w *Time[V]) giveUp(at, bottom int64, length int) {
	for _, s := range w.segments {
		if !s.open() || bottom <= s.high || at == s.high+1 || at != w.from(s) {
			continue
		}
		from := second(s.high)
		if length >= w.pageSize && (w.seconds || len(s.seen) > 0) { // else nothing speaks for whole seconds
			s.ready = append(s.ready, Entry[V]{Start: from, Err: &TieError{Start: from, Seen: len(s.seen)}})
		}
		s.high, s.seen, s.tie, s.doubt = from-1, nil, nil, false
	}
}
