package redact

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

const key = "app-Key/91+d7=e4"

// between writes something between the characters of a text.
func between(text, separator string) string { return strings.Join(strings.Split(text, ""), separator) }

// quote and quoteASCII write a text as %q and %+q do, without the quotation marks.
func quote(text string) string      { text = strconv.Quote(text); return text[1 : len(text)-1] }
func quoteASCII(text string) string { text = strconv.QuoteToASCII(text); return text[1 : len(text)-1] }

func TestAKeyIsRedactedHoweverItIsWritten(t *testing.T) {
	const hard = `us"er\key%41 <é>`
	for name, text := range map[string]string{
		"as it is":                         hard,
		"in JSON":                          `us\"er\\key%41 <é>`,
		"in JSON for HTML":                 `us\"er\\key%41 \u003c\u00e9\u003e`,
		"in JSON in JSON":                  `us\\\"er\\\\key%41 \\u003c\\u00e9\\u003e`,
		"with %q":                          quote(hard),
		"with %+q":                         quoteASCII(hard),
		"in a query":                       url.QueryEscape(hard),
		"in a path":                        url.PathEscape(hard),
		"in a query in a query":            url.QueryEscape(url.QueryEscape(hard)),
		"in HTML":                          html.EscapeString(hard),
		"in capitals":                      strings.ToUpper(hard),
		"with soft hyphens":                between(hard, "\u00ad"),
		"with NULs":                        between(hard, "\x00"),
		"with zero width spaces":           between(hard, "\u200b"),
		"with controls":                    between(hard, "\x1b\x7f"),
		"with joiners and marks":           between(hard, "\u034f\u200d\u0332"),
		"with fillers":                     between(hard, "\u3164\u115f\u2800\ufe0f"),
		"with tags":                        between(hard, "\U000e0041"),
		"with invalid bytes":               between(hard, "\xff"),
		"with replacement characters":      between(hard, "\ufffd"),
		"folded as a header":               strings.Replace(hard, "er", "e\r\n r", 1),
		"in JSON with soft hyphens":        quoteASCII(between(hard, "\u00ad")),
		"in a query with NULs":             url.QueryEscape(between(hard, "\x00")),
		"escapes with NULs":                between(quoteASCII(hard), "\x00"),
		"in Latin-1":                       "us\"er\\key%41 <\xe9>",
		"with its UTF-8 taken for Latin-1": `us"er\key%41 <Ã©>`,
		"in UTF-16":                        wide(hard, 2, false),
		"in UTF-16, big end first":         wide(hard, 2, true),
		"in UTF-32":                        wide(hard, 4, false),
		"in UTF-32, big end first":         wide(hard, 4, true),
	} {
		got := New(key, hard).Text("<<" + text + ">>")
		if !strings.HasPrefix(got, "<<"+Placeholder) || len(got) > len("<<"+Placeholder+">>")+5 || !strings.HasSuffix(got, ">>") {
			t.Errorf("%s: %q became %q", name, text, got)
		}
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

func TestShortAndOddKeysAreRedacted(t *testing.T) {
	for _, key := range []string{
		"k", "%", `\`, `\\\\`, "%%%", "%25", "a b", "~1", "&amp;", "+", "ключ", "🏇🏇", `a"b`, "'", "123456", "\u200b", "\u0301", "\xff\xfe", "\xd0", " ",
	} {
		for _, form := range []string{
			key, quote(key), quoteASCII(key), strings.ReplaceAll(key, "/", `\/`), url.QueryEscape(key), url.PathEscape(key), html.EscapeString(key),
		} {
			if got := New(key).Text("<<" + form + ">>"); !strings.HasPrefix(got, "<<"+Placeholder) {
				t.Errorf("%q as %q: %q", key, form, got)
			}
		}
	}
	// Python writes what is beyond 16 bits as two halves.
	if got := New("🏇key").Text(`"\ud83c\udfc7key"`); got != `"`+Placeholder+`"` {
		t.Error(got)
	}
}

func TestWhatIsNoKeyStaysAsItIs(t *testing.T) {
	keys := New(key, "us\"er", "")
	for _, text := range []string{
		"", "app-Key/91+d7=e", "a line\nand\ta tab, 100 % \\ & ~ +", `{"message":"café \u0001 \\"}`, "\xff\xfe\x00", "soft\u00adhyphen", key[1:], "&amp;&lt;",
	} {
		if got := keys.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got, want := keys.Text("one "+key+" and "+key+key+", "+key), "one [redacted] and [redacted][redacted], [redacted]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := New().Text(key); got != key {
		t.Errorf("without keys: %q", got)
	}
}

func TestKeysThatOverlapAreRedactedTogether(t *testing.T) {
	for text, want := range map[string]string{
		"xabcdefx": "x[redacted]x",
		"abcabcde": "[redacted][redacted]",
		"aXaXa":    "[redacted]",
	} {
		if got := New("abc", "bcde", "def", "aXa").Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
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

func TestATextIsNotCutWithinAKey(t *testing.T) {
	for _, form := range []string{
		key, quoteASCII(between(key, "\u00ad")), url.QueryEscape(key), between(key, "\x00"), html.EscapeString(key), wide(key, 4, true),
		strings.Replace(url.QueryEscape(key), "p", "%70", -1), between(key, "\u00ad"),
	} {
		text := "your key: " + form + "!"
		for limit := range len(text) + 1 {
			for name, got := range map[string]string{
				"cut here":   New(key).Beginning(text, limit, false),
				"cut before": New(key).Beginning(text[:limit], len(text), limit < len(text)),
			} {
				_, after, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(got, "\x00", "")), "your key: ")
				if len(got) > limit && name == "cut here" || after != "" && !strings.HasPrefix(Placeholder, after) && after != Placeholder+"!" {
					t.Fatalf("%s at %d: %q became %q", name, limit, text, got)
				}
			}
		}
	}
	if got := New(key).Beginning("short", 10, false); got != "short" {
		t.Errorf("a text that fits: %q", got)
	}
	if got := New(key).Beginning("it ends with app", 100, false); got != "it ends with app" {
		t.Errorf("a whole text: %q", got)
	}
}

func TestAHeaderIsCopiedWithoutTheKeys(t *testing.T) {
	token := "abc-123def"
	in := http.Header{"X-Echo": {"a " + token, "b"}, http.CanonicalHeaderKey(token): {"1"}, "Empty": nil}
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
		"in its text":            fmt.Errorf("key %s: %w", key, context.Canceled),
		"in a joined one":        errors.Join(context.Canceled, errors.New(key)),
		"in one it wraps":        &outer{fmt.Errorf("%w: %s", context.Canceled, key)},
		"in a field":             errors.Join(context.Canceled, quiet{key}),
		"with soft hyphens":      fmt.Errorf("%w %s", context.Canceled, between(key, "\u00ad")),
		"quoted, with a control": fmt.Errorf("%w %q", context.Canceled, between(key, "\x00")),
	} {
		got := keys.Error(err)
		if !errors.Is(got, context.Canceled) {
			t.Errorf("%s: %v is no longer what it was", name, got)
		}
		if _, ok := errors.AsType[quiet](got); ok || errors.Unwrap(got) != nil {
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

func TestABodyIsDecodedByItsMarkItsNULsOrItsCharset(t *testing.T) {
	const text = "<html>Schlüssel 🏇</html>"
	const narrow = "<html>Schlüssel</html>"
	for name, test := range map[string]struct{ body, contentType, want string }{
		"UTF-8":                    {text, "text/html", text},
		"UTF-8 with a mark":        {"\ufeff" + text, "", text},
		"UTF-8 declared as Latin":  {text, "text/html; charset=iso-8859-1", text},
		"UTF-16 with a mark":       {wide("\ufeff"+narrow, 2, false), "", narrow},
		"UTF-16, big, with a mark": {wide("\ufeff"+narrow, 2, true), "", narrow},
		"UTF-16":                   {wide(narrow, 2, false), "text/html", narrow},
		"UTF-16, big":              {wide(narrow, 2, true), "", narrow},
		"UTF-16, beyond ASCII":     {wide("\"馬\"", 2, false), "", "\"馬\""},
		"UTF-16, big, the same":    {wide("\"馬\"", 2, true), "", "\"馬\""},
		"UTF-16, two halves":       {"\xff\xfe\x3c\xd8\xc7\xdf", "", "🏇"},
		"UTF-16, cut":              {wide("\ufeffab", 2, false)[:5], "", "a"},
		"UTF-32 with a mark":       {wide("\ufeff"+text, 4, false), "", text},
		"UTF-32, big, with a mark": {wide("\ufeff"+text, 4, true), "", text},
		"UTF-32":                   {wide(text, 4, false), "", text},
		"UTF-32, big":              {wide(text, 4, true), "", text},
		"UTF-32, no character":     {"\xff\xfe\x00\x00\xff\xff\xff\xff", "", "\ufffd"},
		"a key in UTF-16":          {wide("<p>"+key+"</p>", 2, false), "", "<p>" + Placeholder + "</p>"},
		"a key in UTF-16, big":     {wide("<p>"+key+"</p>", 2, true), "", "<p>" + Placeholder + "</p>"},
		"a key in UTF-32":          {wide("<p>"+key+"</p>", 4, false), "", "<p>" + Placeholder + "</p>"},
		"a key in UTF-32, big":     {wide("<p>"+key+"</p>", 4, true), "", "<p>" + Placeholder + "</p>"},
		"NULs between letters":     {between(key, "\x00") + " x\x00y\x00", "", Placeholder + "xy"},
		"Latin-1":                  {"Schl\xfcssel", `text/html; charset="ISO-8859-1"`, "Schlüssel"},
		"neither":                  {"Schl\xfcssel", "text/html; charset=koi8-r", "Schl\xfcssel"},
		"short":                    {"a\x00", ";;", "a\x00"},
		"empty":                    {"", "", ""},
	} {
		if got := New(key).Decode([]byte(test.body), test.contentType); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// A part of a text may be in UTF-16, from an even byte on or an odd one.
func TestAKeyInUTF16WithinAnotherTextIsRedacted(t *testing.T) {
	for _, key := range []string{key, "🏇 gallop 🏇 key"} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			for _, before := range []string{"", "x", "xy"} {
				var body []byte
				for _, unit := range utf16.Encode([]rune(between(key, "\u0332"))) {
					body = order.AppendUint16(body, unit)
				}
				got := New(key).Text(before + string(body) + "\x00")
				if rest := strings.Trim(strings.Replace(got, Placeholder, "", 1), "\x00"); !strings.Contains(got, Placeholder) || len(rest) > len(before)+1 {
					t.Errorf("%q, %v, behind %q: %q", key, order, before, got)
				}
			}
		}
	}
}

func TestAKeyThatIsCutWithinAnEscapeIsRedacted(t *testing.T) {
	const key, pair = "abcdefgh&\"/ijkl", "abcdefgh🏇ijkl"
	for _, cut := range []string{"abcdefgh&", "abcdefgh&am", "abcdefgh&#x2", "abcdefgh%", "abcdefgh%2", `abcdefgh\`, `abcdefgh\u00`, `abcdefgh\u0026\`, `abcdefgh&\"~`} {
		if got := New(key).Beginning("key "+cut, 100, true); got != "key " {
			t.Errorf("%q: %q", cut, got)
		}
	}
	for _, cut := range []string{`abcdefgh\ud83c`, `abcdefgh\ud83c\`, `abcdefgh\ud83c\udf`} {
		if got := New(pair).Beginning(cut, 100, true); got != "" {
			t.Errorf("%q: %q", cut, got)
		}
	}
	for _, none := range []string{"100 %", "a & b", `c:\dir`, "%zz", "&nothing ", "~user"} {
		if got := New(key).Beginning(none+" is kept", 100, true); got != none+" is kept" {
			t.Errorf("%q: %q", none, got)
		}
	}
}

// Every place of these texts may begin a key, or an escape.
func TestRedactingTakesTimeByTheLengthAlone(t *testing.T) {
	hard := strings.Repeat("a", 4000) + "b"
	for name, text := range map[string]string{
		"beginnings": strings.Repeat("a", 1<<18), "halves": strings.Repeat(hard[:4000]+"c", 1<<18/4001), "keys": strings.Repeat(hard, 1<<18/4001),
		"escapes": strings.Repeat(`\u0061`, 1<<18/6), "percent": strings.Repeat("%61", 1<<18/3), "backslashes": strings.Repeat(`\`, 1<<18),
		"all": strings.Repeat("\\%+~&\x00", 1<<18/6), "entities": strings.Repeat("&#97;", 1<<18/5), "invisible": strings.Repeat("a\u00ad", 1<<18/3),
	} {
		started := time.Now()
		New(hard, "ключ").Beginning(text, 1<<30, true)
		if took := time.Since(started); took > 10*time.Second {
			t.Errorf("%s: took %v", name, took)
		} else {
			t.Log(name, took)
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
		f.Add(`ключ\"x"`, `{"m":"`, uint8(i), uint8(i%7), uint16(30))
	}
	f.Add("      VVVVVV", "", uint8(0), uint8(0), uint16(0))
	f.Add("0000%0", "%0", uint8(3), uint8(0), uint16(9)) // cut within an escape, behind what is none
	f.Fuzz(func(t *testing.T, key, before string, inner, outer uint8, cut uint16) {
		folded := string(read(key).fold().plain)
		if !utf8.ValidString(key) || len(folded) < 6 || len(key) > 200 || len(before) > 200 || strings.ContainsAny(folded, "[]|") {
			t.Skip()
		}
		if strings.ContainsFunc(key, func(r rune) bool { return r > 0xffff }) {
			t.Skip() // wide does not write it
		}
		encode := func(key string) string {
			text := encoders[int(inner)%len(encoders)](key)
			if plain := 7; int(inner)%len(encoders) >= plain { // what is dropped, and then an escape
				text = encoders[int(outer)%plain](text)
			}
			return text
		}
		echo := encode(key)
		keys, text := New(key), before+"|"+echo+"|"
		limit := int(cut) % (len(text) + 1)
		most := strings.TrimFunc(Visible(key), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsMark(r) })
		most = most[:len(most)*3/4]
		if shows(before, most) || shows(encode(strings.Repeat("x", len(key))), most) { // as the encoding of any key
			t.Skip()
		}
		for _, got := range []string{
			keys.Text(text), Visible(keys.Text(keys.Decode([]byte(text), ""))),
			keys.Beginning(text, limit, false), keys.Beginning(text[:limit], len(text), true),
		} {
			if shows(got, most) {
				t.Fatalf("%q with key %q became %q", text, key, got)
			}
		}
	})
}

// shows reports whether a text holds a word, perhaps after all that is
// invisible is dropped from it or its escapes are read.
func shows(text, word string) bool {
	for _, decode := range []func(string) (string, error){
		func(s string) (string, error) { return s, nil },
		func(s string) (string, error) { return strconv.Unquote(`"` + s + `"`) },
		func(s string) (string, error) { return html.UnescapeString(s), nil },
		func(s string) (string, error) { return New().Decode([]byte(s), ""), nil },
		func(s string) (string, error) { return New().Decode([]byte("\xff\xfe"+s), ""), nil },
		url.QueryUnescape,
	} {
		s, err := decode(text)
		if err != nil {
			continue
		}
		valid := strings.ToValidUTF8(s, "")
		for _, s := range []string{s, Visible(s), valid, Visible(valid), strings.ReplaceAll(s, "\x00", "")} {
			if strings.Contains(s, word) {
				return true
			}
		}
	}
	return false
}
