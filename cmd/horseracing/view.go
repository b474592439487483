package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/itchyny/gojq"
	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
)

// view is what the flags of a command select of its values.
type view[T any] struct {
	p *program
	layout[T]
	isChosen bool              // --columns
	isWhole  bool              // all rows are known when the first one is printed
	order    string            // --sort
	given    map[string]string // the filters, by their flags
	keeps    []func(*T) bool
}

// newView defines the flags of a command that prints a list. A filter gives way to a flag of
// the command with the same name.
func newView[T any](p *program, c *cobra.Command, l layout[T]) *view[T] {
	v, flags := &view[T]{p: p, layout: l, given: map[string]string{}}, c.Flags()
	flags.Func("sort", "sort by this `COLUMN`, the other way round with a - before it", func(text string) error {
		v.order = text
		_, err := l.field(strings.TrimPrefix(text, "-"))
		return err
	})
	flags.Func("columns", "print only these `COLUMNS`, separated by commas", func(text string) error {
		v.columns, v.isChosen = strings.Split(text, ","), true
		for _, name := range v.columns {
			if _, err := l.field(name); err != nil {
				return err
			}
		}
		return nil
	})
	flags.IntVarP(&p.limit, "limit", "n", 0, "print at most this `NUMBER` of entries; default all")
	flags.BoolVar(&p.asCSV, "csv", false, "print CSV, with amounts in units and in tokens")
	flags.Func("jq", "print what this jq `EXPRESSION` makes of each line of JSON", func(text string) error {
		query, err := gojq.Parse(text)
		if err == nil {
			p.jq, err = gojq.Compile(query)
		}
		return err
	})
	for _, f := range l.fields {
		if f.flag != "" && flags.Lookup(f.flag) == nil {
			flags.Func(f.flag, f.about, func(text string) error {
				keep, err := f.parse(text)
				v.given[f.flag] = text
				v.keeps = append(v.keeps, keep)
				return err
			})
		}
	}
	c.PreRunE = func(*cobra.Command, []string) error {
		if p.limit < 1 && flags.Changed("limit") {
			return usageError("-n must be at least 1")
		}
		return nil
	}
	completeView(c, l.names())
	return v
}

// isSelecting reports whether the flags select entries or columns.
func (v *view[T]) isSelecting() bool {
	return v.isChosen || v.order != "" || v.p.limit > 0 || v.p.asCSV
}

// fits reports whether a value passes the filters.
func (v *view[T]) fits(value *T) bool {
	return !slices.ContainsFunc(v.keeps, func(keep func(*T) bool) bool { return !keep(value) })
}

// selected returns the entries that the flags select, in their order.
func (v *view[T]) selected(entries []horseracing.Entry[T]) []horseracing.Entry[T] {
	entries = slices.DeleteFunc(entries, func(e horseracing.Entry[T]) bool { return !v.fits(e.Value) })
	if v.sorted(entries); v.p.limit > 0 {
		entries = entries[:min(v.p.limit, len(entries))]
	}
	return entries
}

// sorted sorts entries by --sort.
func (v *view[T]) sorted(entries []horseracing.Entry[T]) {
	name, isDown := strings.CutPrefix(v.order, "-")
	if f, err := v.field(name); err == nil {
		slices.SortStableFunc(entries, func(a, b horseracing.Entry[T]) int {
			if isDown {
				a, b = b, a
			}
			return compare(f.value(a.Value), f.value(b.Value))
		})
	}
}

// print prints the entries of a list that the flags select. The error is about entries that it
// lacks.
func (v *view[T]) print(entries []horseracing.Entry[T], err error) error {
	if len(entries) == 0 && err != nil {
		return err
	}
	s := newSheet(v)
	for _, e := range v.selected(entries) {
		if err := s.add(e); err != nil {
			return err
		}
	}
	s.remember()
	return errors.Join(s.flush(), err)
}

// printValues prints values that do not come from the service as they are.
func (v *view[T]) printValues(values []T, err error) error { return v.print(withoutJSON(values), err) }

// printList prints values of a command without flags for lists.
func printList[T any](p *program, l layout[T], values []T, err error) error {
	return (&view[T]{p: p, layout: l}).printValues(values, err)
}

// cell is a value of a line of CSV or JSON.
type cell struct {
	name  string
	value any
}

// cells returns the values of the columns, times as texts, and amounts in units and in tokens.
func (v *view[T]) cells(value *T) (all []cell) {
	for _, f := range v.shown() {
		c := cell{f.name(), f.value(value)}
		if at, isTime := c.value.(time.Time); isTime {
			c.value = instantOf(at, time.RFC3339)
		}
		all = append(all, c)
		if f.isAmount {
			all = append(all, cell{f.name() + "_tokens", f.text(value)})
		}
	}
	return all
}

// object returns cells as an object, in their order.
func object(cells []cell) (json.RawMessage, error) {
	var text bytes.Buffer
	separator := byte('{')
	for _, c := range cells {
		value, err := lineOf(c.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&text, "%c%q:%s", separator, c.name, bytes.TrimSpace(value))
		separator = ','
	}
	return append(text.Bytes(), '}'), nil
}

// applyJQ prints what --jq makes of a line of JSON: texts as they are, other values as JSON.
// Numbers keep their digits.
func (p *program) applyJQ(line []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	var input any
	if err := decoder.Decode(&input); err != nil {
		return err
	}
	for results := p.jq.Run(input); ; {
		result, isMore := results.Next()
		if !isMore {
			return nil
		}
		text, isText := result.(string)
		if err, isError := result.(error); isError {
			if halt, isHalt := errors.AsType[*gojq.HaltError](err); isHalt && halt.Value() == nil {
				return nil
			}
			return fmt.Errorf("--jq: %w", err)
		} else if !isText {
			value, err := gojq.Marshal(result)
			if err != nil {
				return err
			}
			text = string(value)
		}
		if err := p.write([]byte(text + "\n")); err != nil {
			return err
		}
	}
}
