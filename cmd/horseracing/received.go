package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync/atomic"
	"unicode/utf8"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/connection"
)

// receiver keeps the body of the last response. CaptureResponse is not used, because it
// replaces keys inside numbers too, and the body may then not be JSON.
type receiver struct{ last atomic.Pointer[bytes.Buffer] }

// wrap is a wrapper of the client's transport.
func (r *receiver) wrap(next http.RoundTripper) http.RoundTripper {
	return connection.RoundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil {
			body := new(bytes.Buffer)
			r.last.Store(body)
			resp.Body = struct {
				io.Reader
				io.Closer
			}{io.TeeReader(resp.Body, body), resp.Body}
		}
		return resp, err
	})
}

// body returns the body of the last response, once its call has returned.
func (r *receiver) body() []byte {
	if last := r.last.Load(); last != nil {
		return bytes.TrimPrefix(last.Bytes(), byteOrderMark)
	}
	return nil
}

// identityOf returns what distinguishes an entry from the others of a list of such values. Numbers
// may be written differently.
func identityOf(entry []byte, value any) string {
	var e struct {
		ID     string             `json:"_id"`
		Race   horseracing.BigInt `json:"main_race_id"`
		Number horseracing.BigInt `json:"number"`
		Start  horseracing.BigInt `json:"start_time"`
		Fee    horseracing.BigInt `json:"entry_fee"`
	}
	_ = json.Unmarshal(entry, &e) // what can be read is enough
	switch value.(type) {
	case *horseracing.Race:
		return fmt.Sprint(e.Race, e.Start, e.Fee)
	case *horseracing.Tournament:
		return e.ID
	}
	return e.Number.String()
}

// receivedEntries returns values that were read from the last response, in its order, with their JSON.
func receivedEntries[T any](p *program, values []T) []horseracing.Entry[T] {
	entries, body := withoutJSON(values), p.received.body()
	var all []json.RawMessage
	if json.Unmarshal(body, &all) != nil {
		all = []json.RawMessage{body} // one by its id
	}
	for i := range entries {
		text, _ := lineOf(entries[i].Value) // it was read from JSON
		id := identityOf(text, entries[i].Value)
		for n, received := range all {
			if identityOf(received, entries[i].Value) == id {
				entries[i].JSON, all = received, all[n+1:]
				break
			}
		}
	}
	return entries
}

// withoutJSON returns values that are printed as they are.
func withoutJSON[T any](values []T) []horseracing.Entry[T] {
	entries := make([]horseracing.Entry[T], len(values))
	for i := range values {
		entries[i].Value = &values[i]
	}
	return entries
}

// jsonOf returns what is printed of an entry: what was received, if that is known.
func jsonOf[T any](e horseracing.Entry[T]) any {
	if json.Valid(e.JSON) {
		return e.JSON
	}
	return e.Value
}

// scalars are the strings, names and numbers of valid JSON.
var scalars = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[-0-9][-+.0-9eE]*`)

// line returns a value as a line of JSON. What was received stays as it is, except that keys in
// names and strings are redacted, integers with an exponent get all their digits, and what is not
// UTF-8 is replaced: other programs could not read it.
func (p *program) line(value any) ([]byte, error) {
	text, err := lineOf(value)
	return scalars.ReplaceAllFunc(text, p.cleaned), err
}

// cleaned returns a string, a name or a number as it is printed.
func (p *program) cleaned(scalar []byte) []byte {
	var n horseracing.BigInt
	var text string
	switch {
	case scalar[0] != '"':
		if bytes.ContainsAny(scalar, "eE") && n.UnmarshalJSON(scalar) == nil {
			return []byte(n.String())
		}
	case json.Unmarshal(scalar, &text) == nil: // it replaces what is not UTF-8
		if clean := p.redacted(text); clean != text || !utf8.Valid(scalar) {
			scalar, _ = lineOf(clean)
		}
	}
	return bytes.TrimSuffix(scalar, []byte("\n"))
}

// redacted returns a text without keys.
func (p *program) redacted(text string) string {
	if p.keys == nil {
		return text
	}
	return p.keys.Text(text)
}
