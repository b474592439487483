package horseracing

import (
	"bytes"
	"errors"
	"math/big"
	"strconv"
	"strings"
)

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

// shift divides the number by 10^places, with places limited to 0 to 1,000.
func (d decimal) shift(places int) decimal {
	d.exponent -= min(max(places, 0), 1000)
	return d
}

// String returns the number without an exponent and without needless zeros.
func (d decimal) String() string {
	digits := strings.TrimLeft(d.digits, "0")
	if digits == "" {
		return "0"
	}
	digits = strings.Repeat("0", max(0, 1-d.exponent-len(digits))) + digits + strings.Repeat("0", max(0, d.exponent))
	text := digits
	if d.exponent < 0 {
		point := len(digits) + d.exponent
		text = strings.TrimRight(digits[:point]+"."+digits[point:], "0")
		text = strings.TrimSuffix(text, ".")
	}
	if d.negative {
		text = "-" + text
	}
	return text
}

func leadingDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

// bigInt returns the value, or false if it has a fraction or more digits than the
// bound.
func (d decimal) bigInt() (BigInt, bool) {
	text := d.String()
	if strings.Contains(text, ".") || len(strings.TrimPrefix(text, "-")) > maxDigits {
		return BigInt{}, false
	}
	n, _ := new(big.Int).SetString(text, 10) // digits only, by construction
	return BigIntFrom(n), true
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
