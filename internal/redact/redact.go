// Package redact keeps keys out of what a caller, a log or a terminal sees:
// texts, headers and errors.
//
// White space and quotes around a key do not belong to it. A key is also found if its
// characters are escaped, as in JSON, in a JSON pointer or in a URL, or if invisible
// characters are between them. A key of fewer than eight bytes is not looked for inside words.
package redact

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Placeholder replaces a key.
const Placeholder = "[redacted]"

// Keys returns the keys to redact. It is a function because fmt and log packages can print any
// field, even an unexported one, but no closure.
type Keys func() []string

// New returns the given keys without the empty ones.
func New(keys ...string) Keys { return Keys(func() []string { return nil }).And(keys...) }

// isSurrounding reports whether a character may be read together with a key, so that a
// service drops it.
func isSurrounding(r rune) bool { return shown(r) != r || strings.ContainsRune(" \"'`", r) }

// And returns k with more keys. Empty ones are ignored.
func (k Keys) And(more ...string) Keys {
	all := slices.Clone(k())
	for _, key := range more {
		if utf8.ValidString(key) {
			key = Visible(key)
		}
		all = append(all, key, strings.TrimFunc(key, isSurrounding))
	}
	slices.Sort(all)
	all = slices.DeleteFunc(slices.Compact(all), func(key string) bool { return key == "" })
	return func() []string { return all }
}

// Text returns text with the keys replaced, and everything else as it is.
func (k Keys) Text(text string) string { return k.replace(text, false) }

// Visible redacts the keys in text, and then makes it visible as the function [Visible] does.
func (k Keys) Visible(text string) string { return Visible(k.Text(text)) }

// Truncated returns Text of a text that was cut. A key at its end, or the beginning of one, is
// left out.
func (k Keys) Truncated(text string) string {
	return strings.TrimSuffix(k.replace(text, true), Placeholder)
}

func (k Keys) replace(text string, isCut bool) string {
	var found [][2]int
	for _, key := range k() {
		for _, first := range []byte{key[0], '\\', '%', '~'} {
			found = append(found, find(text, key, first, isCut)...)
		}
	}
	slices.SortFunc(found, func(a, b [2]int) int { return a[0] - b[0] })
	var out strings.Builder
	written := 0
	for _, f := range found { // they may overlap
		if written <= f[0] {
			out.WriteString(text[written:f[0]] + Placeholder)
		}
		written = max(written, f[1])
	}
	return out.String() + text[written:]
}

// find returns where a key begins and ends whose first character is written with that byte first.
func find(text, key string, first byte, isCut bool) (found [][2]int) {
	for at := 0; ; at++ {
		next := strings.IndexByte(text[at:], first)
		if next < 0 {
			return found
		}
		if at += next; isOther(text[at:], key) {
			continue
		}
		if end := match(key, text, at, isCut); end > 0 {
			found = append(found, [2]int{at, end})
		}
	}
}

// minInWord is the length, in bytes, from which on a key is found inside a word. A shorter
// one would be found in words that have nothing to do with it.
const minInWord = 8

// match returns where the key ends if it begins at that place of the text, or else 0. The end of
// a text that was cut can be any part of a key.
//
// It reads the key character by character, and keeps all places of the text where the next one
// may be. There can be several, because a backslash, for example, is itself or begins an escape.
func match(key, text string, at int, isCut bool) int {
	places, next := append(make([]int, 0, 4), at), make([]int, 0, 4)
	for i, want := range key {
		for n := 0; n < len(places); n++ {
			rest := text[places[n]:]
			plain, width := utf8.DecodeRuneInString(rest)
			escape := unescape(rest)
			if isCut && (!utf8.FullRuneInString(rest) || escape.length == 0 && mayBegin(rest)) {
				return len(text)
			}
			for _, r := range [...]reading{{plain, width}, escape} {
				place := places[n] + r.length
				if r.length > 0 && shown(r.char) == want {
					next = insert(next, place)
				}
				if i > 0 && shown(r.char) != r.char { // it does not show: the key may continue after it
					places = insert(places, place)
				}
			}
		}
		if len(next) == 0 {
			return 0
		}
		places, next = next, places[:0]
	}
	end := places[len(places)-1]
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[end:])
	if len(key) < minInWord && (isInWord(before) || isInWord(after)) {
		return 0
	}
	return end
}

// isOther reports without decoding that another character than the key's second follows its
// first.
func isOther(text, key string) bool {
	return len(text) > 1 && len(key) > 1 && text[0] == key[0] && text[1] != key[1] && isPlain(text[0]) && isPlain(text[1])
}

// isPlain reports whether a byte is a character that shows and begins no escape.
func isPlain(b byte) bool {
	return b < utf8.RuneSelf && shown(rune(b)) == rune(b) && strings.IndexByte(`\%~+`, b) < 0
}

// insert adds a place to sorted ones.
func insert(places []int, place int) []int {
	if i, found := slices.BinarySearch(places, place); !found {
		places = slices.Insert(places, i, place)
	}
	return places
}

func isInWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

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

// Error returns err if neither its text nor that of an error that it wraps contains a key.
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
	if text := fmt.Sprintf("%v %#v", err, err); k.Text(text) != text {
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
