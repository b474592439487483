package horseracing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/horseracing-go/horseracing/internal/redact"
)

// getOne calls an operation whose response is an object.
func getOne[T any](ctx context.Context, c *Client, op operation, opts []CallOption) (*T, error) {
	op.emptyIsNotFound = true
	var value T
	if _, err := c.call(ctx, op, &value, opts); err != nil {
		return nil, err
	}
	return &value, nil
}

// getList calls an operation whose response is an array. With an error it returns
// the entries that could be read.
func getList[T any](ctx context.Context, c *Client, op operation, opts []CallOption) ([]T, error) {
	var values []T
	_, err := c.call(ctx, op, &values, opts)
	return values, err
}

// getEntry calls an operation whose response is an array, for the entry with the
// operation's id: the only one, or of several the one with it.
func getEntry[T any](ctx context.Context, c *Client, op operation, opts []CallOption) (*T, error) {
	op.emptyIsNotFound = true
	var l list[T]
	entries, err := l.get(ctx, c, op, opts)
	if err != nil {
		return nil, err
	}
	var unreadable *DecodeError // of an entry that has the id, or may have it
	for _, e := range entries {
		switch {
		case e.err == nil && (len(entries) == 1 || idOf(e.value) == op.idText()):
			return e.value, nil
		case e.err != nil && (len(entries) == 1 || e.err.ID == "" || e.err.ID == op.idText()):
			unreadable = e.err
		}
	}
	if unreadable != nil {
		unreadable.ID, unreadable.entry = c.secrets.Text(op.idText()), false
		return nil, unreadable
	}
	return nil, c.notFound(op)
}

// listEntry is one entry of a response that is a list.
type listEntry[T any] struct {
	value *T              // nil if err is not
	json  json.RawMessage // as received, not redacted; set if list.withJSON is, or err is not nil
	err   *DecodeError
}

// list is a response that is a list.
type list[T any] struct {
	withJSON bool // before get: whether every entry is wanted with its JSON
	entries  []listEntry[T]
	header   http.Header
	body     []byte
}

// get calls an operation whose response is an array, and returns its entries, each
// with its value or its error.
func (l *list[T]) get(ctx context.Context, c *Client, op operation, opts []CallOption) ([]listEntry[T], error) {
	var values []T
	response, err := c.call(ctx, op, &values, opts)
	unreadable, isPart := errors.AsType[*unreadableEntries](err)
	switch {
	case isPart && unreadable.count > maxJoined: // there is no error for each of them
		first := unreadable.errs[0]
		return nil, op.undecodable(first.Field, first.Offset, fmt.Errorf("%d of %d entries: %w", unreadable.count, unreadable.total, first.Err))
	case err != nil && !isPart:
		return nil, err
	}
	l.header, l.body = response.Header, trimSpace(response.Body)
	var errs []*DecodeError
	if isPart {
		errs = unreadable.errs
	}
	l.entries = make([]listEntry[T], len(values)+len(errs))
	for i := range l.entries {
		e := &l.entries[i]
		if len(errs) > 0 && errs[0].index == i {
			e.err, errs = errs[0], errs[1:]
		} else {
			e.value, values = &values[0], values[1:]
		}
	}
	if isPart || l.withJSON {
		elements, _ := elementsOf(l.body)
		for i, element := range elements {
			if e := &l.entries[i]; l.withJSON || e.err != nil {
				e.json = json.RawMessage(element)
			}
		}
	}
	return l.entries, nil
}

// fail makes a readable entry unreadable because of a member's value.
func (l *list[T]) fail(c *Client, op operation, i int, member string, problem error) {
	e := &l.entries[i]
	e.err = op.undecodable("/"+strconv.Itoa(i)+member, 0, problem)
	elements, _ := elementsOf(l.body)
	e.json = json.RawMessage(elements[i])
	e.err.Raw, e.err.Offset = e.json, int64(bytes.Index(l.body, e.json))
	e.err.ID, e.err.index, e.err.entry = idOf(e.value), i, true
	e.value = nil
	redactDecodeErrors(e.err, c.secrets)
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
	first := strings.TrimSpace(u.errs[0].ID + u.errs[0].problem())
	return errorText(fmt.Sprintf("%s: cannot read %d of %d entries, the first of them %s", u.operation, u.count, u.total, first))
}

// Unwrap makes errors.As find the first *DecodeError.
func (u *unreadableEntries) Unwrap() []error {
	errs := make([]error, len(u.errs))
	for i, err := range u.errs {
		errs[i] = err
	}
	return errs
}

// idOf returns the id of an entry as text; empty if it has none.
func idOf(entry any) string {
	var id entryID
	switch e := entry.(type) {
	case *Race:
		id = e.MainRaceID
	case *Horse:
		id = e.Number
	case *BreedingListing:
		id = e.Number
	case *Tournament:
		id = e.ID
	}
	if id == nil || id.text() == "0" {
		return ""
	}
	return id.text()
}

// redactDecodeErrors redacts the errors of decoding.
func redactDecodeErrors(err error, keys redact.Keys) {
	switch e := err.(type) { //nolint:errorlint // as decoding made it
	case *unreadableEntries:
		for _, each := range e.errs {
			each.redact(keys)
		}
	case *DecodeError:
		e.redact(keys)
	}
}
