package horseracing_test

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
)

// anyInteger draws integers of every length up to 100 digits, and those at the edges of a machine word.
func anyInteger() *rapid.Generator[*big.Int] {
	edges := rapid.SampledFrom([]string{
		"0", "1", "-1", "4611686018427387903", "4611686018427387904", "-4611686018427387904", "-4611686018427387905",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
	})
	return rapid.Map(rapid.OneOf(edges, rapid.StringMatching(`-?[1-9][0-9]{0,99}`)), func(text string) *big.Int {
		n, _ := new(big.Int).SetString(text, 10)
		return n
	})
}

func TestBigIntAgreesWithMathBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, n := anyInteger().Draw(t, "m"), anyInteger().Draw(t, "n")
		a, b := horseracing.BigIntFrom(m), horseracing.BigIntFrom(n)
		double.Equal(t, "String", m.String(), a.String())
		double.Equal(t, "Cmp, Equal, Equal to itself", fmt.Sprint(m.Cmp(n), m.Cmp(n) == 0, true), fmt.Sprint(a.Cmp(b), a.Equal(b), a.Equal(a)))
		double.Equal(t, "sum, difference", fmt.Sprint(new(big.Int).Add(m, n), new(big.Int).Sub(m, n)), fmt.Sprint(a.Add(b).Big(), a.Sub(b).Big()))
		double.Equal(t, "the numbers after that", fmt.Sprint(m, n), fmt.Sprint(a.Big(), b.Big()))
		double.Equal(t, "IsZero", m.Sign() == 0, a.IsZero())
		encoded, err := json.Marshal(a)
		var decoded horseracing.BigInt
		double.Error(t, "JSON", nil, "", errors.Join(err, json.Unmarshal(encoded, &decoded)))
		double.Equal(t, fmt.Sprintf("%s is written as %s and read again", a, encoded), true, decoded == a)
		places := rapid.IntRange(0, 40).Draw(t, "places")
		text := a.FormatUnits(places)
		exact, _ := new(big.Rat).SetString(text + fmt.Sprintf("e%d", places))
		double.Equal(t, fmt.Sprintf("%s at %d places", m, places), m.String(), exact.RatString())
		if parsed, err := horseracing.ParseUnits(text, places); len(text) <= 100 && (err != nil || parsed != a) {
			t.Fatalf("%s at %d places: %v, %v; want %v", text, places, parsed, err, a)
		}
		for _, format := range []string{"%d", "%v", "%s", "%x", "%#x", "%+d", "%40d", "%-40d|", "%040d", "%b", "%o"} {
			double.Equal(t, format, fmt.Sprintf(format, m), fmt.Sprintf(format, a))
		}
	})
}

var decimalForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$`)

// oddLiterals are texts that are no numbers, are none of a BigInt, or are so in an unusual notation.
var oddLiterals = []string{
	"null", "0", "-0", "-0.0", "1e+21", "1.5e21", "12.50", "5.0", "1E-100", "0.1e100", "1e99", "100e-2", "9223372036854775808",
	"", " ", `""`, "-", "+1", "1 ", " 1", "\t1", "1\n", "- 1", "--1", "0x10", "0x1p4", "0b1", "0o7", "017", "00", "-01", "1_0", "1,000", "１",
	"NaN", "Infinity", "-Inf", "Null", "true", "[]", "{}", "[1]", "0.1", "1e-1", "15e-2", "1.", ".5", "1.e5", "e5", "1e", "1e+", "1e1.0", "1e1e1", "1f",
	`"18446744073709551617"`, `"1.0"`, `"1e3"`, `" 1"`, `"+1"`, `"017"`, `"1`, `1"`, `"`, `'1'`, `"null"`, `"\u0031"`, `""1""`,
	"1e100", "10e99", "1e101", "1e-101", "0e101", "1e1000000", "1e9999999999999999999", "1e-9223372036854775808",
	"1" + strings.Repeat("0", 100), "1." + strings.Repeat("0", 100), `"1` + strings.Repeat("0", 100) + `"`, "1e" + strings.Repeat("0", 299) + "1",
}

