package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/horseracing-go/horseracing"
)

// A text in a table is cut at longest, and at short if the table is too wide: names are
// chosen by players.
const (
	longest = 40
	short   = 20
)

// column is a column of a table.
type column struct {
	title    string
	width    int  // at least, for rows that are printed one by one
	isNumber bool // aligned to the right, and never cut
	rank     int  // if the table is too wide, the columns of the highest rank are dropped first, those of rank zero never
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
	rows   [][]string
	widths []int // of the columns, zero for a dropped one, or nil before the first flush
}

func newSheet[T any](p *program, l layout[T]) *sheet[T] { return &sheet[T]{p: p, layout: l} }

// printList prints a list that was returned with an error about the entries that
// it lacks.
func printList[T any](p *program, l layout[T], values []T, err error) error {
	if len(values) == 0 && err != nil {
		return err
	}
	s := newSheet(p, l)
	for i := range values {
		if err := s.add(&values[i], &values[i]); err != nil {
			return err
		}
	}
	return errors.Join(s.flush(), err)
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
func (s *sheet[T]) add(line any, value *T) error {
	if s.p.printsJSON() {
		return s.p.printJSON(line)
	}
	var row []string
	for _, cell := range s.cells(value) {
		row = append(row, printable(fmt.Sprint(cell)))
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
		s.widths = s.fit()
		titles, dropped := table.Row{}, []string(nil)
		for i, c := range s.columns {
			titles = append(titles, c.title)
			if s.widths[i] == 0 {
				dropped = append(dropped, c.title)
			}
		}
		w.AppendHeader(titles)
		if len(dropped) > 0 && s.p.attended {
			s.p.say(fmt.Sprintf("%d columns have no room for %s: widen the terminal, or add --json", s.p.width, strings.Join(dropped, ", ")))
		}
	}
	for _, row := range s.rows {
		cells := table.Row{}
		for i, cell := range row {
			if !s.columns[i].isNumber {
				cell = text.Snip(cell, s.widths[i], "…")
			}
			cells = append(cells, cell)
		}
		w.AppendRow(cells)
	}
	s.rows = nil
	if lines := s.render(w); lines != "" {
		_, err := io.WriteString(s.p.stdout, lines+"\n")
		return err
	}
	return nil
}

// measure returns the width of each column if texts are cut at most, and by how much the
// table is too wide.
func (s *sheet[T]) measure(most int) (widths []int, excess int) {
	excess = -2 - s.p.width
	for i, c := range s.columns {
		width := max(c.width, text.StringWidth(c.title))
		for _, row := range s.rows {
			cell := text.StringWidth(row[i])
			if !c.isNumber {
				cell = min(cell, max(most, c.width))
			}
			width = max(width, cell)
		}
		widths = append(widths, width)
		excess += width + 2
	}
	return widths, excess
}

// fit returns the width of each column, which is zero if the column is dropped so that
// the others fit. What still does not fit is cut off the last texts.
func (s *sheet[T]) fit() []int {
	widths, excess := s.measure(longest)
	if excess > 0 {
		widths, excess = s.measure(short)
	}
	for rank := len(widths); rank > 0; rank-- {
		for i, c := range s.columns {
			if excess > 0 && c.rank == rank {
				excess -= widths[i] + 2
				widths[i] = 0
			}
		}
	}
	for i, c := range slices.Backward(s.columns) {
		if cut := min(excess, widths[i]-text.StringWidth(c.title)); cut > 0 && !c.isNumber {
			excess -= cut
			widths[i] -= cut
		}
	}
	return widths
}

// render aligns the rows.
func (s *sheet[T]) render(w table.Writer) string {
	style := table.StyleDefault
	style.Options, style.Format.Header = table.OptionsNoBordersAndSeparators, text.FormatDefault
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	var configs []table.ColumnConfig
	for i, c := range s.columns {
		config := table.ColumnConfig{Number: i + 1, WidthMin: s.widths[i], Hidden: s.widths[i] == 0, Align: text.AlignLeft, AlignHeader: text.AlignLeft}
		if c.isNumber {
			config.Align, config.AlignHeader = text.AlignRight, text.AlignRight
		}
		configs = append(configs, config)
	}
	w.SetColumnConfigs(configs)
	return w.Render()
}
