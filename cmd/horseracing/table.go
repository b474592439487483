package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/redact"
)

// longest is the width at which a text in a table is cut: names are chosen by players.
const longest = 40

// column is a column of a table. A table that is too wide is cut at its right side, so the
// columns that one decides by come first.
type column struct {
	title    string
	width    int  // at least, for rows that are printed one by one
	isNumber bool // aligned to the right, and never cut
}

// layout is how values look in a table.
type layout[T any] struct {
	columns []column
	cells   func(*T) []any
}

// sheet prints values: rows for people, or a line of JSON each, at once. Rows are
// printed by flush.
type sheet[T any] struct {
	p *program
	layout[T]
	rows   []table.Row // of strings
	widths []int       // of the columns, or nil before the first flush
}

func newSheet[T any](p *program, l layout[T]) *sheet[T] { return &sheet[T]{p: p, layout: l} }

// printList prints values that do not come from the service as they are.
func printList[T any](p *program, l layout[T], values []T, err error) error {
	return printEntries(p, l, withoutJSON(values), err)
}

// printEntries prints a list that was returned with an error about the entries that
// it lacks.
func printEntries[T any](p *program, l layout[T], entries []horseracing.Entry[T], err error) error {
	if len(entries) == 0 && err != nil {
		return err
	}
	s := newSheet(p, l)
	for _, e := range entries {
		if err := s.add(jsonOf(e), e.Value); err != nil {
			return err
		}
	}
	return errors.Join(s.flush(), err)
}

// getEach returns what get returns for each id. An id that is not found, or
// cannot be read, does not end it.
func getEach[ID, T any](p *program, ids []ID, get func(ID) (*T, error)) (found []horseracing.Entry[T], failed error) {
	for _, id := range ids {
		value, err := get(id)
		_, unreadable := errors.AsType[*horseracing.DecodeError](err)
		failed = errors.Join(failed, err)
		switch {
		case err == nil:
			found = append(found, receivedEntries(p, []T{*value})...)
		case !unreadable && !errors.Is(err, horseracing.ErrNotFound):
			return found, failed
		}
	}
	return found, failed
}

// add prints line as JSON, or keeps the cells of value until flush.
func (s *sheet[T]) add(line any, value *T) error {
	if s.p.printsJSON() {
		return s.p.printJSON(line)
	}
	row := table.Row{}
	for _, cell := range s.cells(value) {
		row = append(row, redact.Visible(fmt.Sprint(cell)))
	}
	s.rows = append(s.rows, row)
	return nil
}

// flush prints the rows that were added since the last flush, the first ones below the
// titles.
func (s *sheet[T]) flush() error {
	if s.p.printsJSON() {
		return nil
	}
	w := table.NewWriter()
	if s.widths == nil {
		titles := table.Row{}
		for i, c := range s.columns {
			titles = append(titles, c.title)
			s.widths = append(s.widths, max(c.width, text.StringWidth(c.title)))
			for _, row := range s.rows {
				s.widths[i] = max(s.widths[i], min(text.StringWidth(row[i].(string)), longest))
			}
		}
		w.AppendHeader(titles)
	}
	w.AppendRows(s.rows)
	s.rows = nil
	if lines := s.render(w); lines != "" {
		_, err := io.WriteString(s.p.stdout, lines+"\n")
		return err
	}
	return nil
}

// cut shortens a cell.
func cut(cell string, width int) string { return text.Snip(cell, width, "…") }

// render aligns the rows, and cuts texts that are too long.
func (s *sheet[T]) render(w table.Writer) string {
	style := table.StyleDefault
	style.Options, style.Format.Header = table.OptionsNoBordersAndSeparators, text.FormatDefault
	style.Box.PaddingLeft, style.Box.PaddingRight, style.Box.UnfinishedRow = "", "  ", "…"
	style.Size.WidthMax = s.p.width
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	var configs []table.ColumnConfig
	for i, c := range s.columns {
		config := table.ColumnConfig{Number: i + 1, WidthMin: s.widths[i], Align: text.AlignLeft, AlignHeader: text.AlignLeft}
		if c.isNumber {
			config.Align, config.AlignHeader = text.AlignRight, text.AlignRight
		} else {
			config.WidthMax, config.WidthMaxEnforcer = s.widths[i], cut
		}
		configs = append(configs, config)
	}
	w.SetColumnConfigs(configs)
	return w.Render()
}