func TestParseUnitsReadsPlainAmountsAlone(t *testing.T) {
	long := strings.Repeat("9", 100)
	for _, test := range []struct {
		text   string
		places int
		want   string // or empty for an error
	}{
		{"2.50", 18, "2500000000000000000"}, {"1.2345", 4, "12345"}, {"-0.5", 1, "-5"}, {"-0", 18, "0"}, {"0.000", 2, "0"},
		{"1e3", 2, "100000"}, {"5e-1", 1, "5"}, {long, 0, long}, {"0", 5000, "0"},
		{"1.2345", 3, ""}, {"1", -1, ""}, {long, 1, ""}, {"1", 5000, ""}, {"1", math.MaxInt, ""}, {"1e101", 0, ""},
		{"", 18, ""}, {".5", 18, ""}, {"+5", 18, ""}, {" 5", 18, ""}, {"1,5", 18, ""}, {"NaN", 18, ""}, {strings.Repeat("1", 1_000_000), 0, ""},
	} {
		got, err := horseracing.ParseUnits(test.text, test.places)
		if (err != nil) != (test.want == "") || err == nil && got.String() != test.want || err != nil && (len(err.Error()) > 200 || !got.IsZero()) {
			t.Errorf("%.50s at %d places: %v, %v; want %q", test.text, test.places, got, err, test.want)
		}
	}
}

// Otherwise the text would fill the memory.
func TestFormatUnitsWritesAThousandPlacesAtMost(t *testing.T) {
	double.Equal(t, "text", "0."+strings.Repeat("0", 999)+"1", horseracing.NewBigInt(1).FormatUnits(math.MaxInt))
}

func TestNumberCmpComparesValues(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"1.0", "1", 0}, {"1e2", "99.9", 1}, {"-1", "0", -1}, {"0.1", "0.10000000000000000001", -1}, {"12345678901234567890123", "12345678901234567890122", 1}} {
		double.Equal(t, test.a+" and "+test.b, test.want, number(test.a).Cmp(number(test.b)))
		double.Equal(t, test.b+" and "+test.a, -test.want, number(test.b).Cmp(number(test.a)))
	}
	double.Equal(t, "the zero value", 0, horseracing.Number{}.Cmp(number("0")))
}

// FuzzBigInt reads any bytes as a BigInt and as a Number: exactly the documented notations,
// with their exact value, and nothing else.
func FuzzBigInt(f *testing.F) {
	for _, text := range oddLiterals {
		f.Add([]byte(text))
	}
	within := rapid.StringMatching(`-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?(0?[0-9]{1,2}|100))?`)
	for seed := range 100 {
		f.Add([]byte(within.Example(seed)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text := string(data)
		b, n := bigInt("42"), number("4.2")
		errB, errN := b.UnmarshalJSON(data), n.UnmarshalJSON(data)
		double.Equal(t, "the input after it was read", text, string(data))
		if text == "null" {
			double.Error(t, text, nil, "", errors.Join(errB, errN))
			double.Equal(t, text+" is zero", true, b.IsZero() && n == (horseracing.Number{}))
			return
		}
		value, isNumber := withinBounds(text)
		if isNumber != (errN == nil) || !isNumber && n.String() != "4.2" {
			t.Fatalf("%q: %s, %v", text, n, errN)
		} else if isNumber {
			checkNumber(t, n, text)
		}
		if quotedForm.MatchString(text) {
			value, isNumber = withinBounds(text[1 : len(text)-1])
		}
		isBigInt := isNumber && value.IsInt() && len(strings.TrimPrefix(value.Num().String(), "-")) <= 100
		if isBigInt != (errB == nil) || !isBigInt && b.String() != "42" || isBigInt && b.Big().Cmp(value.Num()) != 0 {
			t.Fatalf("%q: %s, %v", text, b, errB)
		}
	})
}

// checkNumber compares a number with the literal it was read from.
func checkNumber(t *testing.T, n horseracing.Number, literal string) {
	exact, _ := new(big.Rat).SetString(literal)
	float, _ := strconv.ParseFloat(literal, 64)
	double.Equal(t, "text", fmt.Sprintf("%s %s %q", literal, literal, literal), fmt.Sprintf("%v %s %q", n, n, n))
	double.Equal(t, literal+": Float64", float, n.Float64())
	i, ok := n.Int64()
	if fits := exact.IsInt() && exact.Num().IsInt64(); fits != ok || fits && exact.Num().Int64() != i || !fits && i != 0 {
		t.Fatalf("%s: Int64 is %d, %t", literal, i, ok)
	}
	b, ok := n.BigInt()
	if fits := exact.IsInt() && len(exact.Num().Text(10)) <= 100; fits && (!ok || b.Big().Cmp(exact.Num()) != 0) || !exact.IsInt() && ok || !ok && !b.IsZero() {
		t.Fatalf("%s: BigInt is %v, %t", literal, b, ok)
	}
	for _, places := range []int{-1, 0, 3, 120} {
		text := n.FormatUnits(places)
		got, _ := new(big.Rat).SetString(text)
		want := new(big.Rat).Quo(exact, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(places, 0))), nil)))
		if !decimalForm.MatchString(text) || text == "-0" || got.Cmp(want) != 0 {
			t.Fatalf("%s at %d places is %s", literal, places, text)
		}
	}
	double.Equal(t, "JSON", literal, string(double.Must(json.Marshal(n))))
	var again horseracing.Number
	double.Error(t, literal+" as text", nil, "", again.UnmarshalText(double.Must(n.MarshalText())))
	double.Equal(t, literal+" is read again from its text", true, again.Equal(n) && again == n)
}

