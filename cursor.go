package horseracing

import (
	"fmt"

	"github.com/horseracing-go/horseracing/internal/bson"
	"github.com/horseracing-go/horseracing/internal/listing"
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
	text string // see listing.CursorText
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

// newCursor returns the cursor of a listing, with the payload of its kind.
func newCursor(kind string, tier TierID, payload any) Cursor {
	return Cursor{listing.CursorText(kind, int(tier.orDefault()), payload)}
}

// open reads the payload of the cursor, if it is not zero. It returns the tier that a query selects: one
// that names no tier has that of the cursor. The problem is nil if the cursor is of that listing and tier.
func (c Cursor) open(kind string, tier TierID, payload any) (selected TierID, problem error) {
	switch {
	case tier < 0:
		return 0, fmt.Errorf("tier %d is negative", tier)
	case c.IsZero():
		return tier, nil
	}
	saved, problem := listing.OpenCursor(c.text, kind, int(tier), payload)
	return TierID(saved), problem
}

// ParseCursor parses the text of a cursor. The empty text is the zero Cursor. If the
// text is not a cursor, or is damaged, or is from another version of the SDK, the error
// matches ErrInvalidArgument and says so.
func ParseCursor(text string) (Cursor, error) {
	if text == "" {
		return Cursor{}, nil
	}
	if problem := listing.CheckCursor(text); problem != nil {
		return Cursor{}, fmt.Errorf("horseracing: ParseCursor: %w: %w", ErrInvalidArgument, problem)
	}
	return Cursor{text}, nil
}

// AppendText appends the cursor's text.
func (c Cursor) AppendText(out []byte) ([]byte, error) { return append(out, c.text...), nil }

// MarshalBinary returns the cursor's text.
func (c Cursor) MarshalBinary() ([]byte, error) { return c.MarshalText() }

// UnmarshalBinary parses the text as [ParseCursor] does.
func (c *Cursor) UnmarshalBinary(data []byte) error { return c.UnmarshalText(data) }

// MarshalBSONValue returns the cursor's text as a BSON string.
func (c Cursor) MarshalBSONValue() (kind byte, data []byte, err error) { return bson.Text(c.text) }

// UnmarshalBSONValue parses a BSON string as [ParseCursor] does.
func (c *Cursor) UnmarshalBSONValue(kind byte, data []byte) error {
	return bson.ReadText(c, kind, data)
}

// ProxyBSON returns the cursor's text, for version 1 of the MongoDB driver.
func (c Cursor) ProxyBSON() (any, error) { return c.text, nil }

// UnmarshalBSON parses a BSON string, for version 1 of the MongoDB driver.
func (c *Cursor) UnmarshalBSON(data []byte) error { return bson.ReadText(c, bson.String, data) }
