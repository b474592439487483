package horseracing

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/horseracing-go/horseracing/internal/transport"
)

// list is the response of an operation that returns an array. An entry that cannot be
// read does not affect the others.
type list[T any] struct {
	record  *transport.Record
	entries []entry[T]
	dropped int      // unreadable entries that are not in entries
	wrong   []string // paths of members that do not fit their types
}

// entry is one entry of a list.
type entry[T any] struct {
	value      T            // with an error, what can be read of it
	err        *DecodeError // why the entry is unreadable
	start, end int64        // of its JSON in the body
}

const (
	maxUnreadable = 100 // entries with an error in a list, and errors that are joined
	typicalEntry  = 640 // bytes
)

// decode reads the list entry by entry. If some entries are unreadable, it returns the error
// of unreadable.
func (l *list[T]) decode(op operation, r *transport.Record) error {
	l.record = r
	kind := jsontext.Value(r.Body).Kind()
	switch {
	case r.Status == http.StatusNoContent || isNothing(r.Body):
		return nil
	case kind == jsontext.KindBeginObject && op.objectOrArray:
		l.entries = make([]entry[T], 1)
		return decodeObject(&l.entries[0].value, &l.wrong)(r)
	case kind != jsontext.KindBeginArray:
		return newDecodeError(r, read(r.Body, new([]T), lenientUTF8))
	case isTooDense(r.Body):
		return newDecodeError(r, errTooDense(r.Body))
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(r.Body), anySyntax)
	_, _ = d.ReadToken() // the opening bracket
	l.entries = make([]entry[T], 0, len(r.Body)/typicalEntry)
	var members lenient
	for unreadable := 0; d.PeekKind() != jsontext.KindEndArray; {
		if isTooMany(len(l.entries), d.InputOffset()) {
			return newDecodeError(r, errTooDense(r.Body))
		}
		element, err := d.ReadValue()
		if err != nil {
			break
		}
		end := d.InputOffset()
		l.entries = append(l.entries, entry[T]{start: end - int64(len(element)), end: end})
		last := len(l.entries) - 1
		switch problem := l.entries[last].decode(&members, element); {
		case problem == nil:
		case unreadable < maxUnreadable:
			unreadable++
			l.fail(last, problem)
		default:
			l.dropped++
			l.entries = l.entries[:last]
		}
	}
	if rest := r.Body[d.InputOffset():]; string(trimSpace(rest)) != "]" {
		return newDecodeError(r, read(r.Body, new(jsontext.Value), anySyntax))
	}
	for _, path := range members.wrong {
		l.wrong = append(l.wrong, "[]."+path)
	}
	return l.unreadable(op)
}

var errEmptyEntry = errors.New("the entry is null or has none of the documented members")

// roomy is an entry that is decoded faster into slices with spare capacity.
type roomy interface {
	preallocate()
	dropUnused()
}

// decode decodes the value from its JSON.
func (e *entry[T]) decode(members *lenient, element []byte) *readError {
	value, isRoomy := any(&e.value).(roomy)
	if isRoomy {
		value.preallocate()
	}
	err := members.read(element, &e.value)
	if isRoomy {
		value.dropUnused()
	}
	if err == nil && reflect.ValueOf(&e.value).Elem().IsZero() {
		err = &readError{err: errEmptyEntry}
	}
	return err
}

// isTooMany reports whether n entries in that many bytes are smaller than documented ones.
func isTooMany(n int, length int64) bool { return n > manyValues && length < int64(n)*minEntry }

// fail makes an entry unreadable.
func (l *list[T]) fail(i int, err *readError) {
	e := &l.entries[i]
	e.err = newEntryError(l.record, i, idOf(&e.value), l.json(i), e.start, err)
}

// json returns the JSON of an entry as received: a part of the body.
func (l *list[T]) json(i int) []byte {
	e := &l.entries[i]
	return l.record.Body[e.start:e.end:e.end]
}

// unreadable returns the error of the unreadable entries, or nil if there are none.
func (l *list[T]) unreadable(op operation) error {
	var errs []*DecodeError
	for i := range l.entries {
		if err := l.entries[i].err; err != nil {
			errs = append(errs, err)
		}
	}
	return unreadableError(op, errs, l.dropped, len(l.entries)+l.dropped)
}

// unreadableEntries is the error of some entries of a response. The others could be
// read.
type unreadableEntries struct {
	text string
	errs []error
}

// unreadableError returns the errors of entries as one error, or nil if there are none.
// Errors beyond errs were dropped.
func unreadableError(op operation, errs []*DecodeError, dropped, total int) error {
	if len(errs) == 0 {
		return nil
	}
	joined := &unreadableEntries{text: errs[0].Error()}
	if n := len(errs) + dropped; n > 1 {
		first := strings.TrimSpace(errs[0].ID + errs[0].position())
		joined.text = errorText(fmt.Sprintf("%v: cannot read %d of %d entries, the first of them %s", op, n, total, first))
	}
	for _, err := range errs[:min(len(errs), maxUnreadable)] {
		joined.errs = append(joined.errs, err)
	}
	return joined
}

func (u *unreadableEntries) Error() string { return u.text }

// Unwrap makes errors.As find the first *DecodeError.
func (u *unreadableEntries) Unwrap() []error { return u.errs }
