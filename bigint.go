package horseracing

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// BigInt is an immutable integer of arbitrary size, for fees of 10^18 and more. The
// zero value is 0. Compare with Cmp or Equal, not with ==.
//
// The unit of fees and prizes is undocumented. This module takes it for 10^-18 tokens, as
// is usual for such amounts: FormatUnits(18) returns tokens, ParseUnits(text, 18) reads
// them.
//
// It decodes plain integers (12), integral decimals (5.0), exponents (1e+21, as
// JavaScript writes integers from 10^21 on), and quoted base-10 integers; null is zero.
// Decoding fails for fractions, other notations, and more than 100 digits.
type BigInt struct {
	small int64
	big   *big.Int // set only if the value does not fit in small; never changed
}

// NewBigInt returns the integer n as a BigInt.
func NewBigInt(n int64) BigInt { return BigInt{small: n} }

// BigIntFrom returns the value of n and keeps no reference to it. A nil n is zero.
func BigIntFrom(n *big.Int) BigInt {
	switch {
	case n == nil:
		return BigInt{}
	case n.IsInt64():
		return BigInt{small: n.Int64()}
	default:
		return BigInt{big: new(big.Int).Set(n)}
	}
}

// ParseUnits parses a decimal number and multiplies it by 10^places: "2.5" at 18
// places is 2500000000000000000. It is the inverse of [BigInt.FormatUnits]. The text must
// be a number in JSON notation ("2", "-0.5", "1e3") and the product an integer of at
// most 100 digits; places must not be negative.
func ParseUnits(text string, places int) (BigInt, error) {
	value, err := parseNumber([]byte(text))
	if err == nil && places < 0 {
		err = fmt.Errorf("places is negative: %d", places)
	}
	if err != nil {
		return BigInt{}, fmt.Errorf("horseracing: ParseUnits: %q: %w", clip(text, 50), err)
	}
	b, err := integer(value.Mul(value, tenTo(min(places, 1000))))
	if err != nil {
		return BigInt{}, fmt.Errorf("horseracing: ParseUnits: %q has more than %d decimal places, or more than 100 digits", clip(text, 50), places)
	}
	return b, nil
}

// Big returns the value as a new big.Int.
func (b BigInt) Big() *big.Int {
	if b.big != nil {
		return new(big.Int).Set(b.big)
	}
	return big.NewInt(b.small)
}

// String returns the integer in base 10, with all its digits.
func (b BigInt) String() string {
	if b.big != nil {
		return b.big.String()
	}
	return strconv.FormatInt(b.small, 10)
}

// FormatUnits returns the value divided by 10^places, exactly and without trailing zeros:
// 1234500000000000000 at 18 places is "1.2345". places is clamped to the range 0 to
// 1,000.
func (b BigInt) FormatUnits(places int) string {
	return formatUnits(new(big.Rat).SetInt(b.Big()), places)
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
func (b BigInt) Equal(other BigInt) bool { return b.Cmp(other) == 0 }

// IsZero reports whether the value is 0.
func (b BigInt) IsZero() bool { return b.big == nil && b.small == 0 }

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
	if small, ok := parseSmall(text); ok {
		*b = BigInt{small: small}
		return nil
	}
	value, err := parseNumber(text)
	if err != nil {
		return err
	}
	n, err := integer(value)
	if err == nil {
		*b = n
	}
	return err
}

// Number is an exact JSON number, an integer or not. It is used for prizes and prices,
// whose units are undocumented. String and encoding return the literal as it was
// decoded. The zero value is 0; null decodes as 0. Decoding fails for more than 100
// digits in all, and for an exponent beyond ±100.
type Number struct {
	small int64
	text  string // the literal, unless it is small in base 10
}

// NewNumber returns the integer n as a Number.
func NewNumber(n int64) Number { return Number{small: n} }

// String returns the literal as it was decoded.
func (n Number) String() string {
	if n.text != "" {
		return n.text
	}
	return strconv.FormatInt(n.small, 10)
}

