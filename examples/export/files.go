package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/horseracing-go/horseracing/examples/internal/program"
)

// exported are the tables that become files, each in an order that is the same
// every time.
var exported = []struct {
	table, order string
	wanted       func(options) bool
}{
	{"races", "tier_id, start_time, race_id", always},
	{"participants", "race_id, start_time, position", always},
	{"horses", "number", options.wantsHorses},
	{"traits", "horse, type", options.wantsHorses},
	{"tournaments", "tournament_id", options.wantsTournaments},
	{"tournament_participants", "tournament_id, horse", options.wantsTournaments},
	{"stages", "tournament_id, stage", options.wantsTournaments},
	{"stage_results", "tournament_id, stage, horse, race_id", options.wantsTournaments},
	{"registrations", "race_id, horse", options.wantsLedger},
}

func always(options) bool                { return true }
func (o options) wantsHorses() bool      { return o.horses }
func (o options) wantsTournaments() bool { return o.tournaments }
func (o options) wantsLedger() bool      { return o.ledger != "" }

// writeFiles writes the tables in the other formats, and prints their names.
func (s *store) writeFiles(ctx context.Context, o options, stderr io.Writer) error {
	writers := map[string]func(io.Writer, *sql.Rows) (int, error){"csv": writeCSV, "parquet": writeParquet}
	for _, format := range o.formats {
		write, ok := writers[format]
		if !ok {
			continue
		}
		for _, e := range exported {
			if !e.wanted(o) {
				continue
			}
			path := o.out + "-" + e.table + "." + format
			rows, err := s.db.QueryContext(ctx, `SELECT * FROM `+e.table+` ORDER BY `+e.order)
			if err != nil {
				return fmt.Errorf("%s: %w", s.path, err)
			}
			n := 0
			err = program.WriteFile(path, func(w io.Writer) error {
				buffered := bufio.NewWriter(w)
				if n, err = write(buffered, rows); err != nil {
					return err
				}
				return buffered.Flush()
			})
			rows.Close()
			if err != nil {
				return err
			}
			fmt.Fprintf(stderr, "export: wrote %s, %d rows\n", path, n)
		}
	}
	return nil
}

// isTime reports whether a column holds milliseconds since the epoch.
func isTime(column string) bool {
	return column == "start_time" || column == "registration_deadline" || column == "sent_at"
}

// scan calls f with the values of each row, and returns how many there were.
func scan(rows *sql.Rows, columns int, f func(values []any) error) (n int, err error) {
	values, targets := make([]any, columns), make([]any, columns)
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return n, err
		}
		if err := f(values); err != nil {
			return n, err
		}
		n++
	}
	return n, rows.Err()
}

// writeCSV writes values as people and spreadsheets read them: times in RFC 3339,
// null as an empty cell, and an apostrophe before a text that a spreadsheet would
// take for a formula, since players choose the names.
func writeCSV(out io.Writer, rows *sql.Rows) (n int, err error) {
	columns, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	w := csv.NewWriter(out)
	if err := w.Write(columns); err != nil {
		return 0, err
	}
	record := make([]string, len(columns))
	n, err = scan(rows, len(columns), func(values []any) error {
		for i, value := range values {
			switch v := value.(type) {
			case nil:
				record[i] = ""
			case int64:
				record[i] = strconv.FormatInt(v, 10)
				if isTime(columns[i]) {
					record[i] = instant(v).Format("2006-01-02T15:04:05.000Z07:00")
				}
			case float64:
				record[i] = strconv.FormatFloat(v, 'f', -1, 64)
			default:
				record[i] = fmt.Sprint(v)
				if strings.ContainsAny(record[i][:min(1, len(record[i]))], "=+-@\t\r") {
					record[i] = "'" + record[i]
				}
			}
		}
		return w.Write(record)
	})
	if err != nil {
		return n, err
	}
	w.Flush()
	return n, w.Error()
}

// writeParquet writes columns of the types that the table declares. A Parquet
// group sorts its columns by name.
func writeParquet(out io.Writer, rows *sql.Rows) (n int, err error) {
	columns, err := rows.ColumnTypes()
	if err != nil {
		return 0, err
	}
	group, names := parquet.Group{}, make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name()
		switch {
		case isTime(c.Name()):
			group[c.Name()] = parquet.Optional(parquet.Timestamp(parquet.Millisecond))
		case c.DatabaseTypeName() == "INTEGER":
			group[c.Name()] = parquet.Optional(parquet.Int(64))
		case c.DatabaseTypeName() == "REAL":
			group[c.Name()] = parquet.Optional(parquet.Leaf(parquet.DoubleType))
		default:
			group[c.Name()] = parquet.Optional(parquet.String())
		}
	}
	sorted := slices.Sorted(slices.Values(names))
	w := parquet.NewWriter(out, parquet.NewSchema("row", group), parquet.Compression(&parquet.Zstd))
	n, err = scan(rows, len(columns), func(values []any) error {
		row := make(parquet.Row, len(values))
		for i, value := range values {
			column, defined := slices.Index(sorted, names[i]), 1
			if value == nil {
				defined = 0
			}
			row[column] = parquet.ValueOf(value).Level(0, defined, column)
		}
		_, err := w.WriteRows([]parquet.Row{row})
		return err
	})
	if err != nil {
		return n, err
	}
	return n, w.Close()
}
