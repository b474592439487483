package horseracing

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/horseracing-go/horseracing/internal/transport"
)

// getOne calls an operation whose response is an object.
func getOne[T any](ctx context.Context, b *backend, op operation, opts []CallOption) (*T, error) {
	op.emptyIsNotFound = true
	var value T
	record, err := do(ctx, b, op, decodeObject(&value), opts)
	if err != nil {
		return nil, err
	}
	b.drifts.report(ctx, op, record, reflect.TypeFor[T]())
	return &value, nil
}

// getList calls an operation whose response is an array. With an error it returns
// the entries that could be read.
func getList[T any](ctx context.Context, b *backend, op operation, opts []CallOption) ([]T, error) {
	l, err := callList[T](ctx, b, op, opts)
	if l == nil {
		return nil, err
	}
	values := make([]T, 0, len(l.entries))
	for i := range l.entries {
		if e := &l.entries[i]; e.err == nil {
			values = append(values, e.value)
		}
	}
	return values, err
}

// getEntry calls an operation whose response is an array, and returns its only entry,
// or of several the one with the operation's id.
func getEntry[T any](ctx context.Context, b *backend, op operation, opts []CallOption) (*T, error) {
	op.emptyIsNotFound = true
	l, err := getEntries[T](ctx, b, op, opts)
	if err != nil {
		return nil, err
	}
	var unreadable *DecodeError // of an entry that has the id, or may have it
	isOnly := len(l.entries) == 1
	for i := range l.entries {
		switch e := &l.entries[i]; {
		case e.err == nil && (isOnly || idOf(&e.value) == op.idText()):
			return &e.value, nil
		case e.err != nil && (isOnly || e.err.ID == "" || e.err.ID == op.idText()):
			unreadable = e.err
		}
	}
	if unreadable != nil {
		return nil, unreadable.ofResponse(l.record.ID, unreadable.Raw, unreadable.Err)
	}
	return nil, notFound(l.record)
}

// getEntries calls an operation whose response is an array, and returns its entries,
// each with its value or its error.
func getEntries[T any](ctx context.Context, b *backend, op operation, opts []CallOption) (*list[T], error) {
	l, err := callList[T](ctx, b, op, opts)
	switch {
	case l == nil:
		return nil, err
	case l.dropped > 0:
		first, _ := errors.AsType[*DecodeError](err)
		cause := fmt.Errorf("%d of %d entries: %w", maxUnreadable+l.dropped, len(l.entries)+l.dropped, first.Err)
		return nil, first.ofResponse(l.record.ID, nil, cause)
	}
	return l, nil
}

// callList calls an operation whose response is an array. If it returns a list and an
// error, the error is that of the unreadable entries.
func callList[T any](ctx context.Context, b *backend, op operation, opts []CallOption) (*list[T], error) {
	l := new(list[T])
	record, err := do(ctx, b, op, func(r *transport.Record) error { return l.decode(op, r) }, opts)
	if _, isInPart := errors.AsType[*unreadableEntries](err); err != nil && !isInPart {
		return nil, err
	}
	b.drifts.report(ctx, op, record, reflect.TypeFor[T]())
	return l, err
}
