package horseracing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/horseracing-go/horseracing/internal/redact"
)

// A list is read as a whole, which is fast. If that fails it is read again entry by
// entry, so that an unreadable entry does not cost the others.

// listEntry is one entry of a response that is a list.
type listEntry[T any] struct {
	value *T              // nil if err is not
	json  json.RawMessage // as received, not redacted; set if it was requested, or err is not nil
	err   *DecodeError
}

// getEntries calls an operation whose response is an array, and returns its
// entries, each with its value or its error.
func getEntries[T any](ctx context.Context, c *Client, op operation, opts []CallOption, withJSON bool) ([]listEntry[T], error) {
	l := list[T]{withJSON: withJSON}
	return l.get(ctx, c, op, opts)
}

func (l *list[T]) get(ctx context.Context, c *Client, op operation, opts []CallOption) ([]listEntry[T], error) {
	_, err := c.call(ctx, op, l, opts)
	if partly, ok := errors.AsType[*unreadableEntries](err); err != nil && (!ok || partly.count > len(partly.errs)) {
		return nil, err
	}
	if l.entries == nil {
		l.entries = make([]listEntry[T], len(l.values))
		for i := range l.values {
			l.entries[i].value = &l.values[i]
		}
	}
	return l.entries, nil
}

// fail makes a readable entry unreadable because of a member's value.
func (l *list[T]) fail(c *Client, op operation, i int, member string, problem error) {
	e := &l.entries[i]
	e.err = op.undecodable("/"+strconv.Itoa(i)+member, 0, problem)
	n := 0
	for offset, element := range elementsOf(l.body) {
		if n == i {
			e.json, e.err.Raw, e.err.Offset = element, element, int64(offset)
			break
		}
		n++
	}
	e.err.ID, e.err.entry = idOf(e.value), true
	e.value = nil
	redactDecodeErrors(e.err, c.secrets)
}

// getList calls an operation whose response is an array. With an error it returns
// the entries that could be read.
func getList[T any](ctx context.Context, c *Client, op operation, opts []CallOption) ([]T, error) {
	var l list[T]
	_, err := c.call(ctx, op, &l, opts)
	if _, partly := errors.AsType[*unreadableEntries](err); err != nil && !partly {
		return nil, err
	}
	return l.readable(), err
}

// getEntry calls an operation whose response is an array, for the entry with the
// operation's id: the only one, or of several the one with it. With an error it
// returns that entry with its own error, if there is one.
func getEntry[T any](ctx context.Context, c *Client, op operation, opts []CallOption) (listEntry[T], error) {
	op.emptyIsNotFound = true
	entries, err := getEntries[T](ctx, c, op, opts, false)
	if err != nil {
		return listEntry[T]{}, err
	}
	var unreadable listEntry[T] // that has the id, or may have it
	for _, e := range entries {
		switch {
		case e.err == nil && (len(entries) == 1 || idOf(e.value) == op.idText()):
			return e, nil
		case e.err != nil && (len(entries) == 1 || e.err.ID == "" || e.err.ID == op.idText()):
			unreadable = e
		}
	}
	if unreadable.err != nil {
		unreadable.err.ID, unreadable.err.entry = c.secrets.Text(op.idText()), false
		return unreadable, unreadable.err
	}
	return listEntry[T]{}, c.notFound(op)
}

// getOne calls an operation whose response is an object.
func getOne[T any](ctx context.Context, c *Client, op operation, opts []CallOption) (*T, error) {
	op.emptyIsNotFound = true
	var value T
	if _, err := c.call(ctx, op, &value, opts); err != nil {
		return nil, err
	}
	return &value, nil
}

// list reads a response body that is an array.
type list[T any] struct {
	withJSON bool
	body     []byte
	values   []T
	entries  []listEntry[T] // nil: every value was read, and no JSON was requested
}

// lister is a *list of any type.
type lister interface {
	decode(op operation, body []byte) error
	elem() reflect.Type
}

func (l *list[T]) elem() reflect.Type { return reflect.TypeFor[T]() }

// typeOf returns the type that a response is compared with.
func typeOf(out any) reflect.Type {
	if l, ok := out.(lister); ok {
		return l.elem()
	}
	return reflect.TypeOf(out)
}