var (
	numberForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	quotedForm = regexp.MustCompile(`^"-?(0|[1-9][0-9]*)"$`)
)

// withinBounds reports whether the SDK guarantees to read a JSON number, by another
// way than the code: at most 100 digits, an exponent of at most 100 and
// no spelling of absurd length. The value is exact.
func withinBounds(literal string) (value *big.Rat, ok bool) {
	if !numberForm.MatchString(literal) || len(literal) > 300 {
		return nil, false
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(literal), "e")
	if len(strings.NewReplacer("-", "", ".", "").Replace(mantissa)) > 100 {
		return nil, false
	}
	if e, ok := new(big.Int).SetString("0"+strings.TrimLeft(exponent, "+-"), 10); !ok || e.Cmp(big.NewInt(100)) > 0 {
		return nil, false
	}
	return new(big.Rat).SetString(literal)
}

// storable is what every encoder, of text, of bytes or of BSON, finds at a value.
type storable interface {
	encoding.TextAppender
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
	MarshalBSONValue() (byte, []byte, error) // of version 2 of the MongoDB driver
	UnmarshalBSONValue(byte, []byte) error
}

// The module tools/peers has the same with the encoders themselves.
func TestValuesAreReadBackFromBytesAndBSON(t *testing.T) {
	fee, number, at := bigInt("2000000000000000001"), number("-1.50e21"), at(1748779200123)
	cursor := responding(t, "[]").Races.Results(horseracing.ResultsQuery{}).Cursor()
	for name, test := range map[string]struct{ value, empty storable }{
		"BigInt": {&fee, new(horseracing.BigInt)}, "a zero BigInt": {new(horseracing.BigInt), &horseracing.BigInt{}},
		"Number": {&number, new(horseracing.Number)}, "Cursor": {&cursor, new(horseracing.Cursor)}, "a zero Cursor": {new(horseracing.Cursor), new(horseracing.Cursor)},
		"Timestamp": {&at, new(horseracing.Timestamp)}, "a zero Timestamp": {new(horseracing.Timestamp), &horseracing.Timestamp{Time: time.Unix(1, 0)}},
	} {
		var stored bytes.Buffer
		double.Error(t, name+": gob", nil, "", errors.Join(gob.NewEncoder(&stored).Encode(test.value), gob.NewDecoder(&stored).Decode(test.empty)))
		double.Equal(t, name+": gob", test.value, test.empty)
		kind, data, err := test.value.MarshalBSONValue()
		double.Error(t, name+": BSON", nil, "", errors.Join(err, test.empty.UnmarshalBSONValue(kind, data)))
		double.Equal(t, name+": BSON", test.value, test.empty)
		if old, ok := test.value.(interface {
			ProxyBSON() (any, error)
			UnmarshalBSON([]byte) error
		}); ok { // of version 1
			text, _ := old.ProxyBSON()
			if appended, _ := test.value.AppendText([]byte("x")); string(appended) != "x"+text.(string) || old.UnmarshalBSON(data) != nil {
				t.Errorf("%s: %s, %s", name, text, appended)
			}
		}
		for kind, data := range map[byte][]byte{
			1: binary.LittleEndian.AppendUint64(nil, 1<<62), 2: []byte("\x03\x00\x00\x0012"), 3: []byte("\x05\x00\x00\x00\x00"), 9: []byte("1"),
			18: binary.LittleEndian.AppendUint64(nil, 12), 16: nil,
		} {
			if err := test.empty.UnmarshalBSONValue(kind, data); err == nil {
				t.Errorf("%s: BSON of type %d, %q, is read as %v", name, kind, data, test.empty)
			}
		}
	}
}
