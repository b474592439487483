package walk

import "slices"

// A service may round start_time_from down to a whole second: a page requested
// from 5.3 s then holds the entries that start before 5 s, and those in between
// would be lost. For a whole second it makes no difference.
//
// An entry between that second and the requested instant proves that the service
// reads milliseconds. Until there is one, a page without such an entry counts as
// the page from the whole second. The rest of the second stays in the gap, which
// is then requested from the next whole second. If that page holds more of it,
// the service rounds, and every later request is from a whole second.

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

// servedFrom returns the instant from which the page requested from at is certain
// to be: at itself, or its whole second.
func (w *Time[V]) servedFrom(at int64, page []Entry[V]) int64 {
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
				return at // the page from the next second has shown all that it can
			}
		}
	}
	return from
}

// misses reports whether a page lacks an entry that it had to repeat.
func (s *segment[V]) misses(page []Entry[V]) bool {
	return slices.ContainsFunc(s.seen, func(id uint64) bool { return id&UnplacedID == 0 && !contains(page, id) })
}

// guess returns at or its second, and whether a guess from there is worth a
// request even if the service rounds to whole seconds.
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

// checkDoubt looks in a page from the next whole second for entries that the page
// before it lacked: they prove that the service rounds.
func (w *Time[V]) checkDoubt(s *segment[V], page []Entry[V]) {
	if !s.doubt || w.exact {
		return
	}
	from := second(s.high)
	w.seconds = w.seconds || slices.ContainsFunc(page, func(e Entry[V]) bool { return from <= e.Start && e.Start <= s.high })
}

// passSecond closes the gap within a second if the page from the next second does
// not reach it, since no other request can. If that was a whole page, it may have
// been cut, which leaves a tie.
func (w *Time[V]) passSecond(at, bottom int64, length int) {
	for _, s := range w.segments {
		if !s.open() || bottom <= s.high || at == s.high+1 || at != w.from(s) {
			continue
		}
		from := second(s.high)
		if length >= w.pageSize && (w.seconds || len(s.seen) > 0) { // else there is no sign of rounding
			s.ready = append(s.ready, Entry[V]{Start: from, Err: &TieError{Start: from, Seen: len(s.seen)}})
		}
		s.high, s.seen, s.tie, s.doubt = from-1, nil, nil, false
	}
}
