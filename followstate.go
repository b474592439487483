package horseracing

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/horseracing-go/horseracing/internal/walk"
)

// followState holds which races a follower has settled: the content of its
// cursor. It does no input or output, and reads no clock.
//
// A race is settled once it was handed out, or is not to be handed out. All
// races that start before the floor are settled, except those in holes; of the
// races above it, those with a mark. The floor is Lookback behind the newest
// race handed out: within Lookback races may still finish late.
//
//	   hole                    floor          newest
//	───[····x·]───────────────────┼──x──xx──x────x──────► start
//	settled                        settled: x
type followState struct {
	begun bool  // the floor is set
	floor int64 // epoch milliseconds, like every instant here
	marks map[mark]int64
	holes []*hole   // by their instants; they do not overlap
	lost  []segment // holes that were dropped and not reported yet
}

// mark identifies a race, an unreadable entry or a tie that was handed out. In
// followState.marks its value is the start.
type mark struct {
	kind markKind
	id   uint64 // of a tie: its instant
}

type markKind byte

const (
	markRace       markKind = '_'
	markUnreadable markKind = '-' // reported; a later poll may read it
	markTie        markKind = '~'
)

// segment is the instants from low, inclusive, to high, exclusive.
type segment struct{ low, high int64 }

// hole is a segment that could not be read.
type hole struct {
	segment
	past     bool  // its races finished before the follower began: they are not handed out
	failures int   // failed attempts to read it
	due      int64 // the time of the next attempt
	probe    int64 // the instant from which that looks for a readable lower part
}

// The bounds of a cursor's text, and of memory.
const (
	maxMarks  = 2500
	keptMarks = 2000 // of the newest, if there are more than maxMarks
	maxHoles  = 16
)

// isSettled reports whether the race with this id has a mark.
func (s *followState) isSettled(id uint64) bool { _, ok := s.marks[mark{markRace, id}]; return ok }

// settle marks a race.
func (s *followState) settle(id uint64, start int64) {
	delete(s.marks, mark{markUnreadable, id})
	s.marks[mark{markRace, id}] = start
	if len(s.marks) > maxMarks {
		s.forget()
	}
}

// note marks an unreadable entry or a tie. It reports whether that is new.
func (s *followState) note(kind markKind, id uint64, start int64) bool {
	m := mark{kind, id}
	_, marked := s.marks[m]
	if s.marks[m] = start; len(s.marks) > maxMarks {
		s.forget()
	}
	return !marked
}

// advance raises the floor and forgets what lies below it.
func (s *followState) advance(floor int64) {
	if floor > s.floor {
		s.floor = floor
		s.forget()
	}
}

// forget drops marks and past holes that are no longer needed. If the rest
// exceeds the bounds, it raises the floor and drops the narrowest holes.
func (s *followState) forget() {
	if len(s.marks) > maxMarks {
		starts := slices.Sorted(maps.Values(s.marks))
		s.floor = max(s.floor, starts[len(starts)-keptMarks])
	}
	s.holes = slices.DeleteFunc(s.holes, func(h *hole) bool { return h.past && h.high <= s.floor })
	for {
		maps.DeleteFunc(s.marks, func(_ mark, start int64) bool { return start < s.floor && !s.isInHole(start) })
		if len(s.holes) <= maxHoles && (len(s.marks) <= maxMarks || len(s.holes) == 0) {
			return
		}
		least := slices.MinFunc(s.holes, func(a, b *hole) int { return cmp.Compare(a.width(), b.width()) })
		s.holes = slices.DeleteFunc(s.holes, func(h *hole) bool { return h == least })
		s.lost = append(s.lost, least.segment)
	}
}

func (s *followState) isInHole(start int64) bool {
	return slices.ContainsFunc(s.holes, func(h *hole) bool { return h.low <= start && start < h.high })
}

// dig adds a hole. One that begins where another ends extends the other.
func (s *followState) dig(past bool, unread segment) {
	if below := s.holeBelow(unread); below != nil && below.past == past {
		below.high, below.probe = unread.high, segment{below.low, unread.high}.middle()
		return
	}
	s.holes = append(s.holes, &hole{segment: unread, past: past, probe: unread.middle()})
	slices.SortFunc(s.holes, func(a, b *hole) int { return cmp.Or(cmp.Compare(a.low, b.low), cmp.Compare(a.high, b.high)) })
	if len(s.holes) > maxHoles {
		s.forget()
	}
}

