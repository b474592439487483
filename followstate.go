package horseracing

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/horseracing-go/horseracing/internal/walk"
)

// followState records which entries a follower has settled. It is the content of the
// cursor. It does no I/O and reads no clock. Instants are epoch milliseconds.
//
// An entry is settled once it was yielded or given up for good. All entries that start
// before the floor are settled; later ones are settled if they have a mark. The floor
// is at recent, which is Lookback before the newest race, because late results may
// appear from there on, or at the oldest entry or page that could not be read.
//
//	     floor                recent           newest
//	───────┼───?──x──x───x──x────┼──x──xx──x─────x────► start
//	settled    unreadable: ?        settled: x
type followState struct {
	recent int64           // new races start at this or later, or zero before the first poll
	marks  map[string]mark // of the entries that start at or after the floor
	gap    mark            // of the pages that could not be read, which hold races from its start up to gapEnd, or zero if there are none
	gapEnd int64
}

// mark is the state of an entry, or of pages that could not be read.
type mark struct {
	start int64
	since int64 // when it could not be read for the first time, or zero if it is settled
}

// keyOf returns the key of an entry's mark: its id, or else a hash of its JSON or, of a
// tie, of its start.
func keyOf(e walk.Entry[Entry[Race]]) string {
	if e.ID != "" {
		return e.ID
	}
	return "?" + checksum(cmp.Or(string(e.Value.JSON), strconv.FormatInt(e.Start, 10)))
}

// maxMarks bounds a cursor's text, and memory: if there are more, the floor rises, and
// unreadable entries and pages below it are given up.
const maxMarks = 1000

func (s *followState) isSettled(key string) bool {
	m, marked := s.marks[key]
	return marked && m.since == 0
}

// settle marks an entry as settled.
func (s *followState) settle(key string, start int64) { s.marks[key] = mark{start: start} }

// postpone marks an entry that could not be read. It reports whether the entry had no
// mark before.
func (s *followState) postpone(key string, start, now int64) bool {
	if _, marked := s.marks[key]; marked {
		return false
	}
	s.marks[key] = mark{start, now}
	return true
}

// postponeGap marks a time range in which pages could not be read. It reports whether
// there was none before.
func (s *followState) postponeGap(from, to, now int64) bool {
	if s.gap.since == 0 {
		s.gap, s.gapEnd = mark{from, now}, to
		return true
	}
	s.gap.start, s.gapEnd = min(s.gap.start, from), max(s.gapEnd, to)
	return false
}

// resolve removes the marks of unreadable entries and pages from low up to high, after
// that range was read or given up. Entries in found keep theirs.
func (s *followState) resolve(low, high int64, found []walk.Entry[Entry[Race]]) {
	maps.DeleteFunc(s.marks, func(key string, m mark) bool {
		return m.since != 0 && low <= m.start && m.start < high &&
			!slices.ContainsFunc(found, func(e walk.Entry[Entry[Race]]) bool { return e.ID == key })
	})
	if low <= s.gap.start {
		s.gap.start = max(s.gap.start, high)
	}
	if s.gapEnd <= high {
		s.gapEnd = min(s.gapEnd, low)
	}
	if s.gap.start >= s.gapEnd {
		s.gap, s.gapEnd = mark{}, 0
	}
}

// advance raises recent, and removes the marks before the floor, which it returns.
func (s *followState) advance(recent int64) (floor int64) {
	s.recent = max(s.recent, recent)
	floor, _ = s.unsettled()
	maps.DeleteFunc(s.marks, func(_ string, m mark) bool { return m.start < floor })
	return floor
}

// unsettled returns the floor, and the instant before which everything unreadable
// starts. From there to recent everything is settled.
func (s *followState) unsettled() (floor, unreadTo int64) {
	floor, unreadTo = s.recent, walk.Earliest
	if s.gap.since != 0 {
		floor, unreadTo = min(floor, s.gap.start), s.gapEnd
	}
	for _, m := range s.marks {
		if m.since != 0 {
			floor, unreadTo = min(floor, m.start), max(unreadTo, m.start+1)
		}
	}
	return floor, unreadTo
}

// bound returns the start of the oldest of the maxMarks newest marks.
func (s *followState) bound() int64 {
	if len(s.marks) <= maxMarks {
		return walk.Earliest
	}
	newestFirst := slices.SortedFunc(maps.Values(s.marks), func(a, b mark) int { return cmp.Compare(b.start, a.start) })
	return newestFirst[maxMarks-1].start
}

// trim raises the floor, which it returns, if there are too many marks after it. It
// reports whether something unreadable before high prevents that. Everything between
// recent and the newest mark must have been read.
func (s *followState) trim(high int64) (floor int64, isCrowded bool) {
	bound := s.bound()
	floor = s.advance(bound)
	return floor, floor < min(bound, high)
}

// payload returns the state as fields of a cursor. Starts are relative to recent.
func (s *followState) payload() []string {
	text := func(n int64) string { return strconv.FormatInt(n, 36) }
	fields := []string{text(s.recent), text(s.gap.start), text(s.gap.since), text(s.gapEnd)}
	for _, key := range slices.Sorted(maps.Keys(s.marks)) {
		m := s.marks[key]
		fields = append(fields, key+"_"+text(m.start-s.recent)+"_"+text(m.since))
	}
	return fields
}

// parseFollowState is the inverse of payload. The problem is empty if the fields are
// valid.
func parseFollowState(fields []string) (s *followState, problem string) {
	s = &followState{marks: map[string]mark{}}
	if len(fields) < 4 {
		return s, damagedCursor
	}
	var invalid error
	number := func(text string) int64 {
		n, err := strconv.ParseInt(text, 36, 64)
		invalid = cmp.Or(invalid, err)
		return n
	}
	s.recent = number(fields[0])
	s.gap, s.gapEnd = mark{number(fields[1]), number(fields[2])}, number(fields[3])
	for _, field := range fields[4:] {
		key, times, _ := strings.Cut(field, "_")
		start, since, _ := strings.Cut(times, "_")
		s.marks[key] = mark{s.recent + number(start), number(since)}
	}
	if invalid != nil {
		problem = damagedCursor
	}
	return s, problem
}
