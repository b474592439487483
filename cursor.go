package horseracing

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"regexp"
	"strconv"
	"strings"

	"github.com/horseracing-go/horseracing/internal/walk"
)

// A Cursor is the position after an entry of a listing. It includes the tier. The cursor of a
// Pager also includes the Since of its query. Pass a Cursor as a query's Resume to continue
// there, in any process and at any Concurrency. It does not expire. If it comes from another
// listing or tier than the one that the query reads, the query fails with ErrInvalidArgument.
// The zero Cursor is the beginning of a listing.
//
// A Pager's cursor leads to older entries only. To read entries that finish later, store the
// cursor of a [Follower].
//
// Store its text together with the entries that were read. The text of a [Pager]'s
// cursor usually takes 100 to 600 bytes; it contains no key, and is checked when
// parsed.
type Cursor struct {
	text string // version, kind, tier, payload and checksum; see newCursor
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

// cursorKind is the kind of listing that a cursor is of. The payload of a pager's cursor is a
// pagerState: the Since of the query, and the position to continue from. The payload of a
// follower's cursor is a follow.Position: a time before which nothing is read again, and the
// entries from that time on that were yielded, or listed at its first poll.
type cursorKind string

const (
	cursorRaces             cursorKind = "r2" // Races.Results
	cursorRacesV1           cursorKind = "r1" // Races.ResultsV1
	cursorTournaments       cursorKind = "t1" // Tournaments.Results
	cursorFollowRaces       cursorKind = "f3" // Races.Follow
	cursorFollowTournaments cursorKind = "g2" // Tournaments.Follow
)

// cursorVersion is the prefix of every cursor's text. It changes with the format.
const cursorVersion = "hr4"

// newCursor returns the cursor of a listing with the payload of its kind, which consists of
// integers and strings.
func newCursor(kind cursorKind, tier TierID, payload any) Cursor {
	encoded, _ := json.Marshal(payload) // it does not fail for integers and strings
	text := fmt.Sprintf("%s.%s.%d.%s", cursorVersion, kind, tier.orDefault(), base64.RawURLEncoding.EncodeToString(encoded))
	return Cursor{text: text + "." + checksum(text)}
}

// resumed returns the tier that a query selects, and the payload of its Resume, empty without
// one. A query that names no tier has that of the cursor. The problem is nil if the query is
// valid.
func resumed(kind cursorKind, tier TierID, resume Cursor) (selected TierID, payload string, problem error) {
	switch {
	case tier < 0:
		return 0, "", fmt.Errorf("tier %d is negative", tier)
	case resume.IsZero():
		return tier, "", nil
	}
	fields := strings.Split(resume.text, ".")
	if len(fields) != 5 {
		return 0, "", errDamagedCursor
	}
	saved, err := strconv.Atoi(fields[2])
	isOther := tier != 0 && tier != TierID(saved)
	if err != nil || fields[1] != string(kind) || saved < 1 || isOther {
		return 0, "", errors.New("the cursor in Resume is of another listing or of another tier")
	}
	return TierID(saved), fields[3], nil
}

// decodePayload is the inverse of what newCursor does with a payload.
func decodePayload(payload string, out any) error {
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil || json.Unmarshal(text, out) != nil {
		return errDamagedCursor
	}
	return nil
}

func checksum(text string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text))) }

const maxCursorText = 64 << 10 // of a text that is parsed

var errDamagedCursor = errors.New("the text is not a cursor, or is damaged")

// anyVersion is the prefix of the text of a cursor, of this version or of another.
var anyVersion = regexp.MustCompile(`^hr[0-9]{1,3}\.`)

// ParseCursor parses the text of a cursor. The empty text is the zero Cursor. If the
// text is not a cursor, or is damaged, or is from another version of the SDK, the error
// matches ErrInvalidArgument and says so.
func ParseCursor(text string) (Cursor, error) {
	problem := errDamagedCursor
	end := strings.LastIndexByte(text, '.')
	switch prefix := anyVersion.FindString(text); {
	case text == "":
		return Cursor{}, nil
	case strings.TrimSpace(text) != text:
		problem = errors.New("the cursor begins or ends with white space: was it read from a file together with the newline?")
	case prefix == cursorVersion+"." && len(text) <= maxCursorText && checksum(text[:end]) == text[end+1:]:
		return Cursor{text: text}, nil
	case prefix != "" && prefix != cursorVersion+".":
		problem = errors.New("the cursor is from another version of the SDK: start without it, " +
			"a Follower with Since an hour (for tournaments a day) before the newest entry that is stored, and skip what is stored")
	}
	return Cursor{}, fmt.Errorf("horseracing: ParseCursor: %w: %w", ErrInvalidArgument, problem)
}

// pagerState is the payload of a pager's cursor.
type pagerState struct {
	Since    int64         `json:"since,omitzero"` // of the query, in milliseconds
	Position walk.Position `json:"position"`
}
