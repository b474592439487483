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

	"github.com/google/go-cmp/cmp"
)

const key = "app-Key/91+d7=e4"

// between writes something between the characters of a text.
func between(text, separator string) string { return strings.Join(strings.Split(text, ""), separator) }

// quote and quoteASCII write a text as %q and %+q do, without the quotation marks.
func quote(text string) string      { text = strconv.Quote(text); return text[1 : len(text)-1] }
func quoteASCII(text string) string { text = strconv.QuoteToASCII(text); return text[1 : len(text)-1] }

func TestAKeyInAnotherSpellingWithholdsTheText(t *testing.T) {
	const hard = `us"er\key%41 <é>`
	for name, text := range map[string]string{
		"in JSON":                       `us\"er\\key%41 \u003c\u00e9\u003e`,
		"in JSON in JSON":               `us\\\"er\\\\key%41 \\u003c\\u00e9\\u003e`,
		"with %q":                       quote(hard),
		"with %+q":                      quoteASCII(hard),
		"in a query":                    url.QueryEscape(hard),
		"in a path":                     url.PathEscape(hard),
		"in HTML":                       html.EscapeString(hard),
		"in HTML in JSON":               quoteASCII(html.EscapeString(hard)),
		"in HTML, each letter":          "&#x75;&#115;&#x65;&#114;&#107;&#101;&#121;%2541",
		"in capitals":                   strings.ToUpper(hard),
		"behind a backslash":            `path\us"er\Key%41 <é>`,
		"with soft hyphens":             between(hard, "\u00ad"),
		"with NULs":                     between(hard, "\x00"),
		"with joiners and marks":        between(hard, "\u034f\u200d\u0332"),
		"with tags":                     between(hard, "\U000e0041"),
		"with invalid bytes":            between(hard, "\xff"),
		"with replacement characters":   between(hard, "\ufffd"),
		"with dashes":                   between(hard, "-"),
		"folded as a header":            strings.Replace(hard, "er", "e\r\n r", 1),
		"in JSON with soft hyphens":     quoteASCII(between(hard, "\u00ad")),
		"in a query with NULs":          url.QueryEscape(between(hard, "\x00")),
		"in Latin-1":                    "us\"er\\key%41 <\xe9>",
		"in UTF-16":                     wide(hard, 2, false),
		"in UTF-16, big end first":      wide(hard, 2, true),
		"in a query in UTF-16":          wide(url.QueryEscape(hard), 2, false),
		"in UTF-32, big end first":      wide(hard, 4, true),
		"in a JSON pointer, other case": `US"ER\KEY%41~1`,
		"in JSON, escaped again":        escapedTwice(hard, `\\u%04x`),
		"in bytes, escaped again":       escapedTwice(hard, `\\x%02x`),
	} {
		if got := New(key, hard).Text("<<" + text + ">>"); got != Withheld {
			t.Errorf("%s: %q became %q", name, text, got)
		}
	}
	for _, key := range []string{key, "app-Key/10~1d7=e4"} {
		pointer := strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		if got := New(key).Text("/3/" + pointer); got != Withheld {
			t.Errorf("%s became %q", pointer, got)
		}
	}
	const capitals = "KEYabc"
	for _, text := range []string{"%4B%45%59abc", `\u004b\u0045\u0059abc`, `\x4b\x45\x59abc`, `\U0000004bEYabc`, "&#x4B;&#69;&#x59;abc", `\ud83c\udfc7KEY\u200babc`, `KEY\ud83c\udfc7abc`, `K\\\\u0045Y\\\\u200babc`} {
		if got := New(capitals).Text(text); got != Withheld {
			t.Errorf("%q became %q", text, got)
		}
	}
	const shortest = "0a-9z-zz" // six letters and digits, most at the ends of their ranges
	if got := New(shortest).Text("0A9ZZZ"); got != Withheld {
		t.Errorf("the shortest key became %q", got)
	}
}

