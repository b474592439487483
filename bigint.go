package horseracing

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/horseracing-go/horseracing/internal/bson"
	"github.com/horseracing-go/horseracing/internal/redact"
)

// TokenDecimals is the number of decimal places of a token that this module assumes, as is usual for
// amounts of this size. The service does not document it.
const TokenDecimals = 18

// BigInt is an immutable integer of arbitrary size, for fees of 10^18 and more. The
// zero value is 0. Compare with Cmp or Equal.
//
// The unit of fees and prizes is undocumented. With [TokenDecimals], FormatUnits returns an amount
// in tokens, and ParseUnits parses one.
//
// A BigInt decodes plain integers (12), integral decimals (5.0), exponents (1e+21, as
// JavaScript writes integers from 10^21 on), and quoted base-10 integers. null decodes as
// zero. Decoding fails for fractions, other notations, and more than 100 digits.
//
// Every encoder keeps all digits: JSON as a number, and BSON, CBOR, gob, MessagePack, TOML and
// YAML as text.
type BigInt struct {
	text string // in base 10, empty for zero
}

// NewBigInt returns the integer n as a BigInt.
func NewBigInt(n int64) BigInt { return BigIntFrom(big.NewInt(n)) }

// BigIntFrom returns the value of n and keeps no reference to it. A nil n is zero.
func BigIntFrom(n *big.Int) BigInt {
	if n == nil || n.Sign() == 0 {
		return BigInt{}
	}
	return BigInt{n.String()}
}

// ParseUnits parses a decimal number and multiplies it by 10^places: "2.5" at 18
// places is 2500000000000000000. It is the inverse of [BigInt.FormatUnits]. The text must
// be a number in JSON notation ("2", "-0.5", "1e3") and the product an integer of at
// most 100 digits; places must not be negative.
func ParseUnits(text string, places int) (BigInt, error) {
	d, err := parseDecimal([]byte(text))
	if err == nil && places < 0 {
		err = fmt.Errorf("places is negative: %d", places)
	}
	if err != nil {
		return BigInt{}, fmt.Errorf("horseracing: ParseUnits: %q: %w", redact.Clip(text, 50), err)
	}
	d.exponent += min(places, 1000)
	b, err := d.integer()
	if err != nil {
		return BigInt{}, fmt.Errorf("horseracing: ParseUnits: %q has more than %d decimal places, or more than 100 digits", redact.Clip(text, 50), places)
	}
	return b, nil
}

// Big returns the value as a new big.Int.
func (b BigInt) Big() *big.Int {
	n, _ := new(big.Int).SetString(b.String(), 10)
	return n
}

// String returns the integer in base 10, with all its digits.
func (b BigInt) String() string { return cmp.Or(b.text, "0") }

// FormatUnits returns the value divided by 10^places, exactly and without trailing zeros:
// 1234500000000000000 at 18 places is "1.2345". places is clamped to the range 0 to
// 1,000.
func (b BigInt) FormatUnits(places int) string {
	return newDecimal(b.text, 0).formatUnits(places)
}

// Add returns b + other. Sums can have more than 100 digits, which decoding refuses.
func (b BigInt) Add(other BigInt) BigInt {
	return BigIntFrom(new(big.Int).Add(b.Big(), other.Big()))
}

// Sub returns b - other. Differences can have more than 100 digits, which decoding
// refuses.
func (b BigInt) Sub(other BigInt) BigInt {
	return BigIntFrom(new(big.Int).Sub(b.Big(), other.Big()))
}

// Cmp compares two values: -1 if b is less than other, 0 if equal, 1 if greater.
func (b BigInt) Cmp(other BigInt) int { return b.Big().Cmp(other.Big()) }

// Equal reports whether both values are the same integer.
func (b BigInt) Equal(other BigInt) bool { return b == other }

// IsZero reports whether the value is 0.
func (b BigInt) IsZero() bool { return b.text == "" }

// Format supports the verbs and flags of [big.Int]: %d, %x, %v and so on.
func (b BigInt) Format(s fmt.State, verb rune) { b.Big().Format(s, verb) }

// MarshalJSON writes an integer literal. JavaScript, and tools that read numbers as
// float64, lose digits beyond 2^53: for those, encode String instead.
func (b BigInt) MarshalJSON() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalJSON reads the notations listed at [BigInt].
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

