package redact

import (
	"context"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/horseracing-go/horseracing/guarantees/double/check"

	"pgregory.net/rapid"
)

const key = "app-Key/91+d7=e4"

// encoders are how programs write a character, escaped or not.
var encoders = map[string]func(rune) string{
	"as it is":                    func(r rune) string { return string(r) },
	"JSON, a backslash":           orShort(`"\/`, "%04x"),
	"JSON, a number":              orShort("", "%04x"),
	"JSON, a number, in capitals": orShort("", "%04X"),
	"Go, strconv.QuoteToASCII":    func(r rune) string { q := strconv.QuoteToASCII(string(r)); return q[1 : len(q)-1] },
	"a pointer of JSON":           func(r rune) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(string(r)) },
	"a URL":                       func(r rune) string { return percent(r, "%%%02X") },
	"a URL, in small letters":     func(r rune) string { return percent(r, "%%%02x") },
	"a URL, a space as a plus":    func(r rune) string { return url.QueryEscape(string(r)) },
	"HTML, numbers of quotes":     func(r rune) string { return html.EscapeString(string(r)) },
	"HTML, names": func(r rune) string {
		return strings.NewReplacer(`"`, "&quot;", "'", "&apos;", "<", "&LT;", ">", "&gt;", "&", "&AMP;").Replace(string(r))
	},
	"HTML, a number":             func(r rune) string { return fmt.Sprintf("&#%d;", r) },
	"HTML, a hexadecimal number": func(r rune) string { return fmt.Sprintf("&#X%X;", r) },
}

