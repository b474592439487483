package horseracing

import (
	"database/sql/driver"
	"encoding"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Value returns all digits as text. A column of type TEXT keeps them, and so does NUMERIC in
// PostgreSQL. In SQLite, NUMERIC rounds amounts of more than 18 digits, and Scan refuses them.
func (b BigInt) Value() (driver.Value, error) { return b.String(), nil }

// Scan reads text or an integer. NULL is zero. A float is an error, because it may have lost digits.
func (b *BigInt) Scan(value any) error { return scanText(b, value) }

// Value returns the literal as text; see [BigInt.Value] for the columns that keep it.
func (n Number) Value() (driver.Value, error) { return n.String(), nil }

// Scan reads what [BigInt.Scan] does, and fractions.
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

// timeLayouts are of the texts that drivers of SQLite write for a time.
var timeLayouts = []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700 MST"} // fractions are read, too

// Scan reads a time, the text that a driver of SQLite writes for one, or an integer, which is
// milliseconds since the Unix epoch. NULL is the zero Timestamp.
func (t *Timestamp) Scan(value any) error {
	switch value := value.(type) {
	case nil:
		*t = Timestamp{}
		return nil
	case time.Time:
		*t = NewTimestamp(value)
		return nil
	case int64:
		return t.UnmarshalJSON(strconv.AppendInt(nil, value, 10))
	case string:
		for _, layout := range timeLayouts {
			if instant, err := time.Parse(layout, value); err == nil {
				*t = NewTimestamp(instant)
				return nil
			}
		}
	}
	return fmt.Errorf("%T %.50v is not a time with its zone", value, value)
}

// Value returns an error, so that no key gets into a database in clear. string(key) is the key.
func (k UserKey) Value() (driver.Value, error) {
	return nil, errors.New("a UserKey is not written to a database: convert it to a string if it must be")
}

// scanText reads what a driver returns for a number or a text. A float64 has lost digits.
func scanText[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](out P, value any) error {
	switch value := value.(type) {
	case nil:
		*out = *new(T)
		return nil
	case int64:
		return out.UnmarshalText(strconv.AppendInt(nil, value, 10))
	case string:
		return out.UnmarshalText([]byte(value))
	case []byte:
		return out.UnmarshalText(value)
	}
	return fmt.Errorf("a %T is not read, since it may have lost digits: use a column of type TEXT, or in PostgreSQL NUMERIC", value)
}