// MarshalText writes the integer in base 10.
func (b BigInt) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads the same notations as UnmarshalJSON, without quotes.
func (b *BigInt) UnmarshalText(text []byte) error {
	if isPlain(text) && text[0] != '0' {
		*b = BigInt{string(text)}
		return nil
	}
	d, err := parseDecimal(text)
	if err != nil {
		return err
	}
	n, err := d.integer()
	if err == nil {
		*b = n
	}
	return err
}

// Encoders that know neither JSON nor text use the methods below: encoding/gob, CBOR and MessagePack
// MarshalBinary, BSON of version 2 of the MongoDB driver MarshalBSONValue, and its version 1 ProxyBSON.

// AppendText appends the integer in base 10.
func (b BigInt) AppendText(out []byte) ([]byte, error) { return append(out, b.String()...), nil }

// MarshalBinary returns the integer in base 10.
func (b BigInt) MarshalBinary() ([]byte, error) { return b.MarshalText() }

// UnmarshalBinary reads what MarshalBinary returned.
func (b *BigInt) UnmarshalBinary(data []byte) error { return b.UnmarshalText(data) }

// MarshalBSONValue returns the integer in base 10 as a BSON string.
func (b BigInt) MarshalBSONValue() (kind byte, data []byte, err error) { return bson.Text(b.String()) }

// UnmarshalBSONValue reads a BSON string, as UnmarshalText does.
func (b *BigInt) UnmarshalBSONValue(kind byte, data []byte) error {
	return bson.ReadText(b, kind, data)
}

// ProxyBSON returns the integer in base 10, for version 1 of the MongoDB driver.
func (b BigInt) ProxyBSON() (any, error) { return b.String(), nil }

// UnmarshalBSON reads a BSON string, for version 1 of the MongoDB driver.
func (b *BigInt) UnmarshalBSON(data []byte) error { return bson.ReadText(b, bson.String, data) }

// Number is an exact JSON number, an integer or not. It is used for prizes and prices,
// whose units are undocumented. String and encoding return the literal as it was
// decoded. The zero value is 0, and null decodes as 0. Decoding fails for more than 100
// digits in all, and for an exponent beyond ±100.
type Number struct {
	text string // the literal, empty for 0
}

// NewNumber returns the integer n as a Number.
func NewNumber(n int64) Number { return Number(NewBigInt(n)) }

// String returns the literal as it was decoded.
func (n Number) String() string { return cmp.Or(n.text, "0") }

// Float64 returns the nearest float64. Beyond 2^53 it may lose digits.
func (n Number) Float64() float64 {
	f, _ := strconv.ParseFloat(n.String(), 64) // the bounds keep it in range
	return f
}

// Int64 returns the value and true if it is an integer that fits, however written
// (5.0, 5e3), and 0 and false otherwise.
func (n Number) Int64() (int64, bool) {
	return parseInt64([]byte(n.String()))
}

// BigInt returns the value and true if it is an integer, however written (5.0,
// 1e+21), and zero and false otherwise.
func (n Number) BigInt() (BigInt, bool) {
	var b BigInt
	err := b.UnmarshalText([]byte(n.String()))
	return b, err == nil
}

// FormatUnits returns the value divided by 10^places, exactly, without an exponent and
// without trailing zeros: 6e+21 at 18 places is "6000", 12.50 at 0 places is "12.5".
// places is clamped to the range 0 to 1,000.
func (n Number) FormatUnits(places int) string {
	d, _ := parseDecimal([]byte(n.String())) // it was checked when it was read
	return d.formatUnits(places)
}

// Cmp compares two values, as [BigInt.Cmp] does: 5 and 5.0 are the same.
func (n Number) Cmp(other Number) int {
	a, _ := new(big.Rat).SetString(n.String()) // both were checked when they were read
	b, _ := new(big.Rat).SetString(other.String())
	return a.Cmp(b)
}

// Equal reports whether both have the same literal: 5 and 5.0 are not equal.
func (n Number) Equal(other Number) bool { return n == other }

// MarshalJSON writes the literal as it was decoded.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalJSON reads any JSON number within the bounds of [Number].
func (n *Number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*n = Number{}
		return nil
	}
	return n.UnmarshalText(data)
}

