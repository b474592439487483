package horseracing

import (
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Cursor is a place in a paged listing: just behind an entry that was handed
// out. It is a value, valid for as long as the listing exists, in any process
// and at any Concurrency; a query's Resume takes it. It knows its listing and
// tier: for another it is ErrInvalidArgument. The zero Cursor is the beginning.
// Its text is short (tens of bytes), holds no key, and is checked when parsed:
// store it with what was read.
type Cursor struct {
	listing string // of which listing, "" for the zero Cursor
	tier    TierID
	at      int64    // start time or offset, as the listing's walk understands it
	newest  int64    // offset paging only: the latest start among seen
	seen    []uint64 // ids that may come again when reading goes on there
}

// IsZero reports whether the cursor is the beginning of a listing.
func (c Cursor) IsZero() bool { return c.listing == "" }

// Equal reports whether both cursors are the same place.
func (c Cursor) Equal(other Cursor) bool {
	return c.listing == other.listing && c.tier == other.tier && c.at == other.at &&
		c.newest == other.newest && slices.Equal(c.seen, other.seen)
}

// cursorVersion begins every cursor's text; another form would have another one.
const cursorVersion = "hr1"

// String returns the cursor's text; it is empty for the zero Cursor.
func (c Cursor) String() string {
	if c.IsZero() {
		return ""
	}
	fields := []string{
		cursorVersion, c.listing, strconv.FormatInt(int64(c.tier), 36),
		strconv.FormatInt(c.at, 36), strconv.FormatInt(c.newest, 36),
	}
	for _, id := range c.seen {
		fields = append(fields, strconv.FormatUint(id, 36))
	}
	text := strings.Join(fields, ".")
	return text + "." + checksum(text)
}

func checksum(text string) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text)))
}

// maxSeen bounds what a parsed cursor may hold.
const maxSeen = 1000

// ParseCursor reads a cursor's text. The empty text is the zero Cursor; one
// that is damaged, or of something else, is ErrInvalidArgument.
func ParseCursor(text string) (Cursor, error) {
	if text == "" {
		return Cursor{}, nil
	}
	invalid := func(problem string) (Cursor, error) {
		return Cursor{}, fmt.Errorf("horseracing: ParseCursor: %w: %s", ErrInvalidArgument, problem)
	}
	fields := strings.Split(text, ".")
	switch {
	case fields[0] != cursorVersion:
		return invalid("not a cursor of this version of the SDK")
	case len(fields) < 6 || len(fields) > 6+maxSeen:
		return invalid("the cursor is damaged")
	}
	last := len(fields) - 1
	if checksum(text[:len(text)-len(fields[last])-1]) != fields[last] {
		return invalid("the cursor is damaged")
	}
	c := Cursor{listing: fields[1]}
	tier, err := strconv.ParseInt(fields[2], 36, 32)
	if err == nil {
		c.tier = TierID(tier)
		c.at, err = strconv.ParseInt(fields[3], 36, 64)
	}
	if err == nil {
		c.newest, err = strconv.ParseInt(fields[4], 36, 64)
	}
	for _, field := range fields[5:last] {
		var id uint64
		if err == nil {
			id, err = strconv.ParseUint(field, 36, 64)
		}
		c.seen = append(c.seen, id)
	}
	// A number can be spelt in several ways; a cursor has one text only.
	if err != nil || c.listing == "" || c.at == math.MinInt64 || c.String() != text {
		return invalid("the cursor is damaged")
	}
	return c, nil
}

// MarshalText returns the cursor's text, for JSON and every other encoding.
func (c Cursor) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText is [ParseCursor].
func (c *Cursor) UnmarshalText(text []byte) error {
	parsed, err := ParseCursor(string(text))
	if err == nil {
		*c = parsed
	}
	return err
}
