package horseracing

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/horseracing-go/horseracing/internal/transport"
)

// list is the response of an operation that returns an array. An entry that cannot be
// read does not affect the others.
type list[T any] struct {
	record  *transport.Record
	entries []entry[T]
	members *memberReader
}

// String names the operation, with the id that was requested.
func (l *list[T]) String() string {
	return operationText(l.record.Method, l.record.Route, l.record.ID)
}

// entry is one entry of a list.
type entry[T any] struct {
	value T            // with an error, what can be read of it
	err   *DecodeError // why the entry is unreadable
	json  []byte       // as received: a part of the body
}

const (
	maxEntries   = 100_000
	typicalEntry = 640 // bytes
)

// decode reads the list entry by entry.
func (l *list[T]) decode(op operation, r *transport.Record) error {
	l.record = r
	switch kind := jsontext.Value(r.Body).Kind(); {
	case r.Status == http.StatusNoContent || isNothing(r.Body):
		return nil
	case kind == jsontext.KindBeginObject && (op.objectOrArray || op.id != nil):
		l.entries, l.members.prefix = make([]entry[T], 1), ""
		return decodeObject(&l.entries[0].value, l.members)(r)
	case kind != jsontext.KindBeginArray:
		return newDecodeError(r, read(r.Body, new([]T), lenientUTF8))
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(r.Body), anySyntax)
	_, _ = d.ReadToken() // the opening bracket
	l.entries = make([]entry[T], 0, len(r.Body)/typicalEntry)
	for d.PeekKind() != jsontext.KindEndArray {
		if len(l.entries) == maxEntries {
			return newDecodeError(r, &readError{err: fmt.Errorf("a list of more than %d entries", maxEntries)})
		}
		element, err := d.ReadValue()
		if err != nil {
			break
		}
		end := d.InputOffset()
		start := end - int64(len(element))
		l.entries = append(l.entries, entry[T]{json: r.Body[start:end:end]})
		last := len(l.entries) - 1
		if err := l.members.read(element, &l.entries[last].value); err != nil {
			l.fail(last, err)
		}
	}
	if rest := r.Body[d.InputOffset():]; string(trimSpace(rest)) != "]" {
		return newDecodeError(r, read(r.Body, new(jsontext.Value), anySyntax))
	}
	return nil
}

// fail makes an entry unreadable.
func (l *list[T]) fail(i int, err *readError) {
	e := &l.entries[i]
	e.err = newEntryError(l.record, i, idOf(&e.value), e.json, err)
}