// MarshalText writes the literal as it was decoded.
func (n Number) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText reads a number in JSON's notation.
func (n *Number) UnmarshalText(text []byte) error {
	if !isPlain(text) {
		if _, err := parseDecimal(text); err != nil {
			return err
		}
	}
	*n = Number{string(text)}
	if n.text == "0" {
		*n = Number{}
	}
	return nil
}

// AppendText appends the literal as it was decoded.
func (n Number) AppendText(out []byte) ([]byte, error) { return append(out, n.String()...), nil }

// MarshalBinary returns the literal as it was decoded.
func (n Number) MarshalBinary() ([]byte, error) { return n.MarshalText() }

// UnmarshalBinary reads what MarshalBinary returned.
func (n *Number) UnmarshalBinary(data []byte) error { return n.UnmarshalText(data) }

// MarshalBSONValue returns the literal as a BSON string.
func (n Number) MarshalBSONValue() (kind byte, data []byte, err error) { return bson.Text(n.String()) }

// UnmarshalBSONValue reads a BSON string, as UnmarshalText does.
func (n *Number) UnmarshalBSONValue(kind byte, data []byte) error {
	return bson.ReadText(n, kind, data)
}

// ProxyBSON returns the literal, for version 1 of the MongoDB driver.
func (n Number) ProxyBSON() (any, error) { return n.String(), nil }

// UnmarshalBSON reads a BSON string, for version 1 of the MongoDB driver.
func (n *Number) UnmarshalBSON(data []byte) error { return bson.ReadText(n, bson.String, data) }

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
	if !isPlain(text) {
		if b.UnmarshalText(text) != nil {
			return 0, false
		}
		text = []byte(b.String())
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, false
	}
	return n, true
}

// decimal is a number within the bounds of [Number], in parts.
type decimal struct {
	sign     string // "-", or empty
	digits   string // without leading and trailing zeros, or empty for zero
	exponent int    // the value is digits * 10^exponent
}

// parseDecimal parses a JSON number.
func parseDecimal(text []byte) (d decimal, err error) {
	if len(text) > 3*maxDigits { // leading zeros of the exponent included
		return d, errTooLong
	}
	if value := jsontext.Value(text); value.Kind() != '0' || !value.IsValid() || len(bytes.TrimSpace(text)) < len(text) {
		return d, errNotNumber
	}
	mantissa, power, _ := strings.Cut(strings.ToLower(string(text)), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exponent, err := strconv.Atoi(cmp.Or(power, "0"))
	if err != nil || exponent > maxDigits || exponent < -maxDigits || len(strings.Trim(whole, "-"))+len(fraction) > maxDigits {
		return d, errTooLong
	}
	return newDecimal(whole+fraction, exponent-len(fraction)), nil
}

// newDecimal returns an integer in base 10, multiplied by 10^exponent.
func newDecimal(integer string, exponent int) decimal {
	unsigned := strings.TrimPrefix(integer, "-")
	digits := strings.TrimRight(unsigned, "0")
	return decimal{integer[:len(integer)-len(unsigned)], strings.TrimLeft(digits, "0"), exponent + len(unsigned) - len(digits)}
}

// integer returns the value if it is an integer of at most 100 digits.
func (d decimal) integer() (BigInt, error) {
	switch {
	case d.digits == "":
		return BigInt{}, nil
	case d.exponent < 0 || len(d.digits)+d.exponent > maxDigits:
		return BigInt{}, errNotInteger
	}
	return BigInt{d.String()}, nil
}

// String returns the number without an exponent.
func (d decimal) String() string {
	switch {
	case d.digits == "":
		return "0"
	case d.exponent >= 0:
		return d.sign + d.digits + strings.Repeat("0", d.exponent)
	}
	digits := strings.Repeat("0", max(0, 1-d.exponent-len(d.digits))) + d.digits // one before the point
	point := len(digits) + d.exponent
	return d.sign + digits[:point] + "." + digits[point:]
}

// formatUnits returns the number divided by 10^places, which are limited to 0 to 1,000.
func (d decimal) formatUnits(places int) string {
	d.exponent -= min(max(0, places), 1000)
	return d.String()
}
