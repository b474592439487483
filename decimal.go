package horseracing

import (
	"bytes"
	"errors"
	"math/big"
	"slices"
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

// decimal is the number digits * 10^exponent.
type decimal struct {
	digits   []byte // perhaps with a minus sign
	exponent int
}

// parseDecimal parses a JSON number within the bounds.
func parseDecimal(text []byte) (decimal, error) {
	if len(text) > 3*maxDigits { // leading zeros of the exponent included
		return decimal{}, errTooLong
	}
	mantissa, power := text, []byte("0")
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		mantissa, power = text[:i], text[i+1:]
	}
	exponent, err := strconv.Atoi(string(power))
	signed, fraction, hasPoint := bytes.Cut(mantissa, []byte("."))
	whole := bytes.TrimPrefix(signed, []byte("-"))
	switch {
	case !isDigits(whole), len(whole) > 1 && whole[0] == '0', hasPoint && !isDigits(fraction), errors.Is(err, strconv.ErrSyntax):
		return decimal{}, errNotNumber
	case err != nil, exponent > maxDigits, exponent < -maxDigits, len(whole)+len(fraction) > maxDigits:
		return decimal{}, errTooLong
	}
	return decimal{append(slices.Clip(signed), fraction...), exponent - len(fraction)}, nil
}

func isDigits(s []byte) bool { return len(s) > 0 && len(bytes.Trim(s, "0123456789")) == 0 }

// integer sets n to the value, or returns an error if that has a fraction or more than
// 100 digits.
func (d decimal) integer(n *big.Int) error {
	n.SetString(string(d.digits)+strings.Repeat("0", max(0, d.exponent)), 10)
	fraction := new(big.Int)
	if d.exponent < 0 {
		n.QuoRem(n, tenTo(-d.exponent), fraction)
	}
	if fraction.Sign() != 0 || n.CmpAbs(tooLarge) >= 0 {
		return errors.New("not an integer of at most 100 digits")
	}
	return nil
}

// tooLarge is the smallest positive integer of more than 100 digits.
var tooLarge = tenTo(maxDigits)

func tenTo(exponent int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(exponent)), nil)
}

// text returns the value divided by 10^places, without an exponent and without trailing
// zeros. Places are limited to 0 to 1,000.
func (d decimal) text(places int) string {
	d.exponent -= min(max(0, places), 1000)
	value, _ := new(big.Rat).SetString(string(d.digits) + "e" + strconv.Itoa(d.exponent))
	decimals, _ := value.FloatPrec()
	return value.FloatString(decimals)
}

// parseSmall parses an integer that fits in 64 bits, as most do. It allocates nothing,
// not even for an error, and takes half the time of strconv.
func parseSmall(text []byte) (n int64, ok bool) {
	digits, negative := bytes.CutPrefix(text, []byte("-"))
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' && len(text) > 1 {
		return 0, false
	}
	var magnitude uint64 // 19 digits do not overflow it
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		magnitude = 10*magnitude + uint64(c-'0')
	}
	if n = int64(magnitude); negative {
		n = -n
	}
	return n, magnitude < 1<<63 || negative && magnitude == 1<<63
}
