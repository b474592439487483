package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/horseracing-go/horseracing"
)

type (
	limit int // of a list, zero for the default
	level int
)

const usualLimit, maxLimit = 20, 100

type listArgs struct {
	Limit limit `json:"limit,omitempty" jsonschema:"the length of the list, at most 100; default 20"`
}

// schemaOf returns the schema of T. With bounds its numbers are at least 1 and below
// 2^53: beyond, readers of JSON round them, and would pay for another race.
func schemaOf[T any](bounds bool) *jsonschema.Schema {
	types := map[reflect.Type]*jsonschema.Schema{}
	for t, most := range map[reflect.Type]float64{
		reflect.TypeFor[limit](): maxLimit, reflect.TypeFor[level](): 1e6,
		reflect.TypeFor[horseracing.RaceID](): 1<<53 - 1, reflect.TypeFor[horseracing.HorseNumber](): 1<<53 - 1,
	} {
		if bounds {
			types[t] = &jsonschema.Schema{Type: "integer", Minimum: new(1.0), Maximum: &most}
		}
	}
	schema, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		panic(err) // of a type of this program
	}
	return schema
}

type list[T any] struct {
	Entries []T    `json:"entries"`
	LeftOut int    `json:"left_out,omitempty" jsonschema:"how many more there are: raise limit, or ask for fewer"`
	Cursor  string `json:"cursor,omitempty" jsonschema:"pass it to read on; absent at the end"`
	Note    string `json:"note,omitempty" jsonschema:"what could not be read"`
}

func (l list[T]) summary() string {
	text := fmt.Sprintf("%d entries", len(l.Entries))
	if l.LeftOut > 0 {
		text += fmt.Sprintf(", %d left out", l.LeftOut)
	}
	if l.Cursor != "" {
		text += ", more with the cursor"
	}
	if l.Note != "" {
		text += "; " + l.Note
	}
	return text
}

// listOf returns the views of the first entries. Unreadable entries are a note, not an
// error.
func listOf[T, V any](all []T, err error, in listArgs, view func(*T) V) (list[V], error) {
	var out list[V]
	if errors.Is(err, horseracing.ErrSkipped) {
		out.Note, err = fmt.Sprintf("some entries could not be read: %q", err), nil
	}
	out.LeftOut = max(0, len(all)-cmp.Or(int(in.Limit), usualLimit))
	out.Entries = []V{}
	for i := range all[:len(all)-out.LeftOut] {
		out.Entries = append(out.Entries, view(&all[i]))
	}
	return out, err
}

// takeFrom returns the views of the next entries of a pager, and a cursor to read on.
func takeFrom[T, V any](ctx context.Context, pager *horseracing.Pager[T], in listArgs, view func(*T) V) (list[V], error) {
	most := cmp.Or(int(in.Limit), usualLimit)
	all, failed := pager.Take(ctx, most)
	out, err := listOf(all, failed, in, view)
	if len(all) == most || failed != nil {
		out.Cursor = pager.Cursor().String()
	}
	return out, err
}
