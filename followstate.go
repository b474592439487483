package horseracing

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// followState records which entries a follower has yielded. It is the content of the
// cursor. It does no I/O and reads no clock. Instants are epoch milliseconds.
//
// Everything that starts before recent was yielded. From recent on, which is Lookback
// before the newest race, late results may appear: there, what was yielded is in seen.
type followState struct {
	recent int64            // zero before the first poll
	seen   map[string]int64 // starts of the entries and errors that were yielded, by their keys
}

// gapMark begins the key of a gap that was reported, before its lower end. Its upper end
// stands for its start.
const gapMark = "!"

// maxSeen bounds a cursor's text, and memory: if more was seen, recent rises.
const maxSeen = 1000

const maxNumber = len("-9223372036854775808")

// keyOfID returns the key of an entry with an id: the number of a race, or a hash of a
// tournament's id, which may be any text.
func keyOfID(id string) string {
	if len(id) <= maxNumber && strings.Trim(id, "-0123456789") == "" {
		return id
	}
	hash := sha256.Sum256([]byte(id))
	return "#" + hex.EncodeToString(hash[:8])
}

func newFollowState(recent int64) *followState {
	return &followState{recent: recent, seen: map[string]int64{}}
}

// advance raises recent, and forgets what starts before it.
func (s *followState) advance(recent int64) {
	if recent > s.recent {
		s.recent = recent
		maps.DeleteFunc(s.seen, func(_ string, start int64) bool { return start < recent })
	}
}

// trim forgets all but the newest, if there are too many.
func (s *followState) trim() {
	if n := len(s.seen); n > maxSeen {
		s.advance(slices.Sorted(maps.Values(s.seen))[n-maxSeen])
	}
}

// addGap notes that a gap was reported.
func (s *followState) addGap(from, to int64) { s.seen[gapMark+strconv.FormatInt(from, 36)] = to }

// gapAt returns the lower end of the reported gap that ends at an instant or holds it,
// of several the lowest, or the instant itself.
func (s *followState) gapAt(at int64) int64 {
	low := at
	for key, to := range s.seen {
		if text, isGap := strings.CutPrefix(key, gapMark); isGap && at <= to {
			from, _ := strconv.ParseInt(text, 36, 64)
			low = min(low, from)
		}
	}
	return low
}

// payload returns the state as fields of a cursor. Starts are relative to recent.
func (s *followState) payload() []string {
	fields := []string{strconv.FormatInt(s.recent, 36)}
	for _, key := range slices.Sorted(maps.Keys(s.seen)) {
		fields = append(fields, key+"_"+strconv.FormatInt(s.seen[key]-s.recent, 36))
	}
	return fields
}

// parseFollowState is the inverse of payload. The problem is nil if the fields are
// valid.
func parseFollowState(fields []string) (s *followState, problem error) {
	recent, invalid := strconv.ParseInt(fields[0], 36, 64)
	s = newFollowState(recent)
	for _, field := range fields[1:] {
		key, after, _ := strings.Cut(field, "_")
		start, err := strconv.ParseInt(after, 36, 64)
		s.seen[key], invalid = recent+start, cmp.Or(invalid, err)
	}
	if invalid != nil {
		problem = errDamagedCursor
	}
	return s, problem
}
