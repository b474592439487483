package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/horseracing-go/horseracing"
)

// longest is the width at which a text in a table is cut: names are chosen by players.
const longest = 40

// A table that is too wide is cut at its right side, so the columns that one decides by come
// first.

// sheet prints values: rows for people or of CSV, or a line of JSON each, at once. Rows are
// printed by flush.
type sheet[T any] struct {
	*view[T]
	rows   []table.Row  // of strings
	widths []int        // of the columns, or nil before the first flush
	csv    bytes.Buffer // rows of CSV
	ids    []string     // of the values, for completion
}

func newSheet[T any](v *view[T]) *sheet[T] {
	s := &sheet[T]{view: v}
	var names []string
	for _, f := range s.shown() {
		if names = append(names, f.name()); f.isAmount {
			names = append(names, f.name()+"_tokens")
		}
	}
	s.addCSV(names)
	return s
}

// addCSV adds a row of CSV.
func (s *sheet[T]) addCSV(cells []string) {
	w := csv.NewWriter(&s.csv)
	_ = w.Write(cells) // to memory
	w.Flush()
}

// add prints an entry as JSON, or keeps its row until flush.
func (s *sheet[T]) add(e horseracing.Entry[T]) error {
	if len(s.ids) < maxRemembered {
		s.ids = append(s.ids, s.p.keys.Visible(s.fields[0].text(e.Value))+"\t"+s.p.keys.Visible(s.fields[1].text(e.Value)))
	}
	switch {
	case s.p.asCSV:
		var texts []string
		for _, c := range s.cells(e.Value) {
			texts = append(texts, strings.ToValidUTF8(s.p.keys.Text(fmt.Sprint(c.value)), "\ufffd"))
		}
		s.addCSV(texts)
	case s.p.printsJSON() && s.isChosen:
		line, err := object(s.cells(e.Value))
		return errors.Join(err, s.p.printJSON(line))
	case s.p.printsJSON():
		return s.p.printJSON(jsonOf(e))
	default:
		row := table.Row{}
		for _, f := range s.shown() {
			row = append(row, s.p.keys.Visible(f.text(e.Value)))
		}
		s.rows = append(s.rows, row)
	}
	return nil
}

// flush prints the rows that were added since the last flush, the first ones below the
// titles, or in CSV the names of the columns.
func (s *sheet[T]) flush() error {
	switch {
	case s.p.asCSV:
		defer s.csv.Reset()
		return s.p.write(s.csv.Bytes())
	case s.p.printsJSON():
		return nil
	}
	w := table.NewWriter()
	if s.widths == nil {
		titles := table.Row{}
		for i, c := range s.shown() {
			titles = append(titles, c.title)
			s.widths = append(s.widths, text.StringWidth(c.title))
			if !s.isWhole {
				s.widths[i] = max(c.width, s.widths[i])
			}
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
	for i, c := range s.shown() {
		config := table.ColumnConfig{Number: i + 1, WidthMin: s.widths[i], Align: text.AlignLeft, AlignHeader: text.AlignLeft}
		if c.isNumber {
			config.Align, config.AlignHeader = text.AlignRight, text.AlignRight
		} else {
			config.WidthMax, config.WidthMaxEnforcer = s.widths[i], cut
			if c.isFull {
				config.WidthMax = longest
			}
		}
		configs = append(configs, config)
	}
	w.SetColumnConfigs(configs)
	return w.Render()
}
