package horseracing

import "strconv"

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

// Decimal returns the value divided by 10^places, exactly, without an exponent and
// without trailing zeros: 6e+21 at 18 places is "6000", 12.50 at 0 places is "12.5".
// places is clamped to the range 0 to 1,000.
func (n Number) Decimal(places int) string {
	d, _ := parseDecimal([]byte(n.String())) // every Number was checked when it was read
	return d.text(places)
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
	_, err := parseDecimal(text)
	if err == nil {
		*n = Number{text: string(text)}
	}
	return err
}
