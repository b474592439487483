package horseracing

import (
	"cmp"
	"context"
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
	members memberReader
}

// String names the operation, with the id that was requested.
func (l *list[T]) String() string {
	return operationText(l.record.Method, l.record.Route, l.record.ID)
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
func (l *list[T]) decode(op operation, r *transport.Record) error {
	l.record = r
	kind := jsontext.Value(r.Body).Kind()
	switch {
	case r.Status == http.StatusNoContent || isNothing(r.Body):
		return nil
	case kind == jsontext.KindBeginObject && (op.objectOrArray || op.id != nil):
		l.entries = make([]entry[T], 1)
		if err := l.members.read(r.Body, &l.entries[0].value); err != nil {
			return newDecodeError(r, err)
		}
		return nil
	case kind != jsontext.KindBeginArray:
		return newDecodeError(r, read(r.Body, new([]T), lenientUTF8))
	}
	var elements []jsontext.Value
	if err := read(r.Body, &elements, anySyntax); err != nil {
		return newDecodeError(r, err)
	}
	if len(elements) > maxEntries {
		return newDecodeError(r, &readError{err: fmt.Errorf("a list of more than %d entries", maxEntries)})
	}
	l.entries, l.members.prefix = make([]entry[T], len(elements)), "[]."
	for i, element := range elements {
		l.entries[i].json = element
		if err := l.members.read(element, &l.entries[i].value); err != nil {
			l.fail(i, err)
		}
	}
	return nil
}

// fail makes an entry unreadable.
func (l *list[T]) fail(i int, err *readError) {
	e := &l.entries[i]
	e.err = newEntryError(l.record, i, idOf(&e.value), e.json, err)
}

// getEntries calls an operation whose response is an array, and returns its entries,
// each with its value or its error.
func getEntries[T any](ctx context.Context, b *backend, op operation, opts []CallOption) (*list[T], error) {
	l := &list[T]{members: b.drifts.reader()}
	record, err := do(ctx, b, op, func(r *transport.Record) error { return l.decode(op, r) }, opts)
	if err != nil {
		return nil, err
	}
	b.drifts.report(ctx, record, l.members.drift)
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
		return nil, notFound(l.record)
	}
	var found *T
	id, other := op.idText(), "entries without an id"
	for i := range l.entries {
		e := &l.entries[i]
		switch key := idOf(&e.value); {
		case e.err != nil && (key == id || key == ""): // it may be the one
			return nil, e.err.ofResponse(l.record.ID)
		case key != id && (key != "" || len(l.entries) > 1):
			other = cmp.Or(key, other)
		case found == nil || feeOf(&e.value).Cmp(feeOf(found)) > 0:
			found = &e.value
		}
	}
	if found == nil {
		return nil, notRequested(l.record, other)
	}
	return found, nil
}

// feeOf returns the entry fee of a race or a tournament, and of another entry zero.
func feeOf(entry any) (fee BigInt) {
	if e, ok := entry.(interface{ fee() BigInt }); ok {
		fee = e.fee()
	}
	return fee
}
