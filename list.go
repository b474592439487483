package horseracing

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/horseracing-go/horseracing/internal/transport"
)

// list is the response of an operation that returns an array. An entry that cannot be
// read does not affect the others.
type list[T any] struct {
	response *transport.Call
	entries  []listEntry[T]
	dropped  int // unreadable entries that are not in entries
}

// listEntry is one entry of a list.
type listEntry[T any] struct {
	value      T            // with an error, what can be read of it
	err        *DecodeError // why the entry is unreadable
	start, end int64        // of its JSON in the body, with the comma and the white space before it
}

const (
	maxUnreadable = 100 // entries with an error in a list, and errors that are joined
	typicalEntry  = 640 // bytes
)

// decode reads the list as a whole, which is fast, or else entry by entry. If some
// entries are unreadable, it returns the error of problem.
func (l *list[T]) decode(op operation, response *transport.Call) error {
	l.response = response
	body := response.Body
	switch kind := jsontext.Value(body).Kind(); {
	case kind == '{' && op.objectOrArray:
		l.entries = make([]listEntry[T], 1)
		return op.decodeObject(body, &l.entries[0].value)
	case kind != '[':
		if err := op.read(body, new([]T), lenientUTF8); err != nil {
			return err
		}
		return op.undecodable("", 0, errors.New("expected an array, got null"))
	}
	l.entries = make([]listEntry[T], 0, len(body)/typicalEntry)
	if unmarshal(body, &l.entries) != nil {
		return l.decodeEach(op)
	}
	return nil
}

// UnmarshalJSONFrom decodes the value and notes where its JSON is.
func (e *listEntry[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	e.start = d.InputOffset()
	var err error
	if race, ok := any(&e.value).(*Race); ok {
		err = decodeWithRoom(d, race)
	} else {
		err = json.UnmarshalDecode(d, &e.value)
	}
	e.end = d.InputOffset()
	if err == nil && e.isEmpty() {
		return errEmptyEntry
	}
	return err
}

// decodeWithRoom decodes a race into slices with spare capacity, which halves the
// allocations of a page.
func decodeWithRoom(d *jsontext.Decoder, r *Race) error {
	r.Participants, r.FinalOrder = make([]RaceParticipant, 0, 12), make([]int, 0, 12)
	r.Prizes, r.Winners = make([]Number, 0, 4), make([]int, 0, 4)
	err := json.UnmarshalDecode(d, r)
	r.Participants, r.FinalOrder = nilIfAbsent(r.Participants), nilIfAbsent(r.FinalOrder)
	r.Prizes, r.Winners = nilIfAbsent(r.Prizes), nilIfAbsent(r.Winners)
	return err
}

// nilIfAbsent returns nil for a slice that the decoder left as it was: it replaces
// the slice of an empty array.
func nilIfAbsent[T any](list []T) []T {
	if len(list) == 0 && cap(list) > 0 {
		return nil
	}
	return list
}

func (e *listEntry[T]) isEmpty() bool { return reflect.ValueOf(&e.value).Elem().IsZero() }

var errEmptyEntry = errors.New("the entry is null or has none of the documented members")

// decodeEach decodes entry by entry.
func (l *list[T]) decodeEach(op operation) error {
	l.entries = nil
	if err := op.read(l.response.Body, new(jsontext.Value), anySyntax); err != nil {
		return err
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(l.response.Body), anySyntax)
	_, _ = d.ReadToken() // the opening bracket
	for unreadable := 0; d.PeekKind() != ']'; {
		e := listEntry[T]{start: d.InputOffset()}
		element, _ := d.ReadValue()
		e.end = d.InputOffset()
		err := op.read(element, &e.value, tolerant)
		if err == nil && e.isEmpty() {
			err = op.undecodable("", 0, errEmptyEntry)
		}
		switch {
		case err == nil:
			l.entries = append(l.entries, e)
		case unreadable == maxUnreadable:
			l.dropped++
		default:
			unreadable++
			e.value = partOf[T](element)
			l.entries = append(l.entries, e)
			l.fail(len(l.entries)-1, err)
		}
	}
	return l.problem(op)
}

// fail makes an entry unreadable. The position in err is relative to the entry.
func (l *list[T]) fail(i int, err *DecodeError) {
	e := &l.entries[i]
	e.err, err.entry = err, true
	err.ID, err.Raw = idOf(&e.value), l.json(i)
	err.Field = "/" + strconv.Itoa(i) + err.Field
	err.Offset += e.end - int64(len(err.Raw))
	err.redact(l.response.Keys)
}

// json returns the JSON of an entry as received: a part of the body.
func (l *list[T]) json(i int) []byte {
	e := &l.entries[i]
	return bytes.TrimLeft(l.response.Body[e.start:e.end:e.end], ", \t\r\n")
}

// problem returns the error of the unreadable entries, or nil if there are none.
func (l *list[T]) problem(op operation) error {
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
		first := strings.TrimSpace(errs[0].ID + errs[0].problem())
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
