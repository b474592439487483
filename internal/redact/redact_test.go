package redact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

const key = "app-Key/91+d7=e4"

func TestAKeyIsReplacedAsItIsAndAsJSONAndURLsEscapeIt(t *testing.T) {
	const hard = `us"er/key%41<é>&+=`
	for name, text := range map[string]string{
		"as it is":         hard,
		"in JSON":          `us\"er/key%41<é>&+=`,
		"in JSON for HTML": `us\"er/key%41\u003cé\u003e\u0026+=`,
		"in a query":       url.QueryEscape(hard),
		"in a path":        url.PathEscape(hard),
	} {
		if got := New(key, hard).Text("<<" + text + ">>"); got != "<<"+Placeholder+">>" {
			t.Errorf("%s: %q became %q", name, text, got)
		}
	}
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

// The end of a text that was cut is left out, as it may be the beginning of a key.
func TestATextThatIsCutShowsNoBeginningOfAKey(t *testing.T) {
	text := "your key: " + key + url.QueryEscape(key) + "!"
	for n := range len(text) + 1 {
		if got := New(key).Truncated(text[:n]); strings.Contains(got, key[:2]) || !strings.HasPrefix("your key: "+Placeholder+Placeholder+"!", got) {
			t.Errorf("at %d: %q", n, got)
		}
	}
	if got := New().Truncated("no key"); got != "no key" {
		t.Error(got)
	}
}

func TestAHeaderIsCopiedWithoutTheKeys(t *testing.T) {
	token := "abc-123def"
	in := http.Header{"X-Echo": {"a " + token, "b"}, token: {"1"}, "Empty": nil}
	got := New(token).Header(in)
	want := http.Header{"X-Echo": {"a [redacted]", "b"}, Placeholder: {"1"}, "Empty": nil}
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

// FuzzRedaction writes a key in one form: no part of it is left.
func FuzzRedaction(f *testing.F) {
	f.Add(key, "message: ")
	f.Add(`kлюч/"x123"`, `{"m":"`)
	f.Fuzz(func(t *testing.T, key, before string) {
		quoted, err := json.Marshal(key)
		if key == "" || !utf8.ValidString(key) || err != nil || strings.ContainsAny(before+Placeholder, key) {
			t.Skip()
		}
		for _, form := range []string{key, string(quoted[1 : len(quoted)-1]), url.QueryEscape(key), url.PathEscape(key)} {
			if got := New(key).Text(before + form); got != before+Placeholder {
				t.Errorf("%q became %q", before+form, got)
			}
		}
	})
}
