package horseracing

import (
	"bytes"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/big"
	"strconv"
)

// BigInt is an immutable integer of arbitrary size, for fees of 10^18 and more. The
// zero value is 0. Compare with Cmp or Equal, not with ==. The unit of fees is
// undocumented.
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

// Decimal returns the value divided by 10^places, exactly and without trailing zeros:
// 1234500000000000000 at 18 places is "1.2345". places is clamped to the range 0 to
// 1,000.
func (b BigInt) Decimal(places int) string {
	return decimal{digits: []byte(b.String())}.text(places)
}

// ParseDecimal parses a decimal number and multiplies it by 10^places: "2.5" at 18
// places is 2500000000000000000. It is the inverse of [BigInt.Decimal]. The text must
// be a number in JSON notation ("2", "-0.5", "1e3") and the product an integer of at
// most 100 digits; places must not be negative.
func ParseDecimal(text string, places int) (BigInt, error) {
	d, err := parseDecimal([]byte(text))
	if err != nil {
		return BigInt{}, fmt.Errorf("horseracing: ParseDecimal: %q: %w", clip(text, 50), err)
	}
	if places < 0 {
		return BigInt{}, fmt.Errorf("horseracing: ParseDecimal: places is negative: %d", places)
	}
	d.exponent += min(places, 1000)
	var n big.Int
	if err := d.integer(&n); err != nil {
		return BigInt{}, fmt.Errorf("horseracing: ParseDecimal: %q has more than %d decimal places, or more than 100 digits", clip(text, 50), places)
	}
	return BigIntFrom(&n), nil
}

// Add returns b + other. Sums can have more than 100 digits, which decoding refuses.
func (b BigInt) Add(other BigInt) BigInt {
	sum := b.small + other.small
	if b.big == nil && other.big == nil && (sum > b.small) == (other.small > 0) { // no overflow
		return BigInt{small: sum}
	}
	return BigIntFrom(new(big.Int).Add(b.Big(), other.Big()))
}

// Sub returns b - other. Differences can have more than 100 digits, which decoding
// refuses.
func (b BigInt) Sub(other BigInt) BigInt {
	difference := b.small - other.small
	if b.big == nil && other.big == nil && (difference < b.small) == (other.small > 0) { // no overflow
		return BigInt{small: difference}
	}
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
	d, err := parseDecimal(text)
	if err != nil {
		return err
	}
	var n big.Int
	if err := d.integer(&n); err != nil {
		return err
	}
	*b = BigIntFrom(&n)
	return nil
}

// Scan implements [database/sql.Scanner] for text, integers, and NULL, which is zero. A
// floating-point column is an error, because it may have lost digits.
func (b *BigInt) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*b = BigInt{}
	case int64:
		*b = BigInt{small: v}
	case string:
		return b.UnmarshalText([]byte(v))
	case []byte:
		return b.UnmarshalText(v)
	default:
		return fmt.Errorf("horseracing: cannot scan %T into a BigInt: store it as text or as an exact number", src)
	}
	return nil
}

// Value implements [database/sql/driver.Valuer] with base-10 text, which every database
// stores exactly.
func (b BigInt) Value() (driver.Value, error) { return b.String(), nil }
