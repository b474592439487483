package horseracing

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing/internal/walk"
)

// followState records which entries a follower has settled. It is the content of the
// cursor. It does no I/O and reads no clock.
//
// An entry is settled once it was yielded or given up for good. All entries that start
// before the floor are settled; later ones are settled if they have a mark. The floor
// is the start of the newest race yielded less Lookback, because within Lookback races
// may still finish late. It does not rise past anything that could not be read.
//
//	          floor               newest
//	─────────────┼──x──xx──x───────x──────► start
//	   settled     settled: x
type followState struct {
	floor int64 // epoch milliseconds, like every instant here
	marks map[string]mark
}

// mark is the state of an entry at or after the floor. Its key is the entry's id, or
// has a prefix that no id has.
type mark struct {
	start int64
	since int64 // when it could not be read for the first time; zero if it is settled
}

const (
	tieSign  = "~" // prefix of an instant: a tie that was reported
	hashSign = "?" // prefix of a hash: an entry whose id cannot be read
	gapKey   = "!" // an unreadable page, with everything from start up to the page
)

// maxMarks bounds a cursor's text, and memory: if there are more, the floor rises, and
// what could not be read before them is given up.
const maxMarks = 1000

func (s *followState) isSettled(key string) bool {
	m, marked := s.marks[key]
	return marked && m.since == 0
}

// settle marks an entry as settled.
func (s *followState) settle(key string, start int64) { s.marks[key] = mark{start: start} }

// postpone marks an entry or a page that could not be read. It reports whether it had
// no mark before.
func (s *followState) postpone(key string, start int64, now time.Time) bool {
	if _, marked := s.marks[key]; marked {
		return false
	}
	s.marks[key] = mark{start: start, since: now.UnixMilli()}
	return true
}

// drop removes the marks of unreadable entries between two instants, except those that
// were found again.
func (s *followState) drop(low, high int64, met []walk.Entry[Entry[Race]]) {
	maps.DeleteFunc(s.marks, func(key string, m mark) bool {
		return m.since != 0 && key != gapKey && low <= m.start && m.start < high &&
			!slices.ContainsFunc(met, func(e walk.Entry[Entry[Race]]) bool { return e.ID == key })
	})
}

// advance raises the floor, but not past anything unreadable, and removes the marks
// before it.
func (s *followState) advance(floor int64) {
	if floor = min(floor, s.unreadable()); floor > s.floor {
		s.floor = floor
		maps.DeleteFunc(s.marks, func(_ string, m mark) bool { return m.start < floor })
	}
}

// unreadable returns the start of the oldest entry or page that could not be read.
func (s *followState) unreadable() int64 {
	oldest := int64(walk.Latest)
	for _, m := range s.marks {
		if m.since != 0 {
			oldest = min(oldest, m.start)
		}
	}
	return oldest
}

// bound returns the start of the oldest of the maxMarks newest marks.
func (s *followState) bound() int64 {
	if len(s.marks) <= maxMarks {
		return walk.Earliest
	}
	starts := make([]int64, 0, len(s.marks))
	for _, m := range s.marks {
		starts = append(starts, m.start)
	}
	slices.Sort(starts)
	return starts[len(starts)-maxMarks]
}

// trim raises the floor if there are too many marks above it. Everything below the
// newest mark must have been read, or have a mark.
func (s *followState) trim() { s.advance(s.bound()) }

// isCrowded reports whether too many entries were found after an unreadable one.
func (s *followState) isCrowded() bool { return s.unreadable() < s.bound() }

// isOverdue reports whether an unreadable entry or page is given up if it fails once
// more: it has failed for a time, or too many later entries were found.
func (s *followState) isOverdue(m mark, now time.Time, after time.Duration) bool {
	return m.since != 0 && (now.Sub(time.UnixMilli(m.since)) >= after || m.start < s.bound())
}

// payload returns the state as fields of a cursor: floor, and the marks in
// order of their starts, each with the distance to the start before it.
func (s *followState) payload() []string {
	keys := slices.SortedFunc(maps.Keys(s.marks), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.marks[a].start, s.marks[b].start), cmp.Compare(a, b))
	})
	fields := []string{strconv.FormatInt(s.floor, 36)}
	last := int64(0)
	for _, key := range keys {
		m := s.marks[key]
		field := strconv.FormatInt(m.start-last, 36) + "_" + key
		if m.since != 0 {
			field += "_" + strconv.FormatInt(m.since, 36)
		}
		fields = append(fields, field)
		last = m.start
	}
	return fields
}

// parseFollowState is the inverse of payload. The problem is empty if the fields are
// valid.
func parseFollowState(fields []string) (s *followState, problem string) {
	floor, err := strconv.ParseInt(fields[0], 36, 64)
	s = &followState{floor: floor, marks: map[string]mark{}}
	start := int64(0)
	for _, field := range fields[1:] {
		distance, rest, _ := strings.Cut(field, "_")
		key, since, unreadable := strings.Cut(rest, "_")
		above, err1 := strconv.ParseInt(distance, 36, 64)
		start += above
		m := mark{start: start}
		var err2 error
		if unreadable {
			m.since, err2 = strconv.ParseInt(since, 36, 64)
		}
		err = cmp.Or(err, err1, err2)
		s.marks[key] = m
	}
	if err != nil {
		problem = damagedCursor
	}
	return s, problem
}
