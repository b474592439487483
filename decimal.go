package horseracing

import (
	"cmp"
	"errors"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// maxDigits limits the digits of a number, and its exponent.
const maxDigits = 100

// decimal is the number digits * 10^exponent.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

var (
	errNotNumber = errors.New("not a number in JSON notation")
	errTooLong   = errors.New("a number of more than 100 digits")
)

// notation is that of JSON numbers: sign, whole part, fraction, exponent.
var notation = regexp.MustCompile(`^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$`)

// parseDecimal parses a JSON number. A literal that is too long is refused before it is
// read.
func parseDecimal(text []byte) (decimal, error) {
	if len(text) > 3*maxDigits { // sign, point, e, sign and leading zeros of the exponent included
		return decimal{}, errTooLong
	}
	parts := notation.FindStringSubmatch(string(text))
	if parts == nil {
		return decimal{}, errNotNumber
	}
	whole, fraction := parts[2], parts[3]
	exponent, err := strconv.Atoi(cmp.Or(parts[4], "0"))
	if err != nil || max(exponent, -exponent) > maxDigits || len(whole+fraction) > maxDigits {
		return decimal{}, errTooLong
	}
	return decimal{negative: parts[1] == "-", digits: whole + fraction, exponent: exponent - len(fraction)}, nil
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
func parseSmall(text []byte) (n int64, ok bool) {
	if !isInteger(text) {
		return 0, false
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil
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
