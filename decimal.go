package horseracing

import (
	"cmp"
	"errors"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// maxDigits bounds what a number may cost: digits written, and exponent.
const maxDigits = 100

var (
	errNotNumber = errors.New("not a number in JSON notation")
	errTooLong   = errors.New("a number of more than 100 digits")
)

// jsonNumber matches a number in JSON notation: the integer, the fraction and the exponent.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$`)

// checkNumber returns an error unless text is a number in JSON notation within the
// bounds.
func checkNumber(text []byte) error {
	if len(text) > 3*maxDigits { // sign, point, e, sign and leading zeros of the exponent included
		return errTooLong
	}
	parts := jsonNumber.FindStringSubmatch(string(text))
	if parts == nil {
		return errNotNumber
	}
	exponent, err := strconv.Atoi(cmp.Or(parts[3], "0"))
	if err != nil || max(exponent, -exponent) > maxDigits || len(parts[1])+len(parts[2]) > maxDigits {
		return errTooLong
	}
	return nil
}

// parseSmall reads a plain JSON integer literal that fits in 64 bits, as most do,
// without allocating.
func parseSmall(text []byte) (n int64, ok bool) {
	var plain [len("-9223372036854775808")]byte
	if len(text) > len(plain) {
		return 0, false
	}
	n, err := strconv.ParseInt(string(text), 10, 64) // accepts +5, 05 and -0 too
	return n, err == nil && string(strconv.AppendInt(plain[:0], n, 10)) == string(text)
}

// parseRat reads a number in JSON notation within the bounds.
func parseRat(text []byte) (*big.Rat, error) {
	if err := checkNumber(text); err != nil {
		return nil, err
	}
	r, _ := new(big.Rat).SetString(string(text))
	return r, nil
}

// powerOfTen returns 10^places, with places limited to 0 through 1,000.
func powerOfTen(places int) *big.Rat {
	exponent := big.NewInt(int64(min(max(places, 0), 1000)))
	return new(big.Rat).SetInt(exponent.Exp(big.NewInt(10), exponent, nil))
}

// decimalText returns r divided by 10^places, without an exponent and without
// trailing zeros.
func decimalText(r *big.Rat, places int) string {
	r = new(big.Rat).Quo(r, powerOfTen(places))
	digits, _ := r.FloatPrec()
	return r.FloatString(digits)
}

// bigIntOf returns the value of r, or false if it has a fraction or too many digits.
func bigIntOf(r *big.Rat) (BigInt, bool) {
	if !r.IsInt() || len(strings.TrimPrefix(r.Num().String(), "-")) > maxDigits {
		return BigInt{}, false
	}
	return BigIntFrom(r.Num()), true
}
