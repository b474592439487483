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
}

func (r *raceRow) fields() []any {
	return []any{&r.RaceID, &r.TierID, &r.StartTime, &r.RegistrationDeadline, &r.Name, &r.Hippodrome, &r.HippodromeType, &r.Turf, &r.Type,
		&r.Length, &r.Places, &r.MinLevel, &r.MaxLevel, &r.V2, &r.NoEquipment, &r.EntryFee, &r.Prizes, &r.FinalOrder, &r.Winners}
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
	selectRaces        = `SELECT * FROM races ORDER BY start_time, race_id`
	selectParticipants = `SELECT p.* FROM participants p JOIN races r USING (race_id) ORDER BY r.start_time, race_id, position`
)

// writeFiles writes the whole store in the other formats. A file appears under
// its name only when it is complete.
func (s *store) writeFiles(ctx context.Context, name string, formats []string) error {
	for _, format := range formats {
		var err error
		switch format {
		case "csv":
			err = errors.Join(
				s.writeFile(ctx, name+".csv", selectRaces, writeCSV),
				s.writeFile(ctx, name+"-participants.csv", selectParticipants, writeCSV))
		case "parquet":
			err = errors.Join(
				s.writeFile(ctx, name+".parquet", selectRaces, writeParquet[raceRow]),
				s.writeFile(ctx, name+"-participants.parquet", selectParticipants, writeParquet[participantRow]))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *store) writeFile(ctx context.Context, path, query string, write func(io.Writer, *sql.Rows) error) error {
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
	err = errors.Join(write(file, rows), rows.Err(), file.Chmod(0o644), file.Sync(), file.Close())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.Rename(file.Name(), path)
}

func writeCSV(out io.Writer, rows *sql.Rows) error {
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

func writeParquet[T any, R row[T]](out io.Writer, rows *sql.Rows) error {
	w := parquet.NewGenericWriter[T](out, parquet.Compression(&parquet.Zstd))
	batch := make([]T, 0, 1024)
	for rows.Next() {
		var r T
		if err := rows.Scan(R(&r).fields()...); err != nil {
			return err
		}
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
