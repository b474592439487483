package horseracing

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"net/url"
	"strconv"
	"strings"

	"github.com/horseracing-go/horseracing/internal/walk"
)

// A Cursor is the position after an entry of a listing. It includes the tiers and the
// Since of the query. Pass it as a query's Resume to continue there, in any process and
// at any Concurrency. It does not expire. A query of another listing or of other tiers
// fails with ErrInvalidArgument. The zero Cursor is the beginning of a listing.
//
// Store its text together with the entries that were read. The text of a [Pager]'s
// cursor is short (tens of bytes for each tier); it contains no key, and is checked
// when parsed.
type Cursor struct {
	text string // version, kind, tiers, payload and checksum; see newCursor
}

// IsZero reports whether the cursor is the zero Cursor, the beginning of a listing.
func (c Cursor) IsZero() bool { return c.text == "" }

// Equal reports whether both cursors are the same position of the same query.
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

// cursorVersion is the prefix of every cursor's text. It changes with the format.
const cursorVersion = "hr3"

// newCursor returns the cursor of a kind and of tiers, as resolveTiers returns
// them, with a payload that the kind understands. Fields hold no dot.
func newCursor(kind cursorKind, tiers []TierID, payload []string) Cursor {
	texts := make([]string, len(tiers))
	for i, tier := range tiers {
		texts[i] = strconv.FormatInt(int64(tier), 36)
	}
	fields := append([]string{cursorVersion, string(kind), strings.Join(texts, "-")}, payload...)
	text := strings.Join(fields, ".")
	return Cursor{text: text + "." + checksum(text)}
}

// payload returns what newCursor was given, if the cursor is of that kind.
func (c Cursor) payload(kind cursorKind) (tiers []TierID, fields []string, ok bool) {
	fields = strings.Split(c.text, ".")
	if len(fields) < 5 || fields[1] != string(kind) {
		return nil, nil, false
	}
	tiers, ok = readTiers(fields[2])
	return tiers, fields[3 : len(fields)-1], ok
}

// readTiers reads the tiers of a cursor's text.
func readTiers(text string) (tiers []TierID, ok bool) {
	for field := range strings.SplitSeq(text, "-") {
		tier, err := strconv.ParseUint(field, 36, 31)
		if err != nil {
			return nil, false
		}
		tiers = append(tiers, TierID(tier))
	}
	return tiers, true
}

func checksum(text string) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text)))
}

const (
	maxCursorText = 64 << 10 // of a text that is parsed
	damagedCursor = "the cursor is damaged, or from a later version of the SDK"
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
		return Cursor{}, invalid("the text is not a cursor, or is from another version of the SDK")
	}
	end := strings.LastIndexByte(text, '.')
	if len(text) > maxCursorText || checksum(text[:end]) != text[end+1:] {
		return Cursor{}, invalid(damagedCursor)
	}
	return Cursor{text: text}, nil
}

// writePositions writes the Since of a query, in milliseconds, and the position in each
// of its listings as the payload of a pager's cursor.
func writePositions(since int64, positions []walk.Position) []string {
	fields := []string{strconv.FormatInt(since, 36)}
	escape := strings.NewReplacer(".", "%2E", "_", "%5F")
	for _, p := range positions {
		field := strconv.FormatInt(p.At, 36) + "_" + strconv.FormatInt(p.Newest, 36)
		for _, id := range p.Seen {
			field += "_" + escape.Replace(url.QueryEscape(id))
		}
		fields = append(fields, field)
	}
	return fields
}

// readPositions is the inverse of writePositions. The problem is empty if the fields
// are valid.
func readPositions(fields []string, positions []walk.Position) (since int64, problem string) {
	if len(fields) != 1+len(positions) {
		return 0, damagedCursor
	}
	since, err := strconv.ParseInt(fields[0], 36, 64)
	for i, field := range fields[1:] {
		parts := strings.Split(field, "_")
		if len(parts) < 2 {
			return 0, damagedCursor
		}
		at, errAt := strconv.ParseInt(parts[0], 36, 64)
		newest, errNewest := strconv.ParseInt(parts[1], 36, 64)
		err = cmp.Or(err, errAt, errNewest)
		positions[i] = walk.Position{At: at, Newest: newest}
		for _, part := range parts[2:] {
			id, errID := url.QueryUnescape(part)
			positions[i].Seen, err = append(positions[i].Seen, id), cmp.Or(err, errID)
		}
	}
	if err != nil || since < walk.Earliest {
		problem = damagedCursor
	}
	return since, problem
}