// holeBelow returns the hole that ends where a segment begins.
func (s *followState) holeBelow(of segment) *hole {
	if i := slices.IndexFunc(s.holes, func(h *hole) bool { return h.high == of.low }); i >= 0 {
		return s.holes[i]
	}
	return nil
}

// fill removes the part of a hole below an instant.
func (s *followState) fill(h *hole, below int64) {
	if below <= h.low {
		return
	}
	h.low, h.probe = below, segment{below, h.high}.middle()
	if h.low >= h.high {
		s.holes = slices.DeleteFunc(s.holes, func(other *hole) bool { return other == h })
	}
	s.forget()
}

// middle returns an instant between low and high.
func (s segment) middle() int64 { return s.high - (s.width()+1)/2 }

// width returns the length in milliseconds. No race starts before 1970.
func (s segment) width() int64 { return s.high - max(s.low, min(0, s.high-2)) }

// outsideHoles returns the parts of a segment that lie in no hole, newest first.
func (s *followState) outsideHoles(of segment) (parts []segment) {
	for _, h := range s.holes {
		if h.low >= of.high || h.high <= of.low {
			continue
		}
		if of.low < h.low {
			parts = append(parts, segment{of.low, h.low})
		}
		of.low = h.high
	}
	if of.low < of.high {
		parts = append(parts, of)
	}
	slices.Reverse(parts)
	return parts
}

// payload returns the state as fields of a cursor: the floor, the marks in order
// of their starts, each start as the distance to the one before, an empty field,
// and the holes.
func (s *followState) payload() []string {
	marks := slices.SortedFunc(maps.Keys(s.marks), func(a, b mark) int {
		return cmp.Or(cmp.Compare(s.marks[a], s.marks[b]), cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id))
	})
	fields := []string{strconv.FormatInt(s.floor, 36)}
	last := int64(0)
	for _, m := range marks {
		start := s.marks[m]
		fields = append(fields, strconv.FormatInt(start-last, 36)+string(m.kind)+strconv.FormatUint(m.id, 36))
		last = start
	}
	fields = append(fields, "")
	for _, h := range s.holes {
		kind := "_"
		if h.past {
			kind = "~"
		}
		fields = append(fields, strconv.FormatInt(h.low, 36)+kind+strconv.FormatInt(h.high, 36))
	}
	return fields
}

// parseFollowState is the reverse of payload.
func parseFollowState(fields []string) (*followState, bool) {
	end := slices.Index(fields, "")
	if end < 1 || len(fields)-end-1 > maxHoles {
		return nil, false
	}
	s := &followState{begun: true, marks: map[mark]int64{}}
	var err error
	if s.floor, err = strconv.ParseInt(fields[0], 36, 64); err != nil || s.floor < walk.Earliest {
		return nil, false
	}
	start := int64(0)
	for _, field := range fields[1:end] {
		i := strings.IndexAny(field, "_~-")
		if i == 0 { // a start before 1970
			i = 1 + strings.IndexAny(field[1:], "_~-")
		}
		if i < 1 {
			return nil, false
		}
		distance, err := strconv.ParseInt(field[:i], 36, 64)
		id, err2 := strconv.ParseUint(field[i+1:], 36, 64)
		if err != nil || err2 != nil {
			return nil, false
		}
		start += distance
		s.marks[mark{markKind(field[i]), id}] = start
	}
	for _, field := range fields[end+1:] {
		i := strings.IndexAny(field, "_~")
		if i < 0 {
			return nil, false
		}
		low, err := strconv.ParseInt(field[:i], 36, 64)
		high, err2 := strconv.ParseInt(field[i+1:], 36, 64)
		if n := len(s.holes); err != nil || err2 != nil || low < walk.Earliest || low >= high || n > 0 && low < s.holes[n-1].high {
			return nil, false
		}
		of := segment{low, high}
		s.holes = append(s.holes, &hole{segment: of, past: field[i] == '~', probe: of.middle()})
	}
	return s, slices.Equal(s.payload(), fields)
}
