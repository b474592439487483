// Package redact keeps keys out of what a caller, a log or a terminal sees:
// texts, headers and errors.
//
// A key is found as it is, without the white space and quotes around it, and escaped as in
// JSON, in a JSON pointer or in a URL. A key of fewer than eight bytes is not looked for
// inside words.
package redact

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Placeholder replaces a key.
const Placeholder = "[redacted]"

// Keys returns the texts to redact, the longest first. It is a function because
// fmt and log packages can print any field, even an unexported one, but no closure.
type Keys func() []string

// New returns the given keys without the empty ones.
func New(keys ...string) Keys { return Keys(func() []string { return nil }).And(keys...) }

// isSurrounding reports whether a character may be read together with a key, so that a
// service drops it.
func isSurrounding(r rune) bool {
	return unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf) || strings.ContainsRune("\"'`", r)
}

// And returns k with more keys. Empty ones are ignored.
func (k Keys) And(more ...string) Keys {
	all := slices.Clone(k())
	for _, key := range more {
		for _, key := range []string{key, strings.TrimFunc(key, isSurrounding)} {
			quoted, _ := json.Marshal(key) // a string can always be encoded
			forHTML := string(quoted[1 : len(quoted)-1])
			ascii := strconv.QuoteToASCII(key)
			for _, inJSON := range []string{forHTML, notForHTML.Replace(forHTML), ascii[1 : len(ascii)-1]} {
				all = append(all, inJSON, strings.ReplaceAll(inJSON, "/", `\/`)) // JSON allows both
			}
			all = append(all, key, Visible(key), url.QueryEscape(key), url.PathEscape(key), inPointer.Replace(key))
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	all = slices.Compact(all)
	if last := len(all) - 1; last >= 0 && all[last] == "" {
		all = all[:last]
	}
	return func() []string { return all }
}

// inPointer escapes a key as a JSON pointer to a member of that name does.
var inPointer = strings.NewReplacer("~", "~0", "/", "~1")

// notForHTML undoes what only some encoders of JSON escape.
var notForHTML = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// Text returns text with the keys replaced.
func (k Keys) Text(text string) string {
	for _, key := range k() {
		if len(key) >= minInWord {
			text = strings.ReplaceAll(text, key, Placeholder)
		} else {
			text = replaceWord(text, key)
		}
	}
	return text
}

// minInWord is the length, in bytes, from which on a key is found inside a word. A shorter
// one would be found in words that have nothing to do with it.
const minInWord = 8

// replaceWord replaces a key where it is neither preceded nor followed by a letter or a digit.
func replaceWord(text, key string) string {
	var out strings.Builder
	written := 0
	for at := 0; ; {
		found := strings.Index(text[at:], key)
		if found < 0 {
			return out.String() + text[written:]
		}
		at += found
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(key):])
		if isInWord(before) || isInWord(after) {
			at++
			continue
		}
		out.WriteString(text[written:at] + Placeholder)
		at += len(key)
		written = at
	}
}

func isInWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// Truncated returns Text of a text that was cut. Its end may be the beginning of a key, so
// as much as a key is long is left out.
func (k Keys) Truncated(text string) string {
	text = k.Text(text)
	if keys := k(); len(keys) > 0 {
		text = text[:max(0, len(text)-len(keys[0]))] // the longest
	}
	return text
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

// Error returns err if neither its text nor that of an error that it wraps contains a key.
// Otherwise it returns an error with the redacted text: errors.Is still finds what err wraps,
// but errors.As does not, because that would reveal the text.
func (k Keys) Error(err error) error {
	if !k.in(err) {
		return err
	}
	return &redactedError{text: k.Text(err.Error()), is: func(target error) bool { return errors.Is(err, target) }}
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
