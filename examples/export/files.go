package main

import (
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// The rows of the Parquet files, named and ordered as the columns of the tables.
type raceRow struct {
	RaceID               int64  `parquet:"race_id"`
	TierID               int32  `parquet:"tier_id,dict"`
	StartTime            int64  `parquet:"start_time,timestamp(millisecond),delta"`
	RegistrationDeadline *int64 `parquet:"registration_deadline,timestamp(millisecond),optional"`
	Name                 string `parquet:"name"`
	Hippodrome           string `parquet:"hippodrome,dict"`
	HippodromeType       string `parquet:"hippodrome_type,dict"`
	Turf                 string `parquet:"turf,dict"`
	Type                 string `parquet:"type,dict"`
	Length               int32  `parquet:"length"`
	Places               int32  `parquet:"places"`
	MinLevel             int32  `parquet:"min_level"`
	MaxLevel             int32  `parquet:"max_level"`
	V2                   bool   `parquet:"v2"`
	NoEquipment          bool   `parquet:"no_equipment"`
	EntryFee             string `parquet:"entry_fee,dict"`
	Prizes               string `parquet:"prizes,dict"`
	FinalOrder           string `parquet:"final_order"`
	Winners              string `parquet:"winners"`

	JSON *string `parquet:"json,optional"`
}

func (r *raceRow) fields() []any {
	return []any{&r.RaceID, &r.TierID, &r.StartTime, &r.RegistrationDeadline, &r.Name, &r.Hippodrome, &r.HippodromeType, &r.Turf, &r.Type,
		&r.Length, &r.Places, &r.MinLevel, &r.MaxLevel, &r.V2, &r.NoEquipment, &r.EntryFee, &r.Prizes, &r.FinalOrder, &r.Winners, &r.JSON}
}

type participantRow struct {
	RaceID   int64   `parquet:"race_id,delta"`
	Position int32   `parquet:"position"`
	Horse    int64   `parquet:"horse"`
	Lane     *int32  `parquet:"lane,optional"`
	Total    float64 `parquet:"total"`
	Place    *int32  `parquet:"place,optional"`
}

func (p *participantRow) fields() []any {
	return []any{&p.RaceID, &p.Position, &p.Horse, &p.Lane, &p.Total, &p.Place}
}

const (
	// The order is that of an index, so that the first row comes at once.
	selectRaces        = `SELECT * FROM races ORDER BY tier_id, start_time, race_id`
	selectParticipants = `SELECT p.* FROM races r CROSS JOIN participants p ON p.race_id = r.race_id ORDER BY r.tier_id, r.start_time, r.race_id, p.position`
)

// writeFiles writes the whole store in the other formats, and prints which files
// that made.
func (s *store) writeFiles(ctx context.Context, o options, stderr io.Writer) error {
	for _, format := range o.formats {
		var err error
		switch format {
		case "csv":
			err = errors.Join(
				s.writeFile(ctx, o.out+".csv", "races", selectRaces, writeCSV, stderr),
				s.writeFile(ctx, o.out+"-participants.csv", "participants", selectParticipants, writeCSV, stderr))
		case "parquet":
			err = errors.Join(
				s.writeFile(ctx, o.out+".parquet", "races", selectRaces, writeParquet[raceRow], stderr),
				s.writeFile(ctx, o.out+"-participants.parquet", "participants", selectParticipants, writeParquet[participantRow], stderr))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes the rows of a query, all of a table. The file appears under
// its name only when it is complete.
func (s *store) writeFile(ctx context.Context, path, table, query string, write func(io.Writer, *sql.Rows, func()) error, stderr io.Writer) error {
	total, err := s.count(ctx, table)
	if err != nil {
		return err
	}
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // gone already when all went well
	p := newProgress(stderr, table, total)
	err = errors.Join(write(file, rows, func() { p.Add(1, "writing "+path) }), rows.Err(), file.Chmod(0o644), file.Sync(), file.Close())
	p.End()
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	fmt.Fprintf(stderr, "export: wrote %s, %d %s\n", path, p.Done(), table)
	return nil
}

func writeCSV(out io.Writer, rows *sql.Rows, wrote func()) error {
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	w := csv.NewWriter(out)
	if err := w.Write(columns); err != nil {
		return err
	}
	values, record := make([]any, len(columns)), make([]string, len(columns))
	for i := range values {
		values[i] = new(any)
	}
	for rows.Next() {
		if err := rows.Scan(values...); err != nil {
			return err
		}
		for i := range values {
			record[i] = cell(columns[i], *values[i].(*any))
		}
		if err := w.Write(record); err != nil {
			return err
		}
		wrote()
	}
	w.Flush()
	return w.Error()
}

// cell is a value as people and spreadsheets read it: times in RFC 3339, null empty.
func cell(column string, value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case int64:
		if column == "start_time" || column == "registration_deadline" {
			return instant(v).Format("2006-01-02T15:04:05.000Z07:00")
		}
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// row is what *T must do to be read from the database.
type row[T any] interface {
	*T
	fields() []any
}

func writeParquet[T any, R row[T]](out io.Writer, rows *sql.Rows, wrote func()) error {
	w := parquet.NewGenericWriter[T](out, parquet.Compression(&parquet.Zstd))
	batch := make([]T, 0, 1024)
	for rows.Next() {
		var r T
		if err := rows.Scan(R(&r).fields()...); err != nil {
			return err
		}
		wrote()
		if batch = append(batch, r); len(batch) == cap(batch) {
			if _, err := w.Write(batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if _, err := w.Write(batch); err != nil {
		return err
	}
	return w.Close()
}
