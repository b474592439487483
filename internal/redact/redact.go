// Package redact keeps keys out of what a caller, a log or a terminal sees:
// texts, headers and errors.
//
// White space and quotes around a key do not belong to it. A key is also found if its characters are
// escaped, each in its own way: as in JSON, in a JSON pointer, in a URL or in HTML. Not found are keys of
// fewer than eight bytes, keys with invisible characters between theirs, and keys in UTF-16.
package redact

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
)

// Placeholder replaces a key.
const Placeholder = "[redacted]"

// Keys returns the keys to redact. It is a function because fmt and log packages can
// print any field, even an unexported one, but no closure.
type Keys func() ([]secret, *pairs)

// pairs is the set of the two bytes with which a key can begin in a text. It is faster than the
// regular expressions, which are used only if both bytes match.
type pairs [1 << 10]uint64

func (p *pairs) has(a, b byte) bool { return p[uint(a)<<2|uint(b)>>6]&(1<<(b&63)) != 0 }

func (p *pairs) clone() *pairs { c := *p; return &c }

func (p *pairs) add(a, b byte) { p[uint(a)<<2|uint(b)>>6] |= 1 << (b & 63) }

// secret is a key, with the expression that matches it at the beginning of a text.
type secret struct {
	text    string
	begins  [2][]string // how its first two characters can be written
	pattern *regexp.Regexp
	longest int // bytes of its longest form
}

// New returns the given keys without those that are too short.
func New(keys ...string) Keys {
	return Keys(func() ([]secret, *pairs) { return nil, new(pairs) }).And(keys...)
}

// minKey is the length, in bytes, of the shortest key: a shorter one would be found in words that
// have nothing to do with it.
const minKey = 8

// And returns k with more keys.
func (k Keys) And(more ...string) Keys {
	all, begin := k()
	if len(more) == 0 {
		return k
	}
	all, begin = slices.Clone(all), begin.clone()
	for _, text := range more {
		text = strings.Trim(Visible(text), " \"'`")
		if len(text) >= minKey && !slices.ContainsFunc(all, func(other secret) bool { return other.text == text }) {
			all = append(all, newSecret(text, begin))
		}
	}
	return func() ([]secret, *pairs) { return all, begin }
}

// forms returns how a character can be written: as it is, or escaped as in JSON, a URL, HTML or a JSON pointer.
func forms(r rune) []string {
	plain, unit := string(r), utf16.AppendRune(nil, r)
	json, percent := "", ""
	for _, u := range unit {
		json += fmt.Sprintf(`\u%04x`, u)
	}
	for _, b := range []byte(plain) {
		percent += fmt.Sprintf("%%%02x", b)
	}
	all := []string{plain, `\` + plain, json, percent, url.QueryEscape(plain), html.EscapeString(plain), fmt.Sprintf("&#%d;", r), fmt.Sprintf("&#x%x;", r), fmt.Sprintf(`\U%08x`, r)}
	other := map[rune]string{'"': "&quot;", '\'': "&apos;", '~': "~0", '/': "~1"}
	if form, ok := other[r]; ok {
		all = append(all, form)
	}
	return all
}

func newSecret(text string, begin *pairs) secret {
	k, pattern := secret{text: text}, "^"
	for i, r := range []rune(text) {
		all := forms(r)
		if i < len(k.begins) {
			k.begins[i] = all
		}
		quoted, length := make([]string, len(all)), 0
		for j, form := range all {
			if quoted[j] = regexp.QuoteMeta(form); isEscape(form) {
				quoted[j] = "(?i:" + quoted[j] + ")"
			}
			length = max(length, len(form))
		}
		pattern, k.longest = pattern+"(?:"+strings.Join(quoted, "|")+")", k.longest+length
	}
	for _, first := range k.begins[0] {
		for _, second := range k.begins[1] {
			two := first + second
			begin.add(two[0], two[1])
			begin.add(two[0], strings.ToUpper(two[1:2])[0]) // \U, &#X
		}
	}
	k.pattern = regexp.MustCompile(pattern)
	k.pattern.Longest()
	return k
}

// isEscape reports whether the letters of a form may be large or small.
func isEscape(form string) bool { return len(form) > 2 && strings.IndexByte(`\%&`, form[0]) >= 0 }

// hasForm reports whether a text begins with a form.
func hasForm(text, form string) bool {
	return len(text) >= len(form) && form != "" && text[0] == form[0] &&
		(text[:len(form)] == form || isEscape(form) && text[1]|0x20 == form[1]|0x20 && strings.EqualFold(text[:len(form)], form))
}

// Text returns text with the keys replaced, and everything else as it is.
func (k Keys) Text(text string) string {
	if k == nil { // there are none
		return text
	}
	keys, begin := k()
	var out strings.Builder
	written := 0
	for at := 0; at < len(text)-1; at++ {
		if !begin.has(text[at], text[at+1]) {
			continue
		}
		for _, key := range keys {
			if n := len(key.pattern.FindString(text[at:min(len(text), at+key.longest)])); n > 0 {
				if written <= at { // they may overlap
					out.WriteString(text[written:at] + Placeholder)
				}
				written = max(written, at+n)
			}
		}
	}
	return out.String() + text[written:]
}

// Visible makes a text visible as the function [Visible] does, and redacts the keys in it.
func (k Keys) Visible(text string) string { return k.Text(Visible(text)) }

// Truncated returns Text of a text that was cut, without the end if that can be the beginning of a key.
func (k Keys) Truncated(text string) string {
	text = k.Text(text)
	keys, _ := k()
	for _, key := range keys {
		for at := max(0, len(text)-key.longest); at < len(text); at++ {
			if key.mayBegin(text[at:]) {
				text = text[:at]
			}
		}
	}
	return strings.TrimSuffix(text, Placeholder)
}

// mayBegin reports whether a text is the beginning of a key, as far as its first two characters show.
func (k *secret) mayBegin(text string) bool {
	return slices.ContainsFunc(k.begins[0], func(first string) bool {
		return hasForm(first, text) || hasForm(text, first) && slices.ContainsFunc(k.begins[1], func(second string) bool {
			rest := text[len(first):]
			return rest == "" || hasForm(second, rest) || hasForm(rest, second)
		})
	})
}

// Header returns a copy of the header with the keys redacted.
func (k Keys) Header(h http.Header) http.Header {
	out := make(http.Header, len(h))
	for name, values := range h.Clone() {
		for i, value := range values {
			values[i] = k.Text(value)
		}
		out[k.Text(name)] = values
	}
	return out
}

// Error returns err if neither its text nor that of an error that it wraps contains a key once it is visible.
// Otherwise it returns an error with the redacted text: errors.Is still finds what err wraps,
// but errors.As does not, because that would reveal the text.
func (k Keys) Error(err error) error {
	if !k.in(err) {
		return err
	}
	return &redactedError{text: k.Visible(err.Error()), is: func(target error) bool { return errors.Is(err, target) }}
}

// in reports whether an error or one that it wraps prints a key.
func (k Keys) in(err error) bool {
	if err == nil {
		return false
	}
	if text := Visible(fmt.Sprintf("%v %#v", err, err)); k.Text(text) != text {
		return true
	}
	switch err := err.(type) { //nolint:errorlint // one step of the chain at a time
	case interface{ Unwrap() error }:
		return k.in(err.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(err.Unwrap(), k.in)
	}
	return false
}

// redactedError has the redacted text of another error, and matches what that matches.
type redactedError struct {
	text string
	is   func(error) bool
}

func (e *redactedError) Error() string        { return e.text }
func (e *redactedError) Is(target error) bool { return e.is(target) }