// orShort escapes as \u with that format of a number, and the characters of short with a
// backslash before them.
func orShort(short, format string) func(rune) string {
	return func(r rune) (text string) {
		if strings.ContainsRune(short, r) {
			return `\` + string(r)
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			text += fmt.Sprintf(`\u`+format, unit)
		}
		return text
	}
}

// percent escapes each byte with that format.
func percent(r rune, format string) (text string) {
	for _, b := range []byte(string(r)) {
		text += fmt.Sprintf(format, b)
	}
	return text
}

var printableKeys = rapid.Custom(func(t *rapid.T) string {
	hard := rapid.SampledFrom([]rune(`"\'/~%+=&<>!*()0159aAbBcCfFnNrRtTuUxXéß馬🏇`))
	return strings.Trim(rapid.StringOfN(rapid.OneOf(hard, rapid.Rune()), 8, 40, -1).Draw(t, "key"), " \"'`")
}).Filter(func(key string) bool {
	return len(key) >= minKey && Visible(key) == key && !strings.Contains(key, "·")
})

// Whichever program writes a key, even if each character is written by another one.
func TestKeyIsReplacedHoweverItIsEncoded(t *testing.T) {
	names := slices.Sorted(maps.Keys(encoders))
	rapid.Check(t, func(t *rapid.T) {
		key := printableKeys.Draw(t, "key")
		keys := New("another-key", key)
		var mixed strings.Builder
		for _, r := range key {
			mixed.WriteString(encoders[rapid.SampledFrom(names).Draw(t, "encoder")](r))
		}
		texts := map[string]string{"mixed": mixed.String()}
		for name, encode := range encoders {
			for _, r := range key {
				texts[name] += encode(r)
			}
		}
		for name, text := range texts {
			check.Equal(t, name+": "+text, "·"+Placeholder+"·", keys.Text("·"+text+"·"))
		}
	})
}

// A text is made visible before its keys are redacted, so that they do not appear by that.
func TestVisibleShowsNoKeyThatWasHidden(t *testing.T) {
	for text, want := range map[string]string{
		"app-Key\u200b/91+d7=e4 of a\u00a0horse\u00ad": "[redacted] of a horse",
		"\xff" + key: "\ufffd[redacted]",
	} {
		check.Equal(t, text, want, New(key).Visible(text))
	}
}

// The end of a text that was cut is left out, as it may be the beginning of a key, also in the middle of a character.
func TestTextThatIsCutShowsNoBeginningOfAKey(t *testing.T) {
	for _, key := range []string{key, "sécret-ключ-of-a-horse", "ключ-of-a-horse"} {
		text := "your key: " + key + url.QueryEscape(key) + "!"
		for n := range len(text) + 1 {
			if got := New(key).Truncated(text[:n]); strings.Contains(got, key[:2]) || !strings.HasPrefix("your key: "+Placeholder+Placeholder+"!", got) || n < 10 && len(got) < n-1 {
				t.Errorf("at %d: %q", n, got)
			}
		}
	}
	check.Equal(t, "a whole key at the end", "key: ", New(key).Truncated("key: "+key))
	check.Equal(t, "another letter at the end", "É", New("école-du-cheval").Truncated("É"))
	check.Equal(t, "without a key", "no key", New().Truncated("no key"))
}

// Texts that begin a key again and again take time in proportion to their length.
func TestHostileTextIsReadInLinearTime(t *testing.T) {
	for name, test := range map[string]struct{ key, text string }{
		"beginnings":     {strings.Repeat("a", 64) + "b", "a"},
		"backslashes":    {strings.Repeat(`\`, 12) + "b", `\`},
		"percent":        {"%%%%%%%%%%%b", "%25"},
		"hidden":         {key, "\u200b"},
		"hidden escapes": {`\\\\\\key`, `\u200b`},
		"odd spaces":     {"a          b", "\u00a0"},
		"surrogates":     {"🏇🏇🏇🏇b", `\ud83c`},
		"plus":           {"a + + + + b", "+"},
	} {
		took := func(times int) time.Duration {
			text, keys, began := test.key[:len(test.key)-1]+strings.Repeat(test.text, times), New(test.key), time.Now()
			check.Equal(t, name+": finds a key", false, strings.Contains(keys.Text(text), Placeholder))
			return time.Since(began)
		}
		short, long := took(1<<9), took(1<<14) // 32 times as long, and about 1,000 times if it grew with the square
		if long > 200*max(short, time.Millisecond) {
			t.Errorf("%s: %v, and %v for a text that is 32 times as long", name, short, long)
		}
	}
}

// A service trims what was read together with a key, and shows the rest.
func TestKeyIsReplacedAsAServiceTrimsIt(t *testing.T) {
	for _, around := range []string{" %s", "%s\r\n", `"%s"`, "'%s'", "\ufeff%s", "%s\u200b", "\t`%s`"} {
		keys := New(fmt.Sprintf(around, key), fmt.Sprintf(around, `user"key/1`))
		check.Equal(t, around, "no such key:[redacted],[redacted]", keys.Text("no such key:"+key+`,user\"key/1`))
	}
}

func TestKeyWithinAnotherIsReplacedWithIt(t *testing.T) {
	keys := New("race-one", "race-one-horse", "", "one-horse", "the-longest-key", "longest-")
	check.Equal(t, "text", "[redacted] [redacted] [redacted] [redacted]", keys.Text("race-one-horse race-one one-horse the-longest-key"))
}

func TestTextWithoutAKeyStaysAsItIs(t *testing.T) {
	keys := New(key, `us"er`, "ab-12", "")
	for _, text := range []string{"", "app-Key/91+d7=e", "a line\nand\ta tab, 100 % \\ & ~ +", `{"message":"café \u0001 \\"}`, "\xff\xfe\x00", key[1:], strings.ToUpper(key)} {
		check.Equal(t, "text", text, keys.Text(text))
	}
}

func TestAndKeepsWhatItIsCalledOn(t *testing.T) {
	one := New("the-first")
	two := one.And("", "the-sec\u00adond")
	check.Equal(t, "text", "[redacted] the-second [redacted] [redacted]", one.Text("the-first the-second")+two.Text(" the-first the-second"))
}

func TestHeaderIsCopiedWithoutTheKeys(t *testing.T) {
	in := http.Header{"X-Echo": {"a " + key, "b"}, key: {"1"}, "Empty": nil}
	want := http.Header{"X-Echo": {"a [redacted]", "b"}, Placeholder: {"1"}, "Empty": nil}
	check.Equal(t, "copy", want, New(key).Header(in))
	check.Equal(t, "the header itself", "a "+key, in.Get("X-Echo"))
}

// quiet is an error whose text is not all that it prints.
type quiet struct{ detail string }

func (quiet) Error() string { return "refused" }

// outer is an error whose text leaves out the error it wraps.
type outer struct{ err error }

func (outer) Error() string   { return "failed" }
func (o outer) Unwrap() error { return o.err }

func TestErrorIsReplacedOnlyIfItShowsAKey(t *testing.T) {
	keys := New(key)
	plain := fmt.Errorf("reset: %w", context.Canceled)
	check.Equal(t, "no error, and one without a key, stay", true, keys.Error(nil) == nil && keys.Error(plain) == plain)
	for name, err := range map[string]error{
		"in its text":           fmt.Errorf("key %s: %w", key, context.Canceled),
		"in one it wraps":       &outer{fmt.Errorf("%w: %s", context.Canceled, key)},
		"in a field":            errors.Join(context.Canceled, quiet{key}),
		"in one a joined wraps": errors.Join(context.Canceled, &outer{errors.New(key)}),
		"among what is hidden":  fmt.Errorf("%w %s", context.Canceled, key[:4]+"\u200b"+key[4:]),
	} {
		got := keys.Error(err)
		check.Equal(t, name+": is what it was", true, errors.Is(got, context.Canceled))
		_, isQuiet := errors.AsType[quiet](got)
		_, isOuter := errors.AsType[*outer](got)
		if text := fmt.Sprintf("%v %+v %#v", got, got, got); isQuiet || isOuter || errors.Unwrap(got) != nil || keys.Visible(text) != text {
			t.Errorf("%s: the key can be had: %s", name, text)
		}
	}
}

func TestVisibleDropsWhatDoesNotShow(t *testing.T) {
	for text, want := range map[string]string{
		"plain, café, 馬, 🏇":                        "plain, café, 馬, 🏇",
		"a\nb\tc\r\nd\u00a0e\u2028f":               "a b c  d e f",
		"k\u00ade\u200by\x00\x1b[31m\u202e!\u3164": "key[31m!",
		"nai\u0308ve a\xffb":                       "nai\u0308ve a\ufffdb",
	} {
		check.Equal(t, text, want, Visible(text))
	}
}

// BenchmarkPageWithoutAKey looks for two keys in a page of 8 MiB.
func BenchmarkPageWithoutAKey(b *testing.B) {
	entry := `{"main_race_id":880217,"entry_fee":25000000000000000000,"info":{"name":"Prix d'Été \"Ascot\""},"final_order":[0,3,1,2]},`
	keys, text := New(key, "7a5e8d3b-77c1"), strings.Repeat(entry, 8<<20/len(entry))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		keys.Text(text)
	}
}
