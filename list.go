package horseracing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// list is the response of an operation that returns an array. An entry that cannot be
// read does not affect the others.
type list[T any] struct {
	*response
	entries []entry[T]
	members memberReader
}

// entry is one entry of a list.
type entry[T any] struct {
	value T            // with an error, what can be read of it
	err   *DecodeError // why the entry is unreadable
	json  []byte       // as received
}

// maxEntries bounds the memory that a list of tiny entries takes.
const maxEntries = 100_000

// decode reads the list entry by entry.
func (l *list[T]) decode(r *response) error {
	*l = list[T]{response: r, members: memberReader{decoding: r.decoding}}
	kind := jsontext.Value(r.body).Kind()
	switch {
	case r.status == http.StatusNoContent || isNothing(r.body):
		return nil
	case kind == jsontext.KindBeginObject && (r.op.objectOrArray || r.op.id != nil):
		return l.decodeObject(r)
	case kind != jsontext.KindBeginArray:
		return r.decodeError(read(r.body, new([]T), lenientUTF8))
	}
	var elements elements
	if err := json.Unmarshal(r.body, &elements, anySyntax); err != nil {
		return r.decodeError(newReadError(err))
	}
	if len(elements) > maxEntries {
		return r.decodeError(&readError{err: fmt.Errorf("a list of more than %d entries", maxEntries)})
	}
	l.entries, l.members.prefix = make([]entry[T], len(elements)), "[]."
	for i, element := range elements {
		l.entries[i].json = element
		err := l.members.read(element, &l.entries[i].value)
		if err == nil && r.op.problemOf != nil {
			err = r.op.problemOf(&l.entries[i].value)
		}
		if err != nil {
			l.fail(i, err)
		}
	}
	return nil
}

// decodeObject reads an object in place of an array. If no id was requested, an entry without an
// id may be anything, such as the object of an error. A catalogue has no id, and may be empty.
func (l *list[T]) decodeObject(r *response) error {
	l.entries = make([]entry[T], 1)
	value := &l.entries[0].value
	err := l.members.read(r.body, value)
	switch _, hasID := any(value).(interface{ id() pathID }); {
	case hasID && r.op.id == nil && idOf(value) == "":
		err = cmp.Or(err, &readError{err: errors.New("an object without an id does not fit a list")})
	case !hasID && err == errEmpty && json.Unmarshal(r.body, value, knownMembers) == nil:
		err = nil
	}
	if err != nil {
		return r.decodeError(err)
	}
	return nil
}

// isNothing reports whether a body is null or an empty array.
func isNothing(body []byte) bool {
	body = bytes.Trim(body, space)
	inside, isArray := bytes.CutPrefix(body, []byte("["))
	return string(body) == "null" || isArray && string(bytes.TrimLeft(inside, space)) == "]"
}

// elements are the elements of a list, or as many of them as show that there are too many.
type elements []jsontext.Value

// UnmarshalJSONFrom reads the elements of an array.
func (e *elements) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() != jsontext.KindEndArray {
		var element jsontext.Value
		if element, err = d.ReadValue(); len(*e) <= maxEntries {
			*e = append(*e, element.Clone())
		}
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	return err
}

// fail makes an entry unreadable.
func (l *list[T]) fail(i int, err *readError) {
	e := &l.entries[i]
	e.err = l.entryError(i, idOf(&e.value), e.json, err)
}

// getEntries calls an operation whose response is an array, and returns its entries,
// each with its value or its error.
func getEntries[T any](ctx context.Context, b *backend, op operation, opts []CallOption) (*list[T], error) {
	l := new(list[T])
	if err := b.do(ctx, op, l, opts); err != nil {
		return nil, err
	}
	if len(l.members.drift) > 0 {
		b.drifts.report(ctx, l.response, l.members.drift)
	}
	return l, nil
}

// getList calls an operation whose response is an array. The error of an entry goes to the
// skip handler, or without one ends the call.
func getList[T any](ctx context.Context, b *backend, op operation, opts []CallOption) ([]T, error) {
	l, err := getEntries[T](ctx, b, op, opts)
	if err != nil {
		return nil, err
	}
	values := make([]T, 0, len(l.entries))
	for i := range l.entries {
		if e := &l.entries[i]; e.err == nil {
			values = append(values, e.value)
		} else if !b.skip(ctx, e.err) {
			return nil, e.err
		}
	}
	return values, nil
}

// skip passes an error to the skip handler, and reports whether there is one.
func (b *backend) skip(ctx context.Context, err error) bool {
	if b.onSkip == nil {
		return false
	}
	b.onSkip(ctx, err)
	return true
}

// getEntry calls an operation whose response is an entry or an array, and returns the entry
// with the operation's id. A single entry without an id is accepted. Of several with the id it
// returns the one with the highest fee, because any of them may be charged.
func getEntry[T any](ctx context.Context, b *backend, op operation, opts []CallOption) (*T, error) {
	l, err := getEntries[T](ctx, b, op, opts)
	if err != nil {
		return nil, err
	}
	if len(l.entries) == 0 {
		return nil, l.notFound()
	}
	var found *T
	id, other := op.idText(), "entries without an id"
	for i := range l.entries {
		e := &l.entries[i]
		switch key := idOf(&e.value); {
		case e.err != nil && (key == id || key == ""): // it may be the one
			return nil, e.err.ofResponse(l.info.ID)
		case key != id && (key != "" || len(l.entries) > 1):
			other = cmp.Or(key, other)
		case found == nil || feeOf(&e.value).Cmp(feeOf(found)) > 0:
			found = &e.value
		}
	}
	if found == nil {
		return nil, l.notRequested(other)
	}
	return found, nil
}
