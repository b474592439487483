package horseracing

import (
	"bytes"
	"errors"
	"math/big"
	"strconv"
	"strings"
)

// maxDigits bounds the digits of a number, and its exponent, so that a literal of a few
// bytes, such as 1e999999999, cannot fill the memory.
const maxDigits = 100

var (
	errNotNumber = errors.New("not a number in JSON notation")
	errTooLong   = errors.New("a number of more than 100 digits")
)

// checkNumber returns an error unless text is a JSON number within the bounds.
func checkNumber(text []byte) error {
	if len(text) > 3*maxDigits { // leading zeros of the exponent included
		return errTooLong
	}
	mantissa, power := strings.TrimPrefix(string(text), "-"), "0"
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		mantissa, power = mantissa[:i], mantissa[i+1:]
	}
	exponent, err := strconv.Atoi(power)
	whole, fraction, hasPoint := strings.Cut(mantissa, ".")
	switch {
	case !isDigits(whole), len(whole) > 1 && whole[0] == '0', hasPoint && !isDigits(fraction), errors.Is(err, strconv.ErrSyntax):
		return errNotNumber
	case err != nil, max(exponent, -exponent) > maxDigits, len(whole)+len(fraction) > maxDigits:
		return errTooLong
	}
	return nil
}

func isDigits(s string) bool {
	for _, char := range []byte(s) {
		if char < '0' || char > '9' {
			return false
		}
	}
	return s != ""
}

// parseNumber returns the value of a JSON number within the bounds.
func parseNumber(text []byte) (*big.Rat, error) {
	if err := checkNumber(text); err != nil {
		return nil, err
	}
	value, _ := new(big.Rat).SetString(string(text))
	return value, nil
}

// parseSmall parses an integer that fits in 64 bits, as most do. It allocates nothing.
func parseSmall(text []byte) (n int64, ok bool) {
	digits := bytes.TrimPrefix(text, []byte("-"))
	if len(digits) > 19 || !isDigits(string(digits)) || digits[0] == '0' && len(text) > 1 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil
}

// tenTo returns 10^places, with places limited to 0 to 1,000.
func tenTo(places int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(min(max(0, places), 1000))), nil)
}

// decimalText returns value/10^places without an exponent and without trailing zeros.
// The value must have a finite decimal notation.
func decimalText(value *big.Rat, places int) string {
	quotient := new(big.Rat).Quo(value, new(big.Rat).SetInt(tenTo(places)))
	digits, _ := quotient.FloatPrec()
	return quotient.FloatString(digits)
}
