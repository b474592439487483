package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	_ "modernc.org/sqlite" // the driver "sqlite", in Go alone

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

// store is the database of an export.
type store struct {
	db     *sql.DB
	lock   *flock.Flock
	path   string
	source string // the service that its races come from
}

// exportID is the application_id of the database, where SQLite's own file format
// has a place for it. Tables that change need another one.
const exportID = 0x48527367

// openStore opens or creates the database, and keeps every other export from it
// until close. It refuses, and does not change, a database that another program
// made, and one with races of another service: the ids of two services mean
// different races.
func openStore(ctx context.Context, path, source string) (_ *store, err error) {
	s := &store{path: path, source: strings.TrimRight(source, "/"), lock: flock.New(path + "-lock")}
	if locked, err := s.lock.TryLock(); err != nil {
		return nil, err // it names the path
	} else if !locked {
		return nil, fmt.Errorf("another export is writing to %s: wait until it has ended, or choose another -out", path)
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if err := s.checkFile(ctx); err != nil {
		return nil, err
	}
	if s.db, err = openDatabase(path, "&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate"); err != nil {
		return nil, err
	}
	err = s.transact(ctx, func(tx *sql.Tx) error {
		if _, err := tx.Exec(schema + views + fmt.Sprintf("PRAGMA application_id = %d", exportID)); err != nil {
			return err
		}
		return s.checkSource(tx)
	})
	return s, err
}

// openDatabase opens a database through a URI, which makes SQLite take every
// character of the path as it is.
func openDatabase(path, pragmas string) (*sql.DB, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	uri := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(absolute), "/")} // C:/... too
	db, err := sql.Open("sqlite", uri.String()+"?_pragma=busy_timeout(5000)"+pragmas)
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// checkFile returns an error if the file cannot be written, or is not a database
// of export. It changes nothing.
func (s *store) checkFile(ctx context.Context) error {
	file, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o644) // SQLite's own errors name no cause
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err := errors.Join(err, file.Close()); err != nil || info.Size() == 0 {
		return err
	}
	db, err := openDatabase(s.path, "&_pragma=query_only(1)")
	if err != nil {
		return err
	}
	defer db.Close()
	var id int
	err = db.QueryRowContext(ctx, `SELECT application_id FROM pragma_application_id`).Scan(&id)
	if ctx.Err() == nil && (err != nil && strings.Contains(err.Error(), "not a database") || err == nil && id != exportID) {
		return fmt.Errorf("%s is not a database of export, or of an older one; it was not changed: choose another -out", s.path)
	}
	return err
}

// checkSource refuses a database with races of another source.
func (s *store) checkSource(tx *sql.Tx) error {
	var was string
	err := tx.QueryRow(`SELECT name FROM source`).Scan(&was)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err == nil && was != s.source:
		return fmt.Errorf("it holds races of %s, not of %s: choose another -out, or if both are the same service add -source %s", was, s.source, was)
	}
	return err
}

func (s *store) close() {
	if s.db != nil {
		s.db.Close()
	}
	os.Remove(s.lock.Path()) // while it is locked, so that it is nobody else's
	s.lock.Unlock()
}

// transact calls f within a transaction, which is committed unless f fails.
func (s *store) transact(ctx context.Context, f func(*sql.Tx) error) error {
	err := func() error {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // does nothing after Commit
		if err := f(tx); err != nil {
			return err
		}
		return tx.Commit()
	}()
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	return nil
}

// walk is one way through a listing, from since up to what finished last.
type walk struct {
	table  string // of its entries
	tier   horseracing.TierID
	since  int64
	cursor horseracing.Cursor // zero if nothing was stored
}

// walk returns the walk to continue, or a new one. With -since 30d since is later
// at each start: a walk that began further back, and has come to the present or begun within
// the day before, is continued.
func (s *store) walk(ctx context.Context, table string, tier horseracing.TierID, since time.Time) (*walk, error) {
	w := &walk{table: table, tier: tier, since: millis(since)}
	err := s.transact(ctx, func(tx *sql.Tx) error {
		var cursor string
		err := tx.QueryRow(`SELECT since, cursor FROM walks WHERE listing = ? AND tier_id = ? AND since <= ? AND (since > ? OR done) ORDER BY since DESC LIMIT 1`,
			table, tier, w.since, w.since-(24*time.Hour).Milliseconds()).Scan(&w.since, &cursor)
		if errors.Is(err, sql.ErrNoRows) {
			_, err = tx.Exec(`INSERT INTO walks VALUES (?, ?, ?, '', 0)`, table, tier, w.since)
		}
		if err != nil {
			return err
		}
		return w.cursor.UnmarshalText([]byte(cursor))
	})
	return w, err
}

// save stores entries and the cursor after them in one transaction. isDone reports that
// the walk has come to the present.
func (s *store) save(ctx context.Context, w *walk, rows []row, cursor horseracing.Cursor, isDone bool) error {
	return s.insertWith(ctx, rows, `UPDATE walks SET cursor = ?, done = done OR ? WHERE listing = ? AND tier_id = ? AND since = ?`,
		cursor.String(), isDone, w.table, w.tier, w.since)
}

// insertWith inserts rows in one transaction with a statement.
func (s *store) insertWith(ctx context.Context, rows []row, statement string, args ...any) error {
	return s.transact(ctx, func(tx *sql.Tx) error {
		if _, err := tx.Exec(statement, args...); err != nil {
			return err
		}
		return s.insert(tx, rows)
	})
}

// saveLedger stores the entries of a ledger in place of those stored before.
func (s *store) saveLedger(ctx context.Context, path string) error {
	if path == "" {
		return nil
	}
	entries, err := ledger.Read(path)
	if err != nil {
		return err
	}
	var rows []row
	for _, e := range entries {
		rows = append(rows, registrationRow(e))
	}
	return s.insertWith(ctx, rows, `DELETE FROM registrations`)
}

// insert stores rows with their parts, except those that are stored already.
func (s *store) insert(tx *sql.Tx, rows []row) error {
	if err := s.checkSource(tx); err != nil {
		return err
	}
	if _, err := tx.Exec(`INSERT INTO source SELECT ? WHERE NOT EXISTS (SELECT * FROM source)`, s.source); err != nil {
		return err
	}
	for _, r := range rows {
		for _, part := range append([]row{r}, r.parts...) {
			marks := strings.TrimSuffix(strings.Repeat("?,", len(part.values)), ",")
			if _, err := tx.Exec(`INSERT INTO `+part.table+` VALUES (`+marks+`) ON CONFLICT DO NOTHING`, part.values...); err != nil {
				return fmt.Errorf("table %s: %w", part.table, err)
			}
		}
	}
	return nil
}

// missingHorses returns the horses that ran and are not stored.
func (s *store) missingHorses(ctx context.Context) (missing []horseracing.HorseNumber, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT DISTINCT horse FROM participants WHERE horse NOT IN (SELECT number FROM horses) ORDER BY horse`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var number horseracing.HorseNumber
		if err := rows.Scan(&number); err != nil {
			return nil, err
		}
		missing = append(missing, number)
	}
	return missing, rows.Err()
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func instant(millis int64) time.Time {
	if millis <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis).UTC()
}