// decode reads a response body. Its error is an *unreadableEntries where the
// other entries could be read.
func (l *list[T]) decode(op operation, body []byte) error {
	l.body = body
	isObject := op.objectOrArray && body[0] == '{'
	var whole error
	switch {
	case isObject:
		l.values = make([]T, 1)
		whole = unmarshal(body, &l.values[0])
	case body[0] == '[':
		whole = unmarshalRoomy(body, &l.values)
	default:
		return op.wrongShape('[', body)
	}
	if whole == nil && !l.withJSON && !hasEmpty(l.values) {
		return nil
	}
	if err := checkSyntax(body); err != nil {
		return op.explain(err, body)
	}
	unreadable := &unreadableEntries{operation: op.String()}
	for offset, element := range elementsOf(body) {
		i := len(l.entries)
		e := listEntry[T]{json: element}
		if whole == nil {
			e.value = &l.values[i]
		} else {
			e.value = new(T)
			e.err = op.reread(element, e.value)
		}
		if e.err == nil && reflect.ValueOf(e.value).Elem().IsZero() {
			// null decodes to a zero entry without an error
			e.err = op.undecodable("", 0, errors.New("the entry is null or has none of the documented members"))
		}
		if e.err != nil {
			e.value = nil
			e.err.Offset += int64(offset)
			if !isObject {
				e.err.Field = "/" + strconv.Itoa(i) + e.err.Field
			}
			e.err.ID = idOf(partOf[T](element, idMembers...))
			e.err.Raw, e.err.entry = e.json, true
			unreadable.add(e.err)
		}
		l.entries = append(l.entries, e)
	}
	if unreadable.total = len(l.entries); unreadable.count > 0 {
		return unreadable
	}
	return nil
}

// readable returns the values of the entries that have one.
func (l *list[T]) readable() []T {
	if l.entries == nil {
		return l.values
	}
	values := make([]T, 0, len(l.entries))
	for _, e := range l.entries {
		if e.err == nil {
			values = append(values, *e.value)
		}
	}
	return values
}

func hasEmpty[T any](values []T) bool {
	v := reflect.ValueOf(values)
	for i := range v.Len() {
		if v.Index(i).IsZero() {
			return true
		}
	}
	return false
}

// idMembers are the members that may hold an entry's id.
var idMembers = []string{"main_race_id", "_id", "number"}

// idOf returns the id of an entry as text; empty: it has none.
func idOf(entry any) string {
	var number int64
	switch e := entry.(type) {
	case *Race:
		number = int64(e.MainRaceID)
	case *Horse:
		number = int64(e.Number)
	case *BreedingListing:
		number = int64(e.Number)
	case *Tournament:
		return string(e.ID)
	}
	if number == 0 {
		return ""
	}
	return strconv.FormatInt(number, 10)
}

// maxJoined bounds how many errors of one list are kept.
const maxJoined = 100

// unreadableEntries are the errors of a list of which the rest could be read.
type unreadableEntries struct {
	operation string
	errs      []*DecodeError // at most maxJoined
	count     int            // how many there are
	total     int            // entries, readable ones included
}

func (u *unreadableEntries) add(err *DecodeError) {
	if u.count++; u.count <= maxJoined {
		u.errs = append(u.errs, err)
	}
}

func (u *unreadableEntries) Error() string {
	if u.count == 1 {
		return u.errs[0].Error()
	}
	return errorText(fmt.Sprintf("%s: cannot read %d of %d entries, the first of them %s", u.operation, u.count, u.total, u.errs[0].problem()))
}

// Unwrap makes errors.As find the first *DecodeError.
func (u *unreadableEntries) Unwrap() []error {
	errs := make([]error, len(u.errs))
	for i, err := range u.errs {
		errs[i] = err
	}
	return errs
}

// redactDecodeErrors redacts the errors of decoding.
func redactDecodeErrors(err error, keys redact.Keys) {
	var errs []*DecodeError
	if u, ok := errors.AsType[*unreadableEntries](err); ok {
		errs = u.errs
	} else if d, ok := errors.AsType[*DecodeError](err); ok {
		errs = []*DecodeError{d}
	}
	for _, d := range errs {
		d.Err, d.Field, d.ID = keys.Error(d.Err), keys.Text(d.Field), keys.Text(d.ID)
		raw := []byte(nil)
		if len(d.Raw) > 0 && len(d.Raw) <= maxErrorBody {
			raw = []byte(keys.Text(string(d.Raw)))
		}
		if len(raw) > maxErrorBody || !json.Valid(raw) {
			raw = nil
		}
		d.Raw = raw
	}
}
