// Package redact keeps keys out of what a caller, a log or a terminal sees:
// texts, headers and errors.
//
// A key that a text contains as it is, is replaced. A text that contains an escaped key is
// withheld as a whole: escaped once or twice, as in JSON, a URL or HTML. A key of fewer
// than six bytes is found only as it is.
package redact

import (
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	Placeholder = "[redacted]"                 // replaces a key
	Withheld    = "[withheld: it shows a key]" // replaces a text

	minKey    = 6 // bytes of a key that is found escaped
	minPrefix = 4 // bytes of a key's beginning that are found at a cut
)

// Keys returns the keys to redact, the longest first. It is a function because
// fmt and log packages can print any field, even an unexported one, but no closure.
type Keys func() []string

// New returns the given keys without the empty ones.
func New(keys ...string) Keys { return Keys(func() []string { return nil }).And(keys...) }

// And returns k with more keys. Empty ones are ignored.
func (k Keys) And(more ...string) Keys {
	all := slices.DeleteFunc(slices.Concat(k(), more), func(key string) bool { return key == "" })
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return func() []string { return all }
}

// Text returns text with the keys replaced, or [Withheld].
func (k Keys) Text(text string) string { return k.Beginning(text, math.MaxInt, false) }

// Beginning returns Text, cut to limit bytes. If the text was truncated before,
// it is withheld as well if it ends within a key.
func (k Keys) Beginning(text string, limit int, truncated bool) string {
	for _, key := range k() {
		text = strings.ReplaceAll(text, key, Placeholder)
	}
	shown := unescaped(strings.ReplaceAll(text, Placeholder, "\n"))
	if truncated {
		shown = append(shown, unescaped(withoutLastEscape(text))...)
	}
	for _, key := range k() {
		for _, key := range unescaped(key) {
			if len(key) >= minKey && slices.ContainsFunc(shown, func(text string) bool { return shows(text, key, truncated) }) {
				text = Withheld
			}
		}
	}
	return text[:min(len(text), limit)]
}

// shows reports whether text contains key or, if it is truncated, ends within it.
func shows(text, key string, truncated bool) bool {
	whole := withoutLastEscape(text)
	for n := minPrefix; n < len(key) && truncated; n++ {
		if strings.HasSuffix(text, key[:n]) || strings.HasSuffix(whole, key[:n]) {
			return true
		}
	}
	return strings.Contains(text, key)
}

// withoutLastEscape returns a text without the last escape, which may be incomplete, and
// what follows it.
func withoutLastEscape(text string) string {
	return strings.TrimRight(text[:max(0, strings.LastIndexAny(text, `\%&`))], `\%&`)
}

// unescaped returns a text as it is, without escapes, and without the escapes within
// these, such as JSON in a query.
func unescaped(text string) []string {
	all := []string{text}
	for range 2 {
		next := unescape(text)
		if next == text {
			break
		}
		all, text = append(all, next), next
	}
	return all
}

var inPointer = strings.NewReplacer("~1", "/", "~0", "~") // in a JSON pointer

// unescape undoes the escapes of HTML, JSON pointers, JSON, Go and URLs in a text.
func unescape(text string) string {
	text = inPointer.Replace(html.UnescapeString(text))
	out := make([]byte, 0, len(text))
	for i := strings.IndexAny(text, `\%`); i >= 0; i = strings.IndexAny(text, `\%`) {
		out = append(out, text[:i]...)
		char, rest := unescapeChar(text[i:])
		out = append(out, char...)
		text = rest
	}
	return string(out) + text
}

// unescapeChar returns the first character of a text that starts with a percent sign or a
// backslash, without its escape, and what follows it.
func unescapeChar(text string) (char, rest string) {
	if value, err := hex.DecodeString(text[1:min(3, len(text))]); text[0] == '%' && err == nil && len(value) == 1 {
		return string(value), text[3:]
	}
	value, isRune, rest, err := strconv.UnquoteChar(text, 0)
	switch {
	case err != nil && len(text) > 1 && strings.Contains(`/"'`, text[1:2]): // which strconv takes for no escapes
		return text[1:2], text[2:]
	case err != nil:
		return text[:1], text[1:]
	case isRune:
		return string(value), rest
	}
	return string([]byte{byte(value)}), rest
}

// Header returns a copy of the header with the keys redacted.
func (k Keys) Header(h http.Header) http.Header {
	out := make(http.Header, len(h))
	for name, values := range h {
		kept := make([]string, len(values))
		for i, value := range values {
			kept[i] = k.Text(value)
		}
		out[k.Text(name)] = kept
	}
	return out
}

// Error returns err itself, or an error with the keys redacted if err or an
// error that it wraps prints one. Then errors.Is still finds what err wraps, and
// errors.As does not, because it would reveal the text.
func (k Keys) Error(err error) error {
	if !k.in(err) {
		return err
	}
	return &redactedError{text: k.Text(err.Error()), is: func(target error) bool { return errors.Is(err, target) }}
}

// URLError returns the cause of a *url.Error, whose text repeats a URL that may hold
// keys, or any other error itself.
func URLError(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
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
