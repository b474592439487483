package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/enter"
	"github.com/horseracing-go/horseracing/cmd/internal/units"
)

// field is a field of the values that a command prints. Its declaration serves the table,
// --columns, --csv, --sort, a filter, and completion.
type field[T any] struct {
	title    string          // of its column; its name comes from it
	width    int             // at least, for rows that are printed one by one
	isAmount bool            // a horseracing.BigInt in units, which is shown in tokens
	isNumber bool            // aligned to the right, and never cut
	isFull   bool            // a text that is cut only if it is very long
	value    func(*T) any    // an int64, a string, a time.Time, or a horseracing.BigInt in units
	text     func(*T) string // in a table

	// The flag that filters by the field, if there is one.
	flag, about string
	parse       func(text string) (func(*T) bool, error)
}

// name returns the name of a field: fee, if the title is FEE (TOKENS).
func (f field[T]) name() string {
	title, _, _ := strings.Cut(f.title, " (")
	return strings.ReplaceAll(strings.ToLower(title), " ", "_")
}

// wide sets the least width of the column.
func (f field[T]) wide(width int) field[T] {
	f.width = width
	return f
}

// toTheRight aligns texts like numbers.
func (f field[T]) toTheRight() field[T] {
	f.isNumber = true
	return f
}

// as sets what a table shows.
func (f field[T]) as(text func(*T) string) field[T] {
	f.text = text
	return f
}

// filtered adds the flag that filters by the field: equal numbers, texts among several, amounts
// of at most so many tokens.
func (f field[T]) filtered(flag, about string) field[T] {
	f.flag, f.about = flag, about
	return f
}

// filteredBy adds a flag that takes a number.
func (f field[T]) filteredBy(flag, about string, fits func(*T, int) bool) field[T] {
	f.flag, f.about = flag, about
	f.parse = func(text string) (func(*T) bool, error) {
		n, err := wholeNumber(text)
		return func(v *T) bool { return n == 0 || fits(v, n) }, err
	}
	return f
}

func wholeNumber(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, errors.New("want a whole number")
	}
	return n, nil
}

func whole[T any, N ~int | ~int64](title string, value func(*T) N) field[T] {
	return field[T]{
		title: title, isNumber: true,
		value: func(v *T) any { return int64(value(v)) },
		text:  func(v *T) string { return strconv.FormatInt(int64(value(v)), 10) },
		parse: func(text string) (func(*T) bool, error) {
			n, err := wholeNumber(text)
			return func(v *T) bool { return value(v) == N(n) }, err
		},
	}
}

func words[T any, S ~string](title string, value func(*T) S) field[T] {
	return field[T]{
		title: title,
		value: func(v *T) any { return string(value(v)) },
		text:  func(v *T) string { return string(value(v)) },
		parse: func(text string) (func(*T) bool, error) {
			names := strings.Split(text, ",")
			for _, name := range names {
				if _, err := strconv.Atoi(strings.TrimSpace(name)); err == nil || strings.TrimSpace(name) == "" {
					return nil, errors.New("want names, like Omega,Beta")
				}
			}
			return func(v *T) bool {
				return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(strings.TrimSpace(name), string(value(v))) })
			}, nil
		},
	}
}

func moment[T any](title string, value func(*T) time.Time) field[T] {
	return field[T]{title: title, value: func(v *T) any { return value(v) }, text: func(v *T) string { return minute(value(v)) }}
}

func amount[T any](title string, value func(*T) horseracing.BigInt) field[T] {
	return field[T]{
		title: title, isAmount: true, isNumber: true,
		value: func(v *T) any { return value(v) },
		text:  func(v *T) string { return units.Format(value(v)) },
		parse: func(text string) (func(*T) bool, error) {
			var most *horseracing.BigInt
			err := enter.Tokens(&most)(text)
			return func(v *T) bool { return value(v).Cmp(*most) <= 0 }, err
		},
	}
}

// compare compares two values of one field.
func compare(a, b any) int {
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case time.Time:
		return a.Compare(b.(time.Time))
	case horseracing.BigInt:
		return a.Cmp(b.(horseracing.BigInt))
	}
	return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

// layout is the fields of a command, and which of them its table has.
type layout[T any] struct {
	fields  []field[T]
	columns []string // all if it is nil
}

func (l layout[T]) names() (names []string) {
	for _, f := range l.fields {
		names = append(names, f.name())
	}
	return names
}

// field returns the field of a name.
func (l layout[T]) field(name string) (field[T], error) {
	at := slices.Index(l.names(), strings.TrimSpace(name))
	if at < 0 {
		return field[T]{}, fmt.Errorf("there is no column %q, but there are %s", name, strings.Join(l.names(), ", "))
	}
	return l.fields[at], nil
}

// shown returns the fields of the table.
func (l layout[T]) shown() []field[T] {
	if l.columns == nil {
		return l.fields
	}
	var shown []field[T]
	for _, name := range l.columns {
		if f, err := l.field(name); err == nil {
			shown = append(shown, f)
		}
	}
	return shown
}

// minute writes an instant in UTC to the minute.
func minute(t time.Time) string { return instantOf(t, "2006-01-02 15:04") }

// instantOf writes an instant in UTC, or nothing of the zero time.
func instantOf(t time.Time, layout string) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(layout)
}

// levels returns the levels that a race takes.
func levels(low, high int) string {
	switch {
	case low == 0 && high == 0:
		return "any"
	case high == 0:
		return fmt.Sprintf("%d and up", low)
	}
	return fmt.Sprintf("%d-%d", low, high)
}

// free writes how many places are free, of all.
func free(taken, all int) string { return fmt.Sprintf("%d/%d", max(0, all-taken), all) }

// closing writes the time of day of a deadline and how far away it is, rounded down. From
// two days on it has the date.
func closing(t, now time.Time) string {
	left, clock := t.Sub(now), t.UTC().Format("15:04")
	switch {
	case t.IsZero():
		return ""
	case left <= 0:
		return clock + ", closed"
	case left < time.Minute:
		return fmt.Sprintf("%s, in %ds", clock, left/time.Second)
	case left < time.Hour:
		return fmt.Sprintf("%s, in %dm", clock, left/time.Minute)
	case left < 48*time.Hour:
		return fmt.Sprintf("%s, in %dh%02dm", clock, left/time.Hour, left%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%s, in %dd", t.UTC().Format("01-02"), left/(24*time.Hour))
}
