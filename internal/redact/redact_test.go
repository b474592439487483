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

func TestKeyIsReplacedInEachOfItsForms(t *testing.T) {
	const hard = `us"er/key~%41<é>&+=`
	for name, text := range map[string]string{
		"as it is":         hard,
		"in JSON":          `us\"er/key~%41<é>&+=`,
		"in JSON for HTML": `us\"er/key~%41\u003cé\u003e\u0026+=`,
		"in JSON of PHP":   `us\"er\/key~%41<\u00e9>&+=`,
		"in ASCII JSON":    `us\"er/key~%41<\u00e9>&+=`,
		"in a query":       url.QueryEscape(hard),
		"in a path":        url.PathEscape(hard),
		"in a pointer":     `us"er~1key~0%41<é>&+=`,
	} {
		if got := New(key, hard).Text("in a word" + text + "7"); got != "in a word"+Placeholder+"7" {
			t.Errorf("%s: %q became %q", name, text, got)
		}
	}
}

// A service trims what was read together with a key, and shows the rest.
func TestKeyIsReplacedAsAServiceTrimsIt(t *testing.T) {
	for _, around := range []string{" %s", "%s\r\n", `"%s"`, "'%s'", "\ufeff%s", "%s\u200b", "\t`%s`"} {
		keys := New(fmt.Sprintf(around, key), fmt.Sprintf(around, `user"key/1`))
		if got := keys.Text("no such key:" + key + `,user\"key/1`); got != "no such key:[redacted],[redacted]" {
			t.Errorf("%q: %q", around, got)
		}
	}
}

func TestKeyOfFewerThanEightBytesIsReplacedOutsideWords(t *testing.T) {
	for _, key := range []string{"k", "%", `\`, "a b", "+", "ключ", "123456", "\xff\xfe", " ", "1234567", "é"} {
		if got := New(key).Text("<<" + key + ">>"); got != "<<"+Placeholder+">>" {
			t.Errorf("%q: %q", key, got)
		}
	}
	for text, want := range map[string]string{
		"12": "[redacted]", `{"level":12}`: `{"level":[redacted]}`, "12, 12": "[redacted], [redacted]", "/12/": "/[redacted]/",
		"112": "112", "120": "120", "a12": "a12", "12é": "12é", "1212": "1212",
	} {
		if got := New("12").Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if got := New("12345678").Text("a123456789"); got != "a[redacted]9" {
		t.Errorf("eight bytes: %q", got)
	}
}

func TestKeyWithinAnotherIsReplacedWithIt(t *testing.T) {
	if got, want := New("race-one", "race-one-horse", "", "one-horse").Text("race-one-horse race-one one-horse"), "[redacted] [redacted] [redacted]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTextWithoutAKeyStaysAsItIs(t *testing.T) {
	keys := New(key, `us"er`, "ab-12", "")
	for _, text := range []string{"", "app-Key/91+d7=e", "a line\nand\ta tab, 100 % \\ & ~ +", `{"message":"café \u0001 \\"}`, "\xff\xfe\x00", key[1:], strings.ToUpper(key)} {
		if got := keys.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestAndKeepsWhatItIsCalledOn(t *testing.T) {
	one := New("the-first")
	two := one.And("", "the-second")
	if got := one.Text("the-first the-second") + two.Text(" the-first the-second"); got != "[redacted] the-second [redacted] [redacted]" {
		t.Error(got)
	}
}

// The end of a text that was cut is left out, as it may be the beginning of a key.
func TestTextThatIsCutShowsNoBeginningOfAKey(t *testing.T) {
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

func TestHeaderIsCopiedWithoutTheKeys(t *testing.T) {
	in := http.Header{"X-Echo": {"a " + key, "b"}, key: {"1"}, "Empty": nil}
	want := http.Header{"X-Echo": {"a [redacted]", "b"}, Placeholder: {"1"}, "Empty": nil}
	if diff := cmp.Diff(want, New(key).Header(in)); diff != "" {
		t.Error(diff)
	}
	if in.Get("X-Echo") != "a "+key {
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

func TestErrorIsReplacedOnlyIfItShowsAKey(t *testing.T) {
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
		if text := fmt.Sprintf("%v %+v %#v", got, got, got); isQuiet || isOuter || errors.Unwrap(got) != nil || keys.Text(text) != text {
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
		if len(key) < minInWord || !utf8.ValidString(key) || err != nil || strings.ContainsAny(before+Placeholder, key) {
			t.Skip()
		}
		for _, form := range []string{key, string(quoted[1 : len(quoted)-1]), url.QueryEscape(key), url.PathEscape(key)} {
			if got := New(key).Text(before + form); got != before+Placeholder {
				t.Errorf("%q became %q", before+form, got)
			}
		}
	})
}
