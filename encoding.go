package horseracing

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"time"
)

// Encoders that know neither JSON nor text store the exact numbers and cursors as text, too:
// encoding/gob, CBOR and MessagePack by MarshalBinary, BSON of version 2 of the MongoDB driver by
// MarshalBSONValue and UnmarshalBSONValue, and of its version 1 by ProxyBSON and UnmarshalBSON.

// AppendText appends the integer in base 10.
func (b BigInt) AppendText(out []byte) ([]byte, error) { return append(out, b.String()...), nil }

// MarshalBinary returns the integer in base 10.
func (b BigInt) MarshalBinary() ([]byte, error) { return b.MarshalText() }

// UnmarshalBinary reads what MarshalBinary returned.
func (b *BigInt) UnmarshalBinary(data []byte) error { return b.UnmarshalText(data) }

// MarshalBSONValue returns the integer in base 10 as a BSON string.
func (b BigInt) MarshalBSONValue() (kind byte, data []byte, err error) { return bsonText(b.String()) }

// UnmarshalBSONValue reads a BSON string, as UnmarshalText does.
func (b *BigInt) UnmarshalBSONValue(kind byte, data []byte) error {
	return readBSONText(b, kind, data)
}

// ProxyBSON returns the integer in base 10, for version 1 of the MongoDB driver.
func (b BigInt) ProxyBSON() (any, error) { return b.String(), nil }

// UnmarshalBSON reads a BSON string, for version 1 of the MongoDB driver.
func (b *BigInt) UnmarshalBSON(data []byte) error { return readBSONText(b, bsonString, data) }

// AppendText appends the literal as it was decoded.
func (n Number) AppendText(out []byte) ([]byte, error) { return append(out, n.String()...), nil }

// MarshalBinary returns the literal as it was decoded.
func (n Number) MarshalBinary() ([]byte, error) { return n.MarshalText() }

// UnmarshalBinary reads what MarshalBinary returned.
func (n *Number) UnmarshalBinary(data []byte) error { return n.UnmarshalText(data) }

// MarshalBSONValue returns the literal as a BSON string.
func (n Number) MarshalBSONValue() (kind byte, data []byte, err error) { return bsonText(n.String()) }

// UnmarshalBSONValue reads a BSON string, as UnmarshalText does.
func (n *Number) UnmarshalBSONValue(kind byte, data []byte) error {
	return readBSONText(n, kind, data)
}

// ProxyBSON returns the literal, for version 1 of the MongoDB driver.
func (n Number) ProxyBSON() (any, error) { return n.String(), nil }

// UnmarshalBSON reads a BSON string, for version 1 of the MongoDB driver.
func (n *Number) UnmarshalBSON(data []byte) error { return readBSONText(n, bsonString, data) }

// AppendText appends the cursor's text.
func (c Cursor) AppendText(out []byte) ([]byte, error) { return append(out, c.text...), nil }

// MarshalBinary returns the cursor's text.
func (c Cursor) MarshalBinary() ([]byte, error) { return c.MarshalText() }

// UnmarshalBinary parses the text as [ParseCursor] does.
func (c *Cursor) UnmarshalBinary(data []byte) error { return c.UnmarshalText(data) }

// MarshalBSONValue returns the cursor's text as a BSON string.
func (c Cursor) MarshalBSONValue() (kind byte, data []byte, err error) { return bsonText(c.text) }

// UnmarshalBSONValue parses a BSON string as [ParseCursor] does.
func (c *Cursor) UnmarshalBSONValue(kind byte, data []byte) error {
	return readBSONText(c, kind, data)
}

// ProxyBSON returns the cursor's text, for version 1 of the MongoDB driver.
func (c Cursor) ProxyBSON() (any, error) { return c.text, nil }

// UnmarshalBSON parses a BSON string, for version 1 of the MongoDB driver.
func (c *Cursor) UnmarshalBSON(data []byte) error { return readBSONText(c, bsonString, data) }

// MarshalBSONValue returns a BSON date, in milliseconds; the zero value is null.
func (t Timestamp) MarshalBSONValue() (kind byte, data []byte, err error) {
	if t.IsZero() {
		return bsonNull, nil, nil
	}
	return bsonDate, binary.LittleEndian.AppendUint64(nil, uint64(t.UnixMilli())), nil
}

// UnmarshalBSONValue reads a BSON date or null.
func (t *Timestamp) UnmarshalBSONValue(kind byte, data []byte) error {
	switch {
	case kind == bsonNull:
		*t = Timestamp{}
	case kind == bsonDate && len(data) == 8:
		*t = NewTimestamp(time.UnixMilli(int64(binary.LittleEndian.Uint64(data))))
	default:
		return fmt.Errorf("a BSON value of type %#02x is not a date", kind)
	}
	return nil
}

// Types of BSON values.
const (
	bsonString = 0x02
	bsonDate   = 0x09
	bsonNull   = 0x0a
)

// bsonText returns a BSON string: its length, the text and a NUL.
func bsonText(text string) (kind byte, data []byte, err error) {
	data = binary.LittleEndian.AppendUint32(nil, uint32(len(text)+1))
	return bsonString, append(append(data, text...), 0), nil
}

// readBSONText reads a BSON string.
func readBSONText(out encoding.TextUnmarshaler, kind byte, data []byte) error {
	end := len(data) - 1
	if kind != bsonString || end < 4 || int(binary.LittleEndian.Uint32(data)) != end-3 || data[end] != 0 {
		return fmt.Errorf("a BSON value of type %#02x is not a string", kind)
	}
	return out.UnmarshalText(data[4:end])
}
