package horseracing

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// anyNumber draws JSON numbers within the bounds, in every form.
func anyNumber() *rapid.Generator[string] {
	return rapid.StringMatching(`-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?(0?[0-9]{1,2}|100))?`)
}

func TestNumberKeepsWhatItReadAndItsValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		literal := anyNumber().Draw(t, "literal")
		for name, decode := range map[string]func([]byte, any) error{"encoding/json": json.Unmarshal, "this SDK's": unmarshal} {
			var n Number
			if err := decode([]byte(literal), &n); err != nil {
				t.Fatalf("%s: %s: %v", literal, name, err)
			}
			checkNumber(t, n, literal)
		}
	})
}

// checkNumber compares a number with the literal it was read from.
func checkNumber(t interface{ Fatalf(string, ...any) }, n Number, literal string) {
	if n.String() != literal {
		t.Fatalf("%s is kept as %s", literal, n)
	}
	exact, _ := new(big.Rat).SetString(literal)
	if want, _ := strconv.ParseFloat(literal, 64); n.Float64() != want {
		t.Fatalf("%s: Float64 is %v, want %v", literal, n.Float64(), want)
	}
	i, ok := n.Int64()
	if fits := exact.IsInt() && exact.Num().IsInt64(); fits != ok || fits && exact.Num().Int64() != i || !fits && i != 0 {
		t.Fatalf("%s: Int64 is %d, %t", literal, i, ok)
	}
	b, ok := n.BigInt()
	if fits := exact.IsInt() && len(exact.Num().Text(10)) <= 100; fits && (!ok || b.Big().Cmp(exact.Num()) != 0) || !exact.IsInt() && ok || !ok && !b.IsZero() {
		t.Fatalf("%s: BigInt is %v, %t", literal, b, ok)
	}
	if text, whole := n.Decimal(3); whole != ok || ok && text != b.Decimal(3) || !ok && text != "" {
		t.Fatalf("%s: Decimal is %s, %t", literal, text, whole)
	}
	encoded, err := json.Marshal(n)
	if err != nil || string(encoded) != literal {
		t.Fatalf("%s is written as %s, %v", literal, encoded, err)
	}
	text, err := n.MarshalText()
	var again Number
	if err != nil || again.UnmarshalText(text) != nil || !again.Equal(n) || again != n {
		t.Fatalf("%s: text %s is read as %s", literal, text, again)
	}
}

func TestNewNumberIsTheNumberThatWouldBeRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.Int64().Draw(t, "i")
		n := NewNumber(i)
		checkNumber(t, n, strconv.FormatInt(i, 10))
		if !n.Equal(number(strconv.FormatInt(i, 10))) {
			t.Fatalf("%d differs from what was read", i)
		}
	})
}

// notNumbers are spellings that Number refuses.
var notNumbers = []string{
	"", "-", "+1", " 1", "1 ", "01", "-01", ".5", "1.", "1.e1", "1e", "1e+", "1e1.5", "--1", "1_0", "0x1p4", "0x10", "1f",
	"NaN", "Infinity", "-Inf", "inf", "true", `"1"`, `"null"`, "[]", "{}", "Null",
	"1e101", "1e-101", "1e1000000", "1e-1000000", "1e9999999999999999999", "0e101",
	strings.Repeat("9", 101), "0." + strings.Repeat("0", 100), "1e" + strings.Repeat("0", 299) + "1",
}

func TestNumberRefusesEverythingElseAndKeepsItsValue(t *testing.T) {
	for _, text := range notNumbers {
		n := number("4.2")
		if err := n.UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s was read as %s", text, n)
		}
		if n.String() != "4.2" {
			t.Errorf("%s: refused, but the value became %s", text, n)
		}
	}
}

func TestNumberRefusesAtOnceHoweverLargeTheLiteral(t *testing.T) {
	million := strings.Repeat("9", 1_000_000)
	for _, literal := range []string{million, "-" + million, "0." + million, "1e" + million, "1e1000000", "1e-1000000"} {
		data := []byte(literal)
		var n Number
		allocated := allocatedBy(func() {
			if n.UnmarshalJSON(data) == nil {
				t.Fatalf("%.20s was accepted", literal)
			}
		})
		if allocated > 100 {
			t.Errorf("%.20s: %d bytes were allocated", literal, allocated)
		}
	}
}

