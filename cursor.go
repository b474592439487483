package horseracing

import (
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/horseracing-go/horseracing/internal/walk"
)

// Cursor is a place in a listing: just behind an entry that was handed out. Pass it
// as a query's Resume to go on there, in any process and at any Concurrency. It
// does not expire. A query of another listing, or of other tiers, refuses it with
// ErrInvalidArgument. The zero Cursor is the beginning of a listing.
//
// Store its text together with the entries that were read. The text of a [Pager]'s
// cursor is short (tens of bytes for each tier); it contains no key, and is checked
// when parsed.
type Cursor struct {
	text string // version, kind, tiers, payload and checksum; see newCursor
}

// IsZero reports whether the cursor is the zero Cursor, the beginning of a listing.
func (c Cursor) IsZero() bool { return c.text == "" }

// Equal reports whether both cursors are the same place.
func (c Cursor) Equal(other Cursor) bool { return c == other }

// String returns the cursor's text; it is empty for the zero Cursor.
func (c Cursor) String() string { return c.text }

// MarshalText returns the cursor's text, for JSON and every other encoding.
func (c Cursor) MarshalText() ([]byte, error) { return []byte(c.text), nil }

// UnmarshalText parses the text as [ParseCursor] does.
func (c *Cursor) UnmarshalText(text []byte) error {
	parsed, err := ParseCursor(string(text))
	if err == nil {
		*c = parsed
	}
	return err
}

// cursorKind is the kind of listing that a cursor is of. Each has its own payload.
type cursorKind string

const (
	cursorRaces       cursorKind = "r2" // Races.Results
	cursorRacesV1     cursorKind = "r1" // Races.ResultsV1
	cursorTournaments cursorKind = "t1" // Tournaments.Results
	cursorFollow      cursorKind = "f2" // Races.Follow
)

// isPayload reports whether fields are a payload of the kind, in the one
// spelling that the SDK writes.
func (k cursorKind) isPayload(tiers int, fields []string) bool {
	switch k {
	case cursorRaces, cursorRacesV1, cursorTournaments:
		positions, ok := readPositions(fields)
		return ok && len(positions) == tiers && slices.Equal(writePositions(positions), fields)
	case cursorFollow:
		_, ok := parseFollowState(fields)
		return ok
	}
	return false
}

// cursorVersion begins every cursor's text; another form would have another one.
const cursorVersion = "hr1"

// newCursor returns the cursor of a kind and of tiers, sorted, with a payload
// that the kind understands. Fields hold no dot.
func newCursor(kind cursorKind, tiers []TierID, payload []string) Cursor {
	fields := append([]string{cursorVersion, string(kind), tiersText(tiers)}, payload...)
	text := strings.Join(fields, ".")
	return Cursor{text: text + "." + checksum(text)}
}

// payload returns what newCursor was given, if the cursor is of that kind and of those tiers.
func (c Cursor) payload(kind cursorKind, tiers []TierID) (fields []string, ok bool) {
	fields = strings.Split(c.text, ".")
	if len(fields) < 4 || fields[1] != string(kind) || fields[2] != tiersText(tiers) {
		return nil, false
	}
	return fields[3 : len(fields)-1], true
}

func tiersText(tiers []TierID) string {
	texts := make([]string, len(tiers))
	for i, tier := range tiers {
		texts[i] = strconv.FormatInt(int64(tier), 36)
	}
	return strings.Join(texts, "-")
}

func checksum(text string) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text)))
}

const (
	maxCursorText = 64 << 10 // of a text that is parsed
	maxSeen       = 1000     // ids in one position
)

// ParseCursor parses the text of a cursor. The empty text is the zero Cursor. If the
// text is damaged, or not that of a cursor, the error is ErrInvalidArgument.
func ParseCursor(text string) (Cursor, error) {
	if text == "" {
		return Cursor{}, nil
	}
	invalid := func(problem string) error {
		return fmt.Errorf("horseracing: ParseCursor: %w: %s", ErrInvalidArgument, problem)
	}
	if strings.TrimSpace(text) != text {
		return Cursor{}, invalid("the cursor begins or ends with white space: was it read from a file together with the newline?")
	}
	if !strings.HasPrefix(text, cursorVersion+".") {
		return Cursor{}, invalid("the text is not a cursor, or one of another version of the SDK")
	}
	fields := strings.Split(text[:min(len(text), maxCursorText)], ".")
	last := len(fields) - 1
	if last < 3 || len(text) > maxCursorText || checksum(text[:len(text)-len(fields[last])-1]) != fields[last] {
		return Cursor{}, invalid("the cursor is damaged")
	}
	var tiers []TierID
	for field := range strings.SplitSeq(fields[2], "-") {
		tier, err := strconv.ParseInt(field, 36, 32)
		if err != nil || len(tiers) > 0 && TierID(tier) <= tiers[len(tiers)-1] {
			return Cursor{}, invalid("the cursor is damaged")
		}
		tiers = append(tiers, TierID(tier))
	}
	if tiersText(tiers) != fields[2] || !cursorKind(fields[1]).isPayload(len(tiers), fields[3:last]) {
		return Cursor{}, invalid("the cursor is damaged, or of a later version of the SDK")
	}
	return Cursor{text: text}, nil
}

// writePositions writes positions as the payload of a walk's cursor: an empty
// field parts one from the next.
func writePositions(positions []walk.Position) (fields []string) {
	for i, p := range positions {
		if i > 0 {
			fields = append(fields, "")
		}
		fields = append(fields, strconv.FormatInt(p.At, 36), strconv.FormatInt(p.Newest, 36))
		for _, id := range p.Seen {
			fields = append(fields, strconv.FormatUint(id, 36))
		}
	}
	return fields
}

// readPositions is the reverse of writePositions.
func readPositions(fields []string) (positions []walk.Position, ok bool) {
	for len(fields) > 0 {
		end := slices.Index(fields, "")
		if end < 0 {
			end = len(fields)
		}
		if end < 2 || end > 2+maxSeen {
			return nil, false
		}
		var p walk.Position
		var err error
		if p.At, err = strconv.ParseInt(fields[0], 36, 64); err != nil || p.At == math.MinInt64 {
			return nil, false
		}
		if p.Newest, err = strconv.ParseInt(fields[1], 36, 64); err != nil {
			return nil, false
		}
		for _, field := range fields[2:end] {
			id, err := strconv.ParseUint(field, 36, 64)
			if err != nil {
				return nil, false
			}
			p.Seen = append(p.Seen, id)
		}
		positions = append(positions, p)
		fields = fields[min(end+1, len(fields)):]
	}
	return positions, true
}
