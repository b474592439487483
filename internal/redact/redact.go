// Package redact keeps keys out of what a caller, a log or a terminal sees:
// texts, headers and errors.
//
// A key that a text contains as it is, is replaced. A text that shows a key in another
// spelling is withheld as a whole: in another case, escaped, in UTF-16, or with
// characters between its letters. Only the ASCII letters and digits of a key are
// compared, and a key with fewer than six of them is found only as it is.
package redact

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const (
	Placeholder = "[redacted]"                 // replaces a key
	Withheld    = "[withheld: it shows a key]" // replaces a text

	minLetters = 6 // letters and digits of a key that is found in another spelling
	minPrefix  = 4 // letters and digits of a key's beginning that are found at a cut
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
	shown := readings(strings.ReplaceAll(text, Placeholder, ""))
	if truncated {
		escape := max(0, strings.LastIndexAny(text, `\%&`)) // may be cut as well
		shown = append(shown, readings(text[:escape])...)
	}
	for _, key := range k() {
		for _, key := range readings(key) {
			if len(key) >= minLetters && slices.ContainsFunc(shown, func(text string) bool { return shows(text, key, truncated) }) {
				text = Withheld
			}
		}
	}
	return text[:min(len(text), limit)]
}

// shows reports whether text contains key or, if it is truncated, ends within it.
func shows(text, key string, truncated bool) bool {
	for n := minPrefix; n < len(key) && truncated; n++ {
		if strings.HasSuffix(text, key[:n]) {
			return true
		}
	}
	return strings.Contains(text, key)
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
	return &redactedError{k.Text(err.Error()), func(target error) bool { return errors.Is(err, target) }}
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
