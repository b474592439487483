package horseracing

import (
	"bytes"
	"cmp"
	"errors"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDigits bounds what a number may cost: digits written, and exponent.
const maxDigits = 100

var (
	errNotNumber = errors.New("not a number in JSON notation")
	errTooLong   = errors.New("a number of more than 100 digits")
)

// checkNumber returns an error unless text is a number in JSON notation within the
// bounds.
func checkNumber(text []byte) error {
	if len(text) > 3*maxDigits { // sign, point, e, sign and leading zeros of the exponent included
		return errTooLong
	}
	literal := jsontext.Value(text)
	if literal.Kind() != jsontext.KindNumber || !literal.IsValid() || bytes.ContainsAny(text, " \t\r\n") {
		return errNotNumber
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(string(text)), "e")
	shift, err := strconv.Atoi(cmp.Or(exponent, "0"))
	digits := len(mantissa) - strings.Count(mantissa, "-") - strings.Count(mantissa, ".")
	if err != nil || max(shift, -shift) > maxDigits || digits > maxDigits {
		return errTooLong
	}
	return nil
}

// parseSmall reads a plain JSON integer literal that fits in 64 bits, as most do,
// without allocating.
func parseSmall(text []byte) (n int64, ok bool) {
	digits := bytes.TrimPrefix(text, []byte("-"))
	if !isPlain(digits) || len(digits) > len("9223372036854775807") || string(text) == "-0" {
		return 0, false
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil
}

// isPlain reports whether text is a sequence of digits without a leading zero.
func isPlain(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(text) == 1 || len(text) > 1 && text[0] != '0'
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
