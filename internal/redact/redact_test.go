package redact

import (
	"context"
	"errors"
	"fmt"
	"html"
	"math"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

const key = "app-Key/91+d7=e4"

// quote and quoteASCII write a text as %q and %+q do, without the quotation marks.
func quote(text string) string      { text = strconv.Quote(text); return text[1 : len(text)-1] }
func quoteASCII(text string) string { text = strconv.QuoteToASCII(text); return text[1 : len(text)-1] }

func TestAnEscapedKeyWithholdsTheText(t *testing.T) {
	const hard = `us"er/key%41<é>&+=`
	for name, text := range map[string]string{
		"in JSON":              `us\"er/key%41\u003c\u00e9\u003e\u0026+=`,
		"in JSON, by PHP":      `us\"er\/key%41<\u00e9>&+=`,
		"in JSON, by .NET":     `us\u0022er/key%41\u003C\u00E9\u003E\u0026\u002B=`,
		"in JSON in JSON":      quote(quote(hard)),
		"with %q":              quote(hard),
		"with %+q":             quoteASCII(hard),
		"in a query":           url.QueryEscape(hard),
		"in a path":            url.PathEscape(hard),
		"in a query, twice":    url.QueryEscape(url.QueryEscape(hard)),
		"in a query, by a C":   strings.ToLower(url.QueryEscape(hard)),
		"in JSON in a query":   url.QueryEscape(quoteASCII(hard)),
		"in a JSON pointer":    strings.ReplaceAll(hard, "/", "~1"),
		"in HTML":              html.EscapeString(hard),
		"in HTML in JSON":      quoteASCII(html.EscapeString(hard)),
		"in HTML, by number":   "us&#x22;er&#47;key%41&lt;é&gt;&amp;&#43;&#61;",
		"each letter in JSON":  escaped(hard, `\u%04x`),
		"each letter in a URL": strings.ReplaceAll(url.PathEscape(hard), "e", "%65"),
	} {
		if got := New(key, hard).Text("<<" + text + ">>"); got != Withheld {
			t.Errorf("%s: %q became %q", name, text, got)
		}
	}
	if got := New("%4b%45Y").Text("KEY"); got != "KEY" {
		t.Errorf("a short key without its escapes became %q", got)
	}
}

// escaped writes each character of a text as an escape.
func escaped(text, format string) string {
	var out strings.Builder
	for _, char := range text {
		fmt.Fprintf(&out, format, char)
	}
	return out.String()
}

func TestAKeyAsItIsIsReplacedHoweverOddOrShort(t *testing.T) {
	for _, key := range []string{
		"k", "%", `\`, `\\\\`, "%%%", "%25", "a b", "~1", "&amp;", "+", "ключ", "🏇🏇", `a"b`, "'", "123456", "\u200b", "\u0301", "\xff\xfe", "\xd0", " ",
		key, `us"er\key%41 <é>`,
	} {
		if got := New(key).Text("<<" + key + ">>"); got != "<<"+Placeholder+">>" {
			t.Errorf("%q: %q", key, got)
		}
	}
	if got, want := New(key, "").Text("one "+key+" and "+key+key+", "+key), "one [redacted] and [redacted][redacted], [redacted]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := New("race", "race-horse-1", "horse").Text("race-horse-1 race horse"), "[redacted] [redacted] [redacted]"; got != want {
		t.Errorf("a key within another: got %q, want %q", got, want)
	}
}

