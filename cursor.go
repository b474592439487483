package horseracing

import (
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/horseracing-go/horseracing/internal/listing"
)

// A Cursor is the position after an entry of a listing, with the tier and, for a [Pager], the Since of
// its query. Pass it as a query's Resume to continue there, in any process. It does not expire. A
// query of another listing or tier fails with ErrInvalidArgument.
//
// Store its text, in any of the forms of a [BigInt], with the entries that were read. It contains no
// key, and is checked when it is parsed. To read entries that finish later, store that of a
// [Follower]: a Pager's leads to older entries only.
type Cursor struct {
	text string // see listing.CursorText
}

func (c Cursor) IsZero() bool { return c.text == "" }

func (c Cursor) Equal(other Cursor) bool { return c == other }

func (c Cursor) String() string { return c.text }

func (c Cursor) MarshalText() ([]byte, error) { return []byte(c.text), nil }

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

// ParseCursor parses the text of a cursor; the empty text is the zero Cursor. The error for one that is
// damaged, or from another version of the SDK, matches ErrInvalidArgument.
func ParseCursor(text string) (Cursor, error) {
	if text == "" {
		return Cursor{}, nil
	}
	problem := listing.CheckCursor(text)
	if errors.Is(problem, listing.ErrVersion) {
		problem = fmt.Errorf("%w: start without it, a Follower with Since an hour (for tournaments a day) before the newest entry that is stored, and skip what is stored", problem)
	}
	if problem != nil {
		return Cursor{}, fmt.Errorf("horseracing: ParseCursor: %w: %w", ErrInvalidArgument, problem)
	}
	return Cursor{text}, nil
}

func (c Cursor) AppendText(out []byte) ([]byte, error)                 { return append(out, c.text...), nil }
func (c Cursor) MarshalBinary() ([]byte, error)                        { return c.MarshalText() }
func (c *Cursor) UnmarshalBinary(data []byte) error                    { return c.UnmarshalText(data) }
func (c Cursor) MarshalBSONValue() (kind byte, data []byte, err error) { return bsonText(c.text) }
func (c *Cursor) UnmarshalBSONValue(kind byte, data []byte) error {
	return readBSONText(c, kind, data)
}
func (c Cursor) ProxyBSON() (any, error)          { return c.text, nil }
func (c *Cursor) UnmarshalBSON(data []byte) error { return readBSONText(c, bsonString, data) }
func (c Cursor) Value() (driver.Value, error)     { return c.text, nil }
func (c *Cursor) Scan(value any) error            { return scanText(c, value) }
