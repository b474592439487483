package horseracing

import (
	"database/sql/driver"
	"encoding"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Value returns the digits as text, which a column of type NUMERIC or TEXT takes without loss.
func (b BigInt) Value() (driver.Value, error) { return b.String(), nil }

// Scan reads an integer or text. NULL is zero.
func (b *BigInt) Scan(value any) error { return scanText(b, value) }

// Value returns the literal as text, which a column of type NUMERIC or TEXT takes without loss.
func (n Number) Value() (driver.Value, error) { return n.String(), nil }

// Scan reads an integer or text. NULL is zero.
func (n *Number) Scan(value any) error { return scanText(n, value) }

// Value returns the text of the cursor.
func (c Cursor) Value() (driver.Value, error) { return c.text, nil }

// Scan reads the text of a cursor. NULL is the zero Cursor.
func (c *Cursor) Scan(value any) error { return scanText(c, value) }

// Value returns a time.Time in UTC, or NULL for the zero Timestamp.
func (t Timestamp) Value() (driver.Value, error) {
	if t.IsZero() {
		return nil, nil //nolint:nilnil // NULL
	}
	return t.UTC(), nil
}

// Scan reads a time, as drivers return it for a column of type TIMESTAMP, or an integer, which is
// milliseconds since the Unix epoch. NULL is the zero Timestamp.
func (t *Timestamp) Scan(value any) error {
	switch value := value.(type) {
	case nil:
		*t = Timestamp{}
	case time.Time:
		*t = NewTimestamp(value)
	case int64:
		if value < minMilliseconds || value > maxMilliseconds {
			return fmt.Errorf("%d is not milliseconds since the Unix epoch", value)
		}
		*t = timestampOf(value)
	default:
		return fmt.Errorf("a %T is not a time", value)
	}
	return nil
}

// Value returns an error, so that no key gets into a database in clear. string(key) is the key.
func (k UserKey) Value() (driver.Value, error) {
	return nil, errors.New("a UserKey is not written to a database: convert it to a string if it must be")
}

// scanText reads what a driver returns for a number or a text. A float64 has lost digits.
func scanText(out encoding.TextUnmarshaler, value any) error {
	switch value := value.(type) {
	case nil:
		switch out := out.(type) {
		case *BigInt:
			*out = BigInt{}
		case *Number:
			*out = Number{}
		case *Cursor:
			*out = Cursor{}
		}
		return nil
	case int64:
		return out.UnmarshalText(strconv.AppendInt(nil, value, 10))
	case string:
		return out.UnmarshalText([]byte(value))
	case []byte:
		return out.UnmarshalText(value)
	}
	return fmt.Errorf("a %T cannot be read without loss: use a column of type NUMERIC or TEXT", value)
}