func TestANumberPrintsByTheVerb(t *testing.T) {
	for _, test := range []struct{ format, literal, want string }{
		{"%v", "12.50", "12.50"}, {"%+v", "5.0", "5.0"}, {"%#v", "7", "7"}, {"%s", "1e+21", "1e+21"}, {"%q", "5", `"5"`}, {"%6v|", "7", "     7|"},
		{"%d", "7", "7"}, {"%d", "-7", "-7"}, {"%d", "5.0", "5"}, {"%d", "1e+21", "1000000000000000000000"}, {"%08d", "42", "00000042"}, {"%x", "255", "ff"}, {"%+d", "7", "+7"},
		{"%.2f", "12.5", "12.50"}, {"%.1f", "7", "7.0"}, {"%g", "1e3", "1000"},
		{"%d", "12.5", "%!d(horseracing.Number=12.5)"}, {"%t", "7", "%!t(horseracing.Number=7)"}, {"%c", "7", "%!c(horseracing.Number=7)"},
	} {
		if got := fmt.Sprintf(test.format, number(test.literal)); got != test.want {
			t.Errorf("%s of %s prints %s, want %s", test.format, test.literal, got, test.want)
		}
	}
}

func TestASmallNumberTakesNoHeap(t *testing.T) {
	for _, literal := range []string{"0", "-1", "9223372036854775807", "-9223372036854775808", "null"} {
		data := []byte(literal)
		var n Number
		if allocs := testing.AllocsPerRun(100, func() {
			if err := n.UnmarshalJSON(data); err != nil {
				t.Fatal(err)
			}
			if _, ok := n.Int64(); !ok || n.Float64() == 0.5 {
				t.Fatal("not an integer")
			}
		}); allocs != 0 {
			t.Errorf("%s: %v allocations", literal, allocs)
		}
	}
}

func TestTheZeroNumberIsZero(t *testing.T) {
	null := number("4.2")
	if err := json.Unmarshal([]byte("null"), &null); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]Number{"zero value": {}, "null": null, "NewNumber(0)": NewNumber(0)} {
		if i, ok := n.Int64(); n.String() != "0" || n.Float64() != 0 || i != 0 || !ok || n != number("0") {
			t.Errorf("%s: %s", name, n)
		}
	}
}

var (
	integerForm = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,99})$`)
	numberForm  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	quotedForm  = regexp.MustCompile(`^"-?(0|[1-9][0-9]*)"$`)
)

// withinBounds is what the SDK promises to read of a JSON number, said another
// way than the code does: at most 100 digits, an exponent of at most 100 and
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

// integerWithinBounds says the same for an integer, which may be quoted where
// that is plain base 10.
func integerWithinBounds(literal string) (*big.Int, bool) {
	if quotedForm.MatchString(literal) {
		literal = literal[1 : len(literal)-1]
	}
	value, ok := withinBounds(literal)
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(100), nil)
	if !ok || !value.IsInt() || value.Num().CmpAbs(limit) >= 0 {
		return nil, false
	}
	return value.Num(), true
}

func FuzzNumber(f *testing.F) {
	for _, text := range notNumbers {
		f.Add([]byte(text))
	}
	for _, text := range []string{"null", "0", "-0", "-0.0", "1e+21", "12.50", "1E-100", "9223372036854775808", "5e0"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n := number("4.2")
		err := n.UnmarshalJSON(data)
		if string(data) == "null" {
			if err != nil || n != (Number{}) {
				t.Fatalf("null: %v, %s", err, n)
			}
			return
		}
		if _, legal := withinBounds(string(data)); !legal {
			if err == nil || n.String() != "4.2" {
				t.Fatalf("%q: %v, value %s", data, err, n)
			}
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		checkNumber(t, n, string(data))
	})
}

// allocatedBy returns how many bytes of heap a call of f takes, in the best of
// a few calls: other goroutines may allocate as well.
func allocatedBy(f func()) uint64 {
	best := ^uint64(0)
	var before, after runtime.MemStats
	for range 5 {
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		best = min(best, after.TotalAlloc-before.TotalAlloc)
	}
	return best
}