// escapedTwice writes each byte of a text as an escape whose backslash is escaped. Undone
// twice, some of them are escapes of control characters: \\u0062 is \b.
func escapedTwice(text, format string) string {
	var out strings.Builder
	for _, char := range []byte(text) {
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
		"", "app-Key/91+d7=e", "a line\nand\ta tab, 100 % \\ & ~ +", `{"message":"café \u0001 \\"}`, "\xff\xfe\x00", "soft\u00adhyphen", key[1:], "&amp;&lt;",
		"user", `us\"er`, "AB-12", "ab12", // fewer than six letters and digits
	} {
		if got := keys.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := New().Text(key); got != key {
		t.Errorf("without keys: %q", got)
	}
}

// wide encodes a text of characters below 65,536 in units of so many bytes.
func wide(text string, width int, big bool) string {
	var out []byte
	for _, r := range text {
		unit := make([]byte, width)
		for i := range unit {
			place := i
			if big {
				place = width - 1 - i
			}
			unit[place] = byte(r >> (8 * i))
		}
		out = append(out, unit...)
	}
	return string(out)
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
		key, quoteASCII(between(key, "\u00ad")), url.QueryEscape(key), between(key, "\x00"), html.EscapeString(key), wide(key, 4, true),
		strings.ReplaceAll(url.QueryEscape(key), "p", "%70"), strings.ReplaceAll(key, "p", `\u0070`), strings.ReplaceAll(key, "p", `\\u0070`),
		strings.ReplaceAll(key, "p", "&#x70;"), strings.ReplaceAll(key, "p", "&amp;#112;"), strings.ReplaceAll(key, "p", "%2570"), between(key, "\u00ad"),
	} {
		text := "id " + form
		for n := range len(text) {
			got := New(key).Beginning(text[:n], n+100, true)
			rest := strings.TrimPrefix(letters(html.UnescapeString(strings.NewReplacer("%25", "%", `\\`, `\`, "&amp;", "&").Replace(got))), "id")
			if got != Withheld && strings.HasPrefix(rest, "appk") {
				t.Fatalf("at %d: %q became %q", n, text[:n], got)
			}
			if got == Withheld && n < len("id appK") {
				t.Fatalf("at %d: %q is withheld", n, text[:n])
			}
		}
	}
	for _, cut := range []string{"app-K", "app-Key/91+d7=e", "APPKEY", `app-Key\`, `app-Key\u00`, "app-Key%", "app-Key%2", "app-Key&am", "app-Key&#x2"} {
		if got := New(key).Beginning("key "+cut, 100, true); got != Withheld {
			t.Errorf("%q: %q", cut, got)
		}
	}
	for _, none := range []string{"", "app", "it ends with ap-p", "100 %", "a & b", `c:\dir`, "%zz", "&nothing ", "~user", "app-Key is kept"} {
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
	in := http.Header{"X-Echo": {"a " + token, "b"}, http.CanonicalHeaderKey(token): {"1"}, "Empty": nil}
	got := New(token).Header(in)
	want := http.Header{"X-Echo": {"a [redacted]", "b"}, Withheld: {"1"}, "Empty": {}}
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
		"in its text":            fmt.Errorf("key %s: %w", key, context.Canceled),
		"in a joined one":        errors.Join(context.Canceled, errors.New(key)),
		"in one it wraps":        &outer{fmt.Errorf("%w: %s", context.Canceled, key)},
		"in a field":             errors.Join(context.Canceled, quiet{key}),
		"in one a joined wraps":  errors.Join(context.Canceled, &outer{errors.New(key)}),
		"with soft hyphens":      fmt.Errorf("%w %s", context.Canceled, between(key, "\u00ad")),
		"quoted, with a control": fmt.Errorf("%w %q", context.Canceled, between(key, "\x00")),
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
// the text again and again, or search it (BenchmarkRedacting).
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

// BenchmarkRedacting shows that texts of any length take the same time for each byte.
func BenchmarkRedacting(b *testing.B) {
	for _, length := range []int{1 << 14, 1 << 19} {
		for name, text := range hostileTexts(length) {
			b.Run(fmt.Sprintf("%s/%dKiB", name, length>>10), func(b *testing.B) {
				b.SetBytes(int64(length))
				for b.Loop() {
					New(key, "ключ").Beginning(text, math.MaxInt, true)
				}
			})
		}
	}
}

// encoders are what a service or Go's own code may do to an echo.
var encoders = []func(string) string{
	func(s string) string { return s },
	quote, quoteASCII, url.QueryEscape, url.PathEscape, html.EscapeString,
	strings.NewReplacer("~", "~0", "/", "~1").Replace,
	func(s string) string { return between(s, "\u00ad") },
	func(s string) string { return between(s, "\x00") },
	func(s string) string { return between(s, "\u200b\u0332") },
	func(s string) string { return between(s, "\xff") },
	func(s string) string { return between(s, "\n") },
	func(s string) string { return wide(s, 2, false) },
	func(s string) string { return wide(s, 2, true) },
	func(s string) string { return wide(s, 4, false) },
	func(s string) string { return wide(s, 4, true) },
}

// FuzzRedaction writes a key in one encoding or two, and cuts the text: neither
// the key nor a long part of it shows, whatever is then dropped or decoded.
func FuzzRedaction(f *testing.F) {
	for i := range encoders {
		f.Add(key, "message: ", uint8(i), uint8(0), uint16(20))
		f.Add(`kлюч\"x123"`, `{"m":"`, uint8(i), uint8(i%7), uint16(30))
	}
	f.Add("1111%11", "%1", uint8(3), uint8(0), uint16(9)) // cut within an escape
	f.Fuzz(func(t *testing.T, key, before string, inner, outer uint8, cut uint16) {
		bare := readings(key)[0]
		if len(bare) < minLetters || len(key) > 200 || len(before) > 200 || slices.ContainsFunc(readings(key), func(other string) bool { return other != bare }) || strings.Contains(readings(Placeholder + Withheld)[0], bare[:minPrefix]) {
			t.Skip()
		}
		if strings.ContainsFunc(key, func(r rune) bool { return r > 0xff || r == '0' }) {
			t.Skip() // its code in UTF-16 may have letters, and codes have zeros
		}
		encode := func(key string) string {
			text := encoders[int(inner)%len(encoders)](key)
			if plain := 7; int(inner)%len(encoders) >= plain { // what is dropped, and then an escape
				text = encoders[int(outer)%plain](text)
			}
			return text
		}
		text := before + "|" + encode(key)
		limit := int(cut) % (len(text) + 1)
		if most := bare[:minPrefix]; canBeRead(before, most) || canBeRead(encode(strings.Repeat("-", len(key))), most) {
			t.Skip() // it can be read without the key
		}
		for name, got := range map[string]string{
			"whole": New(key).Text(text + "|"), "cut": New(key).Beginning(text, limit, false), "cut before": New(key).Beginning(text[:limit], len(text), true),
		} {
			if canBeRead(strings.TrimPrefix(got, before+"|"), bare[:max(minPrefix, len(bare)*3/4)]) {
				t.Fatalf("%s: %q with key %q became %q", name, text, key, got)
			}
		}
	})
}

// canBeRead reports whether the letters of a text, or of what it is an escape of,
// contain a word.
func canBeRead(text, word string) bool {
	for _, decode := range []func(string) (string, error){
		func(s string) (string, error) { return s, nil },
		func(s string) (string, error) { return strconv.Unquote(`"` + s + `"`) },
		func(s string) (string, error) { return html.UnescapeString(s), nil },
		url.QueryUnescape,
	} {
		if s, err := decode(text); err == nil && strings.Contains(readings(s)[0], word) {
			return true
		}
	}
	return false
}