// Float64 returns the nearest float64. Beyond 2^53 it may lose digits.
func (n Number) Float64() float64 {
	f, _ := strconv.ParseFloat(n.String(), 64) // the bounds keep it in range
	return f
}

// Int64 returns the value and true if it is an integer that fits, however written
// (5.0, 5e3), and 0 and false otherwise.
func (n Number) Int64() (int64, bool) {
	b, ok := n.BigInt()
	return b.small, ok && b.big == nil
}

// BigInt returns the value and true if it is an integer, however written (5.0,
// 1e+21), and zero and false otherwise.
func (n Number) BigInt() (BigInt, bool) {
	if n.text == "" {
		return BigInt{small: n.small}, true
	}
	var b BigInt
	err := b.UnmarshalText([]byte(n.text))
	return b, err == nil
}

// FormatUnits returns the value divided by 10^places, exactly, without an exponent and
// without trailing zeros: 6e+21 at 18 places is "6000", 12.50 at 0 places is "12.5".
// places is clamped to the range 0 to 1,000.
func (n Number) FormatUnits(places int) string {
	value, _ := parseNumber([]byte(n.String())) // every Number was checked when it was read
	return formatUnits(value, places)
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
	if small, ok := parseSmall(text); ok {
		*n = Number{small: small}
		return nil
	}
	err := checkNumber(text)
	if err == nil {
		*n = Number{text: string(text)}
	}
	return err
}

// maxDigits bounds the digits of a number, and its exponent, so that a literal of a few
// bytes, such as 1e999999999, cannot fill the memory.
const maxDigits = 100

var (
	errNotNumber = errors.New("not a number in JSON notation")
	errTooLong   = errors.New("a number of more than 100 digits")
)

// checkNumber returns an error unless the text is a JSON number within the bounds.
func checkNumber(text []byte) error {
	if len(text) > 3*maxDigits { // leading zeros of the exponent included
		return errTooLong
	}
	if value := jsontext.Value(text); value.Kind() != '0' || !value.IsValid() || len(trimSpace(text)) < len(text) {
		return errNotNumber
	}
	mantissa, power := text, []byte("0")
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		mantissa, power = text[:i], text[i+1:]
	}
	exponent, err := strconv.Atoi(string(power))
	if err != nil || exponent > maxDigits || exponent < -maxDigits || len(bytes.Trim(mantissa, "-"))-bytes.Count(mantissa, []byte(".")) > maxDigits {
		return errTooLong
	}
	return nil
}

// parseNumber returns the value of a JSON number within the bounds.
func parseNumber(text []byte) (*big.Rat, error) {
	if err := checkNumber(text); err != nil {
		return nil, err
	}
	value, _ := new(big.Rat).SetString(string(text))
	return value, nil
}

// tooLarge is the smallest positive integer of more than 100 digits.
var tooLarge = tenTo(maxDigits).Num()

// integer returns a value that is an integer of at most 100 digits.
func integer(value *big.Rat) (BigInt, error) {
	if !value.IsInt() || value.Num().CmpAbs(tooLarge) >= 0 {
		return BigInt{}, errors.New("not an integer of at most 100 digits")
	}
	return BigIntFrom(value.Num()), nil
}

func tenTo(exponent int) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(exponent)), nil))
}

// formatUnits returns the value divided by 10^places, without an exponent and without
// trailing zeros. Places are limited to 0 to 1,000.
func formatUnits(value *big.Rat, places int) string {
	value.Quo(value, tenTo(min(max(0, places), 1000)))
	decimals, _ := value.FloatPrec()
	return value.FloatString(decimals)
}

// parseSmall parses an integer that fits in 64 bits, as most do, in the notation of JSON.
func parseSmall(text []byte) (n int64, ok bool) {
	digits := bytes.TrimPrefix(text, []byte("-"))
	if len(digits) == 0 || len(digits) > 19 || len(bytes.Trim(digits, "0123456789")) > 0 || digits[0] == '0' && len(text) > 1 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil
}
