package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/connection"
)

// received returns the entries of a listing, with their JSON, and notes the time of the service.
func received[T any](ctx context.Context, p *program, list func(context.Context, ...horseracing.CallOption) ([]T, error)) ([]horseracing.Entry[T], error) {
	var response horseracing.Response
	p.unread = nil
	values, err := list(ctx, horseracing.CaptureResponse(&response))
	p.now = connection.ServiceTime(&response)
	return receivedEntries(p, values, response.Body), err
}

// getEach returns what get returns for each id. An id that is not found, or
// cannot be read, does not end it.
func getEach[ID, T any](ctx context.Context, p *program, ids []ID, get func(context.Context, ID, ...horseracing.CallOption) (*T, error)) (found []horseracing.Entry[T], failed error) {
	for _, id := range ids {
		entries, err := received(ctx, p, func(ctx context.Context, opts ...horseracing.CallOption) ([]T, error) {
			value, err := get(ctx, id, opts...)
			if err != nil {
				return nil, err
			}
			return []T{*value}, nil
		})
		found, failed = append(found, entries...), errors.Join(failed, err)
		_, isUnreadable := errors.AsType[*horseracing.DecodeError](err)
		if err != nil && !isUnreadable && !errors.Is(err, horseracing.ErrNotFound) {
			break
		}
	}
	return found, failed
}

// receivedEntries returns the values of a response with their JSON. Entries that could not be read
// are not among them. There is no JSON if the values do not match the response.
func receivedEntries[T any](p *program, values []T, body []byte) []horseracing.Entry[T] {
	entries := withoutJSON(values)
	var all, read []json.RawMessage
	if json.Unmarshal(body, &all) != nil {
		all = []json.RawMessage{body}
	}
	for i, entry := range all {
		if !slices.Contains(p.unread, strconv.Itoa(i)) && string(entry) != "null" {
			read = append(read, entry)
		}
	}
	for i := range entries {
		if len(read) == len(entries) {
			entries[i].JSON = read[i]
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
		if clean := p.keys.Text(text); clean != text || !utf8.Valid(scalar) {
			scalar, _ = lineOf(clean)
		}
	}
	return bytes.TrimSuffix(scalar, []byte("\n"))
}
