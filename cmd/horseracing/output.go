package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/horseracing-go/horseracing"
)

var errOutputClosed = errors.New("standard output is closed")

// output is standard output.
type output struct{ *os.File }

// Write returns errOutputClosed if nobody reads any more.
func (o output) Write(b []byte) (int, error) {
	n, err := o.File.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		err = errOutputClosed
	}
	return n, err
}

// layout is how values look in a table. Spaces after a title make its column wide
// enough for rows that are printed one by one.
type layout[T any] struct {
	titles []string
	cells  func(*T) []any
}

// table prints values: rows for people, or a line of JSON each, at once. Rows are
// printed by flush.
type table[T any] struct {
	p *program
	layout[T]
	rows    [][]string
	widths  []int
	started bool
}

func newTable[T any](p *program, l layout[T]) *table[T] { return &table[T]{p: p, layout: l} }

// printList prints a list that was returned with an error about the entries that
// it lacks.
func printList[T any](p *program, l layout[T], values []T, err error) error {
	if len(values) == 0 && err != nil {
		return err
	}
	t := newTable(p, l)
	for i := range values {
		if err := t.add(&values[i], &values[i]); err != nil {
			return err
		}
	}
	return errors.Join(t.flush(), err)
}

// getEach returns what get returns for each id. An id that is not found, or
// cannot be read, does not end it.
func getEach[ID, T any](ids []ID, get func(ID) (*T, error)) (found []T, failed error) {
	for _, id := range ids {
		value, err := get(id)
		_, unreadable := errors.AsType[*horseracing.DecodeError](err)
		failed = errors.Join(failed, err)
		switch {
		case err == nil:
			found = append(found, *value)
		case !unreadable && !errors.Is(err, horseracing.ErrNotFound):
			return found, failed
		}
	}
	return found, failed
}

// add prints line as JSON, or keeps the cells of value until flush.
func (t *table[T]) add(line any, value *T) error {
	if t.p.printsJSON() {
		return t.p.printJSON(line)
	}
	cells := t.cells(value)
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = printable(fmt.Sprint(cell))
	}
	t.rows = append(t.rows, row)
	return nil
}

// flush prints the rows that were added since the last flush.
func (t *table[T]) flush() error {
	if t.p.printsJSON() {
		return nil
	}
	if !t.started {
		t.started = true
		t.rows = append([][]string{t.titles}, t.rows...)
		t.widths = make([]int, len(t.titles))
	}
	for _, row := range t.rows {
		for i, cell := range row {
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%-*s  ", t.widths[i], cell)
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	t.rows = nil
	_, err := io.WriteString(t.p.stdout, text.String())
	return err
}
