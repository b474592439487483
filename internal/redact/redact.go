// Package redact removes keys from what a caller, a log or a terminal may see:
// texts, headers and errors.
//
// A key is found in any case, with characters between its letters that do not
// show, in the escapes of JSON, Go, URLs, JSON pointers and HTML, and in UTF-16,
// UTF-32 and Latin-1. Whatever drops characters, decodes or cuts a text does so
// after [Keys.Text], or leaves the cut to [Keys.Beginning].
package redact

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// Placeholder stands where a key stood.
const Placeholder = "[redacted]"

// Keys returns the keys to redact. It is a function because fmt and log
// packages can print any field, even an unexported one, but no closure.
type Keys func() []string

// New returns the given keys without the empty ones.
func New(keys ...string) Keys { return Keys(func() []string { return nil }).And(keys...) }

// And returns k with more keys. Empty ones are ignored.
func (k Keys) And(more ...string) Keys {
	all := slices.DeleteFunc(slices.Clone(more), func(key string) bool { return key == "" })
	if len(all) == 0 {
		return k
	}
	all = append(all, k()...)
	return func() []string { return all }
}

// Text returns the text with the keys redacted. The rest is as it was.
func (k Keys) Text(text string) string {
	return k.text(text, false)
}

// Beginning returns at most limit bytes of the text, with the keys redacted.
// If it is cut, here or (truncated) before, the first part of a key at its end is
// removed.
func (k Keys) Beginning(text string, limit int, truncated bool) string {
	if len(text) > limit {
		text, truncated = text[:limit], true
	}
	text = k.text(text, truncated)
	return text[:min(len(text), limit)]
}

func (k Keys) text(text string, truncated bool) string {
	found, end := find(text, k(), truncated)
	if len(found) == 0 && end == len(text) {
		return text
	}
	var b strings.Builder
	copied := 0
	for _, s := range found {
		b.WriteString(text[copied:s.from])
		b.WriteString(Placeholder)
		copied = s.to
	}
	if copied < end {
		b.WriteString(text[copied:end])
	}
	return b.String()
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

// Error returns err itself, or, where its text or that of an error it wraps
// shows a key, an error with the keys redacted. Then errors.Is still finds what
// err wraps, and errors.As does not: it would reveal the text.
func (k Keys) Error(err error) error {
	if err == nil || !k.shows(err) {
		return err
	}
	return &redactedError{k.Text(err.Error()), func(target error) bool { return errors.Is(err, target) }}
}

// shows reports whether an error or one that it wraps prints a key.
func (k Keys) shows(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	if reflect.TypeOf(err).Kind() != reflect.Pointer { // with %#v, its fields show in every error that holds it
		text += "\n" + fmt.Sprintf("%#v", err)
	}
	if k.Text(text) != text {
		return true
	}
	switch err := err.(type) { //nolint:errorlint // one step of the chain at a time
	case interface{ Unwrap() error }:
		return k.shows(err.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(err.Unwrap(), k.shows)
	}
	return false
}

// redactedError has the text of another error, and is what that is.
type redactedError struct {
	text string
	is   func(error) bool
}

func (e *redactedError) Error() string        { return e.text }
func (e *redactedError) Is(target error) bool { return e.is(target) }
