package horseracing

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
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
	start, end int64        // of its JSON in the body, with the comma and the white space before it
}

const (
	maxUnreadable = 100 // entries with an error in a list, and errors that are joined
	typicalEntry  = 640 // bytes
)

// decode reads the list as a whole, which is fast, or else entry by entry. If some
// entries are unreadable, it returns the error of unreadable.
func (l *list[T]) decode(op operation, r *transport.Record) error {
	l.record = r
	kind := jsontext.Value(r.Body).Kind()
	if r.Status == http.StatusNoContent || isNothing(r.Body) {
		return nil
	}
	if kind == jsontext.KindBeginObject && op.objectOrArray {
		l.entries = make([]entry[T], 1)
		return decodeObject(&l.entries[0].value, &l.wrong)(r)
	}
	if kind != jsontext.KindBeginArray {
		return newDecodeError(r, read(r.Body, new([]T), lenientUTF8))
	}
	if isTooDense(r.Body) {
		return newDecodeError(r, errTooDense(r.Body))
	}
	l.entries = make([]entry[T], 0, len(r.Body)/typicalEntry)
	err := unmarshal(r.Body, &l.entries)
	if errors.Is(err, errManyEntries) {
		return newDecodeError(r, errTooDense(r.Body))
	}
	if err != nil {
		return l.decodeEach(op)
	}
	return nil
}

var (
	errEmptyEntry  = errors.New("the entry is null or has none of the documented members")
	errManyEntries = errors.New("too many entries")
)

// roomy is an entry that is decoded faster into slices with spare capacity.
type roomy interface {
	makeRoom()
	dropRoom()
}

// UnmarshalJSONFrom decodes the value and notes where its JSON is.
func (e *entry[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	e.start = d.InputOffset()
	if _, n := d.StackIndex(1); areTooMany(n, e.start) {
		return errManyEntries
	}
	value, isRoomy := any(&e.value).(roomy)
	if isRoomy {
		value.makeRoom()
	}
	err := json.UnmarshalDecode(d, &e.value)
	if isRoomy {
		value.dropRoom()
	}
	e.end = d.InputOffset()
	if err == nil && e.isEmpty() {
		return errEmptyEntry
	}
	return err
}

// areTooMany reports whether n entries in that many bytes are smaller than documented ones.
func areTooMany(n, length int64) bool { return n > manyValues && length < n*minEntry }

func (e *entry[T]) isEmpty() bool { return reflect.ValueOf(&e.value).Elem().IsZero() }

// decodeEach decodes entry by entry.
func (l *list[T]) decodeEach(op operation) error {
	l.entries = l.entries[:0]
	body := l.record.Body
	if err := read(body, new(jsontext.Value), anySyntax); err != nil {
		return newDecodeError(l.record, err)
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(body), anySyntax)
	_, _ = d.ReadToken() // the opening bracket
	var members lenient
	for unreadable := 0; d.PeekKind() != jsontext.KindEndArray; {
		e := entry[T]{start: d.InputOffset()}
		if areTooMany(int64(len(l.entries)), e.start) {
			return newDecodeError(l.record, errTooDense(body))
		}
		element, _ := d.ReadValue()
		e.end = d.InputOffset()
		err := members.read(element, &e.value)
		if err == nil && e.isEmpty() {
			err = &readError{err: errEmptyEntry}
		}
		if err != nil && unreadable == maxUnreadable {
			l.dropped++
			continue
		}
		l.entries = append(l.entries, e)
		if err != nil {
			unreadable++
			l.fail(len(l.entries)-1, err)
		}
	}
	for _, path := range members.wrong {
		l.wrong = append(l.wrong, "[]."+path)
	}
	return l.unreadable(op)
}

// fail makes an entry unreadable.
func (l *list[T]) fail(i int, err *readError) {
	e, text := &l.entries[i], l.json(i)
	e.err = newEntryError(l.record, i, idOf(&e.value), text, e.end-int64(len(text)), err)
}

// json returns the JSON of an entry as received: a part of the body.
func (l *list[T]) json(i int) []byte {
	e := &l.entries[i]
	return bytes.TrimLeft(l.record.Body[e.start:e.end:e.end], ", \t\r\n")
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
