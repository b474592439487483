package horseracing

import (
	"bytes"
	"cmp"
	"database/sql/driver"
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/horseracing-go/horseracing/internal/redact"
)

// TokenDecimals is the assumed number of decimal places of a token, which is undocumented.
const TokenDecimals = 18

// BigInt is an immutable integer of arbitrary size, for fees of 10^18 and more, whose unit is
// undocumented; see [TokenDecimals]. The zero value is 0. Compare with Cmp or Equal.
//
// It decodes integers of at most 100 digits: 12, 5.0, 1e+21 and "12". null is zero.
//
// A BigInt or a [Number] is a number in JSON, which JavaScript and others round beyond 2^53: for
// those, encode String. It is text with all digits in BSON, CBOR, gob, MessagePack, TOML, YAML and
// database/sql. Encoders that read exported fields and call no method, such as parquet-go,
// mapstructure and hashstructure, store nothing of it, without an error: give them String, too.
//
// In a database TEXT keeps all digits, and so does NUMERIC in PostgreSQL, but not in SQLite. Scan
// reads text and integers, and refuses a float, because it may have lost digits.
type BigInt struct {
	text string // in base 10, empty for zero
}

func NewBigInt(n int64) BigInt { return BigIntFrom(big.NewInt(n)) }

// BigIntFrom returns the value of n, or zero if n is nil.
func BigIntFrom(n *big.Int) BigInt {
	if n == nil || n.Sign() == 0 {
		return BigInt{}
	}
	return BigInt{n.String()}
}

// ParseUnits is the inverse of [BigInt.FormatUnits]. The text must be a number in JSON notation, and
// the result an integer of at most 100 digits.
func ParseUnits(text string, places int) (BigInt, error) {
	r, err := parseNumber([]byte(text))
	if err == nil && places < 0 {
		err = fmt.Errorf("places is negative: %d", places)
	}
	if err != nil {
		return BigInt{}, fmt.Errorf("horseracing: ParseUnits: %q: %w", redact.Clip(text, 50), err)
	}
	b, err := integerOf(r.Mul(r, tenTo(places)))
	if err != nil {
		return BigInt{}, fmt.Errorf("horseracing: ParseUnits: %q has more than %d decimal places, or more than 100 digits", redact.Clip(text, 50), places)
	}
	return b, nil
}

// Big returns a new big.Int.
func (b BigInt) Big() *big.Int {
	n, _ := new(big.Int).SetString(b.String(), 10)
	return n
}

func (b BigInt) String() string { return cmp.Or(b.text, "0") }

// FormatUnits returns the value divided by 10^places (0 to 1,000), exactly: 1234500000000000000 at 18
// places is "1.2345".
func (b BigInt) FormatUnits(places int) string { return formatUnits(b.String(), places) }

func (b BigInt) Add(other BigInt) BigInt {
	return BigIntFrom(new(big.Int).Add(b.Big(), other.Big()))
}

func (b BigInt) Sub(other BigInt) BigInt {
	return BigIntFrom(new(big.Int).Sub(b.Big(), other.Big()))
}

// Cmp returns -1 if b is less than other, 0 if they are equal, and else 1.
func (b BigInt) Cmp(other BigInt) int { return b.Big().Cmp(other.Big()) }

func (b BigInt) Equal(other BigInt) bool { return b == other }

func (b BigInt) IsZero() bool { return b.text == "" }

// Format supports the verbs and flags of [big.Int].
func (b BigInt) Format(s fmt.State, verb rune) { b.Big().Format(s, verb) }

func (b BigInt) MarshalJSON() ([]byte, error) { return []byte(b.String()), nil }

func (b *BigInt) UnmarshalJSON(data []byte) error {
	switch {
	case string(data) == "null":
		*b = BigInt{}
		return nil
	case len(data) > 1 && data[0] == '"' && data[len(data)-1] == '"':
		if data = data[1 : len(data)-1]; len(bytes.Trim(data, "-0123456789")) > 0 {
			return errors.New("a quoted integer must be in plain base 10")
		}
	}
	return b.UnmarshalText(data)
}

func (b BigInt) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

func (b *BigInt) UnmarshalText(text []byte) error {
	if isPlain(text) && text[0] != '0' {
		*b = BigInt{string(text)}
		return nil
	}
	r, err := parseNumber(text)
	if err != nil {
		return err
	}
	n, err := integerOf(r)
	if err == nil {
		*b = n
	}
	return err
}

// Encoders that know neither JSON nor text use the methods below: encoding/gob, CBOR and MessagePack
// MarshalBinary, BSON of version 2 of the MongoDB driver MarshalBSONValue, and its version 1 ProxyBSON.

func (b BigInt) AppendText(out []byte) ([]byte, error)                 { return append(out, b.String()...), nil }
func (b BigInt) MarshalBinary() ([]byte, error)                        { return b.MarshalText() }
func (b *BigInt) UnmarshalBinary(data []byte) error                    { return b.UnmarshalText(data) }
func (b BigInt) MarshalBSONValue() (kind byte, data []byte, err error) { return bsonText(b.String()) }
func (b *BigInt) UnmarshalBSONValue(kind byte, data []byte) error {
	return readBSONText(b, kind, data)
}
func (b BigInt) ProxyBSON() (any, error)          { return b.String(), nil }
func (b *BigInt) UnmarshalBSON(data []byte) error { return readBSONText(b, bsonString, data) }
func (b BigInt) Value() (driver.Value, error)     { return b.String(), nil }
func (b *BigInt) Scan(value any) error            { return scanText(b, value) }

// Number is an exact JSON number of at most 100 digits, for prizes and prices, whose units are
// undocumented. It is encoded as the literal that was decoded, as a [BigInt] is. The zero value is 0.
type Number struct {
	text string // the literal, empty for 0
}