func TestWhatIsNoKeyStaysAsItIs(t *testing.T) {
	keys := New(key, `us"er`, "ab-12", "")
	for _, text := range []string{
		"", "app-Key/91+d7=e", "a line\nand\ta tab, 100 % \\ & ~ +", `{"message":"café \u0001 \\"}`, "\xff\xfe\x00", key[1:], strings.ToUpper(key), "&amp;&lt;",
		`us\"er`, "ab%2D12", // fewer than six bytes
	} {
		if got := keys.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := New().Text(key); got != key {
		t.Errorf("without keys: %q", got)
	}
}

func TestAndKeepsWhatItIsCalledOn(t *testing.T) {
	one := New("first")
	more := []string{"", "second"}
	two := one.And(more...)
	if more[1] != "second" {
		t.Errorf("the caller's keys became %q", more)
	}
	if got := one.Text("first second"); got != "[redacted] second" {
		t.Error(got)
	}
	if got := two.Text("first second"); got != "[redacted] [redacted]" {
		t.Error(got)
	}
}

func TestATextThatIsCutWithinAKeyIsWithheld(t *testing.T) {
	for _, form := range []string{
		key, url.QueryEscape(key), html.EscapeString(key), strings.ReplaceAll(key, "/", `\/`), strings.ReplaceAll(url.QueryEscape(key), "p", "%70"),
		strings.ReplaceAll(key, "p", `\u0070`), strings.ReplaceAll(key, "p", `\\u0070`), strings.ReplaceAll(key, "p", "&#x70;"), strings.ReplaceAll(key, "p", "%2570"),
	} {
		text := "id " + form
		for n := range len(text) {
			got := New(key).Beginning(text[:n], n+100, true)
			if got != Withheld && slices.ContainsFunc(unescaped(got), func(shown string) bool { return strings.HasPrefix(shown, "id app-") }) {
				t.Fatalf("at %d: %q became %q", n, text[:n], got)
			}
			if got == Withheld && n < len("id app-") {
				t.Fatalf("at %d: %q is withheld", n, text[:n])
			}
		}
	}
	for _, cut := range []string{"app-", "app-Key/91+d7=e", `app-Key\`, `app-Key\u00`, "app-Key%", "app-Key%2", "app-Key&am", "app-Key&#x2"} {
		if got := New(key).Beginning("key "+cut, 100, true); got != Withheld {
			t.Errorf("%q: %q", cut, got)
		}
	}
	for _, none := range []string{"", "app", "it ends with app", "100 %", "a & b", `c:\dir`, "%zz", "&nothing ", "~user", "app-Key is kept"} {
		if got := New(key).Beginning(none, 100, true); got != none {
			t.Errorf("%q: %q", none, got)
		}
	}
	if got := New(key).Beginning("it ends with app-Key", 100, false); got != "it ends with app-Key" {
		t.Errorf("a whole text: %q", got)
	}
}

// A text that is cut here is redacted before.
func TestATextIsNotCutWithinAKey(t *testing.T) {
	text := "your key: " + key + "!"
	for limit := range len(text) + 1 {
		got := New(key).Beginning(text, limit, false)
		if want := ("your key: " + Placeholder + "!"); len(got) > limit || !strings.HasPrefix(want, got) {
			t.Errorf("at %d: %q", limit, got)
		}
	}
}

func TestAHeaderIsCopiedWithoutTheKeys(t *testing.T) {
	token := "abc-123def"
	in := http.Header{"X-Echo": {"a " + token, "b"}, token: {"1"}, "Empty": nil}
	got := New(token).Header(in)
	want := http.Header{"X-Echo": {"a [redacted]", "b"}, Placeholder: {"1"}, "Empty": {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if in.Get("X-Echo") != "a "+token {
		t.Error("the header itself was changed")
	}
}

// quiet is an error whose text is not all that it prints.
type quiet struct{ detail string }

func (quiet) Error() string { return "refused" }

// outer is an error whose text leaves out the error it wraps.
type outer struct{ err error }

func (outer) Error() string   { return "failed" }
func (o outer) Unwrap() error { return o.err }

func TestAnErrorIsReplacedOnlyWhereItShowsAKey(t *testing.T) {
	keys := New(key)
	if keys.Error(nil) != nil {
		t.Error("nil became an error")
	}
	plain := fmt.Errorf("reset: %w", context.Canceled)
	if got := keys.Error(plain); got != plain {
		t.Errorf("an error without a key became %v", got)
	}
	for name, err := range map[string]error{
		"in its text":           fmt.Errorf("key %s: %w", key, context.Canceled),
		"in a joined one":       errors.Join(context.Canceled, errors.New(key)),
		"in one it wraps":       &outer{fmt.Errorf("%w: %s", context.Canceled, key)},
		"in a field":            errors.Join(context.Canceled, quiet{key}),
		"in one a joined wraps": errors.Join(context.Canceled, &outer{errors.New(key)}),
		"escaped":               fmt.Errorf("%w %s", context.Canceled, url.QueryEscape(key)),
	} {
		got := keys.Error(err)
		if !errors.Is(got, context.Canceled) {
			t.Errorf("%s: %v is no longer what it was", name, got)
		}
		_, isQuiet := errors.AsType[quiet](got)
		_, isOuter := errors.AsType[*outer](got)
		if isQuiet || isOuter || errors.Unwrap(got) != nil {
			t.Errorf("%s: the error with the key can be had", name)
		}
		if text := fmt.Sprintf("%v %+v %#v", got, got, got); strings.Contains(text, key) || keys.Text(text) != text {
			t.Errorf("%s: it prints %s", name, text)
		}
	}
}

func TestKeysDoNotPrint(t *testing.T) {
	holder := struct{ keys Keys }{New(key)}
	if text := fmt.Sprintf("%v %+v %#v", holder, holder, holder); strings.Contains(text, key) {
		t.Error(text)
	}
}

func TestVisibleDropsWhatDoesNotShow(t *testing.T) {
	for text, want := range map[string]string{
		"plain, café, 馬, 🏇":                        "plain, café, 馬, 🏇",
		"a\nb\tc\r\nd\u00a0e\u2028f":               "a b c  d e f",
		"k\u00ade\u200by\x00\x1b[31m\u202e!\u3164": "key[31m!",
		"nai\u0308ve":                              "nai\u0308ve",
		"a\xffb":                                   "a\ufffdb",
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// hostileTexts are of n bytes. Every place of them may begin a key or an escape.
func hostileTexts(n int) map[string]string {
	fill := func(part string) string { return strings.Repeat(part, n/len(part)+1)[:n] }
	return map[string]string{
		"beginnings": fill(key[:len(key)-1]), "one letter": fill("a"), "backslashes": fill(`\`), "JSON": fill(`\u0061`), "JSON in JSON": fill(`\\u0061`),
		"percent": fill("%61"), "percent signs": fill("%"), "no percent": fill("%zz"), "percent in percent": fill("%252525"),
		"HTML": fill("&#97;"), "ampersands": fill("&"), "unknown names": fill("&nothing;"), "one long name": "&" + fill("a")[1:],
		"HTML in HTML": fill("&amp;amp;"), "NULs": fill("a\x00"), "all": fill("\\%+~&\x00"), "invisible": fill("a\u00ad"),
	}
}

// What is copied is counted: a pass over the text for each of its characters would copy
// the text again and again, or search it.
func TestRedactingCopiesByTheLengthAlone(t *testing.T) {
	const short, factor = 1 << 14, 32 // quadratic work would have the ratio 1024
	copied := func(text string) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		New(key, "ключ").Beginning(text, math.MaxInt, true)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	long := hostileTexts(short * factor)
	for name, text := range hostileTexts(short) {
		if ratio := float64(copied(long[name])) / float64(copied(text)); ratio > 2*factor {
			t.Errorf("%s: %d times the length copies %.0f times as much", name, factor, ratio)
		}
	}
}

// encoders are what a service or Go's own code may do to an echo.
var encoders = []func(string) string{
	func(s string) string { return s },
	quote, quoteASCII, url.QueryEscape, url.PathEscape,
	func(s string) string { return strings.ReplaceAll(s, "/", `\/`) },
	html.EscapeString, // is the last of them to be applied: a path keeps the & of an escape and not its semicolon
}

// FuzzRedaction writes a key in one encoding or two, and cuts the text: neither the key
// nor a long part of it can be read, as the text is or without its escapes.
func FuzzRedaction(f *testing.F) {
	for i := range encoders {
		f.Add(key, "message: ", uint8(i), uint8(0), uint16(20))
		f.Add(`kлюч/"x123"`, `{"m":"`, uint8(i), uint8(i%7), uint16(30))
	}
	f.Add("1111%11", "%1", uint8(3), uint8(0), uint16(9)) // cut within an escape
	f.Fuzz(func(t *testing.T, key, before string, inner, outer uint8, cut uint16) {
		if len(key) < 2*minKey || len(key) > 200 || len(before) > 200 || !utf8.ValidString(key) || len(unescaped(key)) > 1 || strings.ContainsAny(before, `\%&+`) || strings.Contains(key, " ") {
			t.Skip() // what is before the key may be the beginning of an escape, and a space is a plus in a query
		}
		most := key[:max(minPrefix, len(key)*3/4)]
		if strings.Contains(before+Placeholder+Withheld, most[:minPrefix]) {
			t.Skip() // it can be read without the key
		}
		text := before + "|" + encoders[int(outer)%len(encoders)](encoders[int(inner)%(len(encoders)-1)](key))
		limit := int(cut) % (len(text) + 1)
		for name, got := range map[string]string{
			"whole": New(key).Text(text + "|"), "cut": New(key).Beginning(text, limit, false), "cut before": New(key).Beginning(text[:limit], len(text), true),
		} {
			if slices.ContainsFunc(unescaped(strings.TrimPrefix(got, before+"|")), func(shown string) bool { return strings.Contains(shown, most) }) {
				t.Fatalf("%s: %q with key %q became %q", name, text, key, got)
			}
		}
	})
}
