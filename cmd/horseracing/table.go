package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/horseracing-go/horseracing"
)

// longest is the width at which a text in a table is cut: names are chosen by players.
const longest = 40

// column is a column of a table.
type column struct {
	title    string
	width    int     // at least, for rows that are printed one by one
	most     int     // the width at which a text is cut, if not longest
	isNumber bool    // aligned to the right, and never cut
	rank     int     // if the table is too wide, the columns of the highest rank are dropped first, those of rank zero never
	short    *column // if not nil, takes its place if the table is too wide, with the short texts of the cells
}

// shortRank is the rank of the columns that are dropped only after the table was shortened.
const shortRank = 3

// layout is how values look in a table.
type layout[T any] struct {
	columns []column
	cells   func(*T) []any
}

// painted is a cell in a color, on a terminal.
type painted struct {
	text  string
	short string // in place of text in a table that is shortened, unless it is empty
	color text.Color
}

// sheet prints values: rows for people, or a line of JSON each, at once. Rows are
// printed by flush.
type sheet[T any] struct {
	p *program
	layout[T]
	rows    [][]painted
	widths  []int // of the columns, zero for a dropped one, or nil before the first flush
	isShort bool
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
	var row []painted
	for _, value := range s.cells(value) {
		cell, isPainted := value.(painted)
		if !isPainted {
			cell.text = fmt.Sprint(value)
		}
		if s.isShort {
			cell.text = cmp.Or(cell.short, cell.text)
		}
		cell.text = printable(cell.text)
		row = append(row, cell)
	}
	s.rows = append(s.rows, row)
	return nil
}

// flush prints the rows that were added since the last flush.
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
		w.AppendRow(s.paint(row))
	}
	s.rows = nil
	if lines := s.render(w); lines != "" {
		_, err := io.WriteString(s.p.stdout, lines+"\n")
		return err
	}
	return nil
}

// measure returns the width of each column.
func (s *sheet[T]) measure() []int {
	widths := make([]int, len(s.columns))
	for i, c := range s.columns {
		widths[i] = max(c.width, text.StringWidth(c.title))
		for _, row := range s.rows {
			width := text.StringWidth(row[i].text)
			if !c.isNumber {
				width = min(width, cmp.Or(c.most, longest))
			}
			widths[i] = max(widths[i], width)
		}
	}
	return widths
}

// shorten puts the short columns and texts in place of the others.
func (s *sheet[T]) shorten() {
	s.isShort, s.columns = true, slices.Clone(s.columns)
	for i, c := range s.columns {
		if c.short != nil {
			s.columns[i] = *c.short
		}
		for _, row := range s.rows {
			row[i].text = cmp.Or(row[i].short, row[i].text)
		}
	}
}

// fit returns the width of each column, which is zero if the column is dropped so that
// the others fit. A table that does not fit without the columns of a high rank is
// shortened before it loses others.
func (s *sheet[T]) fit() []int {
	widths, excess := s.drop(shortRank + 1)
	if excess > 0 {
		s.shorten()
		widths, excess = s.drop(1)
	}
	for i, c := range slices.Backward(s.columns) { // what still does not fit is cut off the last texts
		if cut := min(excess, widths[i]-text.StringWidth(c.title)); cut > 0 && !c.isNumber {
			excess -= cut
			widths[i] -= cut
		}
	}
	return widths
}

// drop returns the widths of the columns, and by how much the table is too wide, once
// columns of at least this rank are dropped as far as needed.
func (s *sheet[T]) drop(least int) (widths []int, excess int) {
	widths, excess = s.measure(), -2-s.p.width
	for _, width := range widths {
		excess += width + 2
	}
	for rank := len(widths); rank >= least; rank-- {
		for i, c := range s.columns {
			if excess > 0 && c.rank == rank {
				excess -= widths[i] + 2
				widths[i] = 0
			}
		}
	}
	return widths, excess
}

// paint cuts the texts of a row to the widths of the columns, and colors them.
func (s *sheet[T]) paint(row []painted) (cells table.Row) {
	for i, cell := range row {
		if !s.columns[i].isNumber {
			cell.text = text.Snip(cell.text, s.widths[i], "…")
		}
		if s.p.interactive && cell.color != 0 {
			cell.text = cell.color.Sprint(cell.text) // unless NO_COLOR is set
		}
		cells = append(cells, cell.text)
	}
	return cells
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