func NewNumber(n int64) Number { return Number(NewBigInt(n)) }

func (n Number) String() string { return cmp.Or(n.text, "0") }

// Float64 returns the nearest float64, which may have lost digits.
func (n Number) Float64() float64 {
	f, _ := strconv.ParseFloat(n.String(), 64) // the bounds keep it in range
	return f
}

// Int64 returns the value and true if it is an integer that fits.
func (n Number) Int64() (int64, bool) {
	return parseInt64([]byte(n.String()))
}

// BigInt returns the value and true if it is an integer, however written.
func (n Number) BigInt() (BigInt, bool) {
	var b BigInt
	err := b.UnmarshalText([]byte(n.String()))
	return b, err == nil
}

// FormatUnits is like [BigInt.FormatUnits]: 12.50 at 0 places is "12.5".
func (n Number) FormatUnits(places int) string { return formatUnits(n.String(), places) }

// Cmp compares two values, as [BigInt.Cmp] does: 5 and 5.0 are the same.
func (n Number) Cmp(other Number) int { return ratOf(n.String()).Cmp(ratOf(other.String())) }

// Equal reports whether both have the same literal: 5 and 5.0 are not equal.
func (n Number) Equal(other Number) bool { return n == other }

func (n Number) MarshalJSON() ([]byte, error) { return []byte(n.String()), nil }

func (n *Number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*n = Number{}
		return nil
	}
	return n.UnmarshalText(data)
}

func (n Number) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

func (n *Number) UnmarshalText(text []byte) error {
	if !isPlain(text) {
		if _, err := parseNumber(text); err != nil {
			return err
		}
	}
	*n = Number{string(text)}
	if n.text == "0" {
		*n = Number{}
	}
	return nil
}

func (n Number) AppendText(out []byte) ([]byte, error)                 { return append(out, n.String()...), nil }
func (n Number) MarshalBinary() ([]byte, error)                        { return n.MarshalText() }
func (n *Number) UnmarshalBinary(data []byte) error                    { return n.UnmarshalText(data) }
func (n Number) MarshalBSONValue() (kind byte, data []byte, err error) { return bsonText(n.String()) }
func (n *Number) UnmarshalBSONValue(kind byte, data []byte) error {
	return readBSONText(n, kind, data)
}
func (n Number) ProxyBSON() (any, error)          { return n.String(), nil }
func (n *Number) UnmarshalBSON(data []byte) error { return readBSONText(n, bsonString, data) }
func (n Number) Value() (driver.Value, error)     { return n.String(), nil }
func (n *Number) Scan(value any) error            { return scanText(n, value) }

// Types of BSON values.
const (
	bsonString byte = 0x02
	bsonDate   byte = 0x09
	bsonNull   byte = 0x0a
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

// maxDigits bounds the digits of a number, and its exponent, so that a literal of a few
// bytes, such as 1e999999999, cannot fill the memory.
const maxDigits = 100

var (
	errNotNumber  = errors.New("not a number in JSON notation")
	errTooLong    = errors.New("a number of more than 100 digits")
	errNotInteger = errors.New("not an integer of at most 100 digits")
)

// isPlain reports whether the text is an integer of at most 100 digits in base 10, as most
// numbers are.
func isPlain(text []byte) bool {
	digits := bytes.TrimPrefix(text, []byte("-"))
	return 0 < len(digits) && len(digits) <= maxDigits && len(bytes.Trim(digits, "0123456789")) == 0 && (digits[0] != '0' || string(text) == "0")
}

// parseInt64 parses a number, in any notation, whose value is an integer of 64 bits.
func parseInt64(text []byte) (n int64, ok bool) {
	var b BigInt
	if b.UnmarshalText(text) != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(b.String(), 10, 64)
	if err != nil {
		return 0, false
	}
	return n, true
}

// parseNumber parses a JSON number within the bounds of [Number].
func parseNumber(text []byte) (*big.Rat, error) {
	if len(text) > 3*maxDigits { // leading zeros of the exponent included
		return nil, errTooLong
	}
	if value := jsontext.Value(text); value.Kind() != '0' || !value.IsValid() || len(bytes.TrimSpace(text)) < len(text) {
		return nil, errNotNumber
	}
	mantissa, power, _ := strings.Cut(strings.ToLower(string(text)), "e")
	digits := len(mantissa) - strings.Count(mantissa, "-") - strings.Count(mantissa, ".")
	exponent, err := strconv.Atoi(cmp.Or(power, "0"))
	if err != nil || exponent > maxDigits || exponent < -maxDigits || digits > maxDigits {
		return nil, errTooLong
	}
	return ratOf(string(text)), nil
}

// ratOf returns the exact value of a number within the bounds.
func ratOf(text string) *big.Rat {
	r, _ := new(big.Rat).SetString(text)
	return r
}

// tenTo returns 10^places, with places limited to 0 to 1,000.
func tenTo(places int) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(min(max(0, places), 1000))), nil))
}

// integerOf returns the value of r if it is an integer of at most 100 digits.
func integerOf(r *big.Rat) (BigInt, error) {
	b := BigIntFrom(r.Num())
	if !r.IsInt() || len(strings.TrimPrefix(b.text, "-")) > maxDigits {
		return BigInt{}, errNotInteger
	}
	return b, nil
}

// formatUnits returns a number divided by 10^places, without an exponent.
func formatUnits(number string, places int) string {
	r := ratOf(number)
	r.Quo(r, tenTo(places))
	decimals, _ := r.FloatPrec() // it is exact, since the denominator divides a power of ten
	return r.FloatString(decimals)
}
