package horseracing

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Number is an exact JSON number, an integer or not: prizes and prices, whose units
// are undocumented. String and the encoded form are the literal as it came. The zero
// value is 0; null reads as 0. Digits and exponents are bounded as for [BigInt].
type Number struct {
	small int64
	text  string // the literal, where it is not simply small in base 10
}

// NewNumber returns the integer n as a Number.
func NewNumber(n int64) Number { return Number{small: n} }

// String returns the literal as it was written.
func (n Number) String() string {
	if n.text != "" {
		return n.text
	}
	return strconv.FormatInt(n.small, 10)
}

// Float64 returns the nearest float64. Beyond 2^53 it may lose digits.
func (n Number) Float64() float64 {
	if n.text == "" {
		return float64(n.small)
	}
	f, _ := strconv.ParseFloat(n.text, 64) // the bounds keep it in range
	return f
}

// Int64 returns the value and true if it is an integer that fits, however written
// (5.0, 5e3), and 0 and false otherwise.
func (n Number) Int64() (int64, bool) {
	if n.text == "" {
		return n.small, true
	}
	b, ok := n.BigInt()
	if !ok || b.big != nil {
		return 0, false
	}
	return b.small, true
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

// Decimal returns the value divided by 10^places, as [BigInt.Decimal] does, and true
// if the value is an integer, and "" and false otherwise.
func (n Number) Decimal(places int) (string, bool) {
	b, ok := n.BigInt()
	if !ok {
		return "", false
	}
	return b.Decimal(places), true
}

// Format prints the literal with %v, %s and %q, an integer with the integer
// verbs (%d, %x), and the nearest float64 with the floating-point verbs (%.2f).
// %d of 12.5 is an error in fmt's way: %!d(horseracing.Number=12.5).
func (n Number) Format(s fmt.State, verb rune) {
	b, isInteger := n.BigInt()
	switch {
	case verb == 'v':
		fmt.Fprintf(s, fmt.FormatString(s, 's'), n.String())
	case verb == 's' || verb == 'q':
		fmt.Fprintf(s, fmt.FormatString(s, verb), n.String())
	case isInteger && strings.ContainsRune("bdoOxX", verb):
		b.Format(s, verb)
	case strings.ContainsRune("eEfFgG", verb):
		fmt.Fprintf(s, fmt.FormatString(s, verb), n.Float64())
	default:
		fmt.Fprintf(s, "%%!%c(horseracing.Number=%s)", verb, n.String())
	}
}

// Equal reports whether both are the same literal: 5 and 5.0 are not equal.
func (n Number) Equal(other Number) bool { return n == other }

// MarshalJSON writes the literal as it was read.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalJSON reads any JSON number within the bounds.
func (n *Number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*n = Number{}
		return nil
	}
	return n.UnmarshalText(data)
}

// MarshalText writes the literal as it was read.
func (n Number) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText reads a number in JSON's notation.
func (n *Number) UnmarshalText(text []byte) error {
	if small, ok := parseSmall(text); ok && string(text) != "-0" {
		*n = Number{small: small}
		return nil
	}
	if !isInteger(text) {
		if _, err := parseDecimal(text); err != nil {
			return err
		}
	}
	*n = Number{text: string(text)}
	return nil
}

// maxDigits bounds what a number may cost: digits written, and exponent.
const maxDigits = 100

// decimal is a number taken apart: digits * 10^exponent.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

var (
	errNotNumber = errors.New("not a number in JSON notation")
	errTooLong   = errors.New("a number of more than 100 digits")
)

// parseDecimal takes a JSON number apart. Its cost does not grow with a
// hostile literal: too long a one is refused before it is read.
func parseDecimal(text []byte) (decimal, error) {
	if len(text) > 3*maxDigits { // sign, point, e, sign and leading zeros of the exponent included
		return decimal{}, errTooLong
	}
	var d decimal
	rest := string(text)
	rest, d.negative = strings.CutPrefix(rest, "-")
	whole, rest := leadingDigits(rest)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return decimal{}, errNotNumber
	}
	d.digits = whole
	if after, ok := strings.CutPrefix(rest, "."); ok {
		var fraction string
		if fraction, rest = leadingDigits(after); fraction == "" {
			return decimal{}, errNotNumber
		}
		d.digits += fraction
		d.exponent = -len(fraction)
	}
	if rest != "" {
		if rest[0] != 'e' && rest[0] != 'E' {
			return decimal{}, errNotNumber
		}
		sign := 1
		rest = rest[1:]
		if rest != "" && (rest[0] == '+' || rest[0] == '-') {
			if rest[0] == '-' {
				sign = -1
			}
			rest = rest[1:]
		}
		exponent, tail := leadingDigits(rest)
		if exponent == "" || tail != "" {
			return decimal{}, errNotNumber
		}
		e, err := strconv.Atoi(exponent)
		if err != nil || e > maxDigits {
			return decimal{}, errTooLong
		}
		d.exponent += sign * e
	}
	if len(d.digits) > maxDigits {
		return decimal{}, errTooLong
	}
	return d, nil
}

// integer returns the digits of the whole value, or false where it has a
// fraction or more digits than the bound.
func (d decimal) integer() (string, bool) {
	digits := strings.TrimLeft(d.digits, "0")
	if digits == "" {
		return "0", true
	}
	if d.exponent < 0 {
		whole := strings.TrimRight(digits, "0")
		if len(digits)-len(whole) < -d.exponent {
			return "", false
		}
		return digits[:len(digits)+d.exponent], true
	}
	if len(digits)+d.exponent > maxDigits {
		return "", false
	}
	return digits + strings.Repeat("0", d.exponent), true
}

func leadingDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

// parseSmall reads a plain JSON integer literal that fits in 64 bits, as most do.
// It allocates nothing, not even for an error, and half the time of strconv.
func parseSmall(text []byte) (n int64, ok bool) {
	digits, negative := bytes.CutPrefix(text, []byte("-"))
	if len(digits) > len("9223372036854775807") || !isInteger(text) {
		return 0, false
	}
	var magnitude uint64 // so few digits do not overflow it
	for _, c := range digits {
		magnitude = 10*magnitude + uint64(c-'0')
	}
	if n = int64(magnitude); negative {
		n = -n
	}
	return n, magnitude < 1<<63 || negative && magnitude == 1<<63
}

// isInteger reports whether text is a plain JSON integer literal. strconv
// alone would accept a sign and zeros in front.
func isInteger(text []byte) bool {
	if len(text) > 0 && text[0] == '-' {
		text = text[1:]
	}
	if len(text) == 0 || len(text) > maxDigits || len(text) > 1 && text[0] == '0' {
		return false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
