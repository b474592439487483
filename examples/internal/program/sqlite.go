package program

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// ExportID is the application_id of the databases that the example export
// writes: "HRse", as SQLite's own file format has a place for it.
const ExportID = 0x48527365

// SQLiteURI returns the URI of a file, which makes SQLite take every character
// of its path as it stands.
func SQLiteURI(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // C:/...
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String(), nil
}

// CheckExport returns an error unless db, the file at path, is a database that
// the example export wrote. With orEmpty one that holds no tables passes, too.
func CheckExport(ctx context.Context, db *sql.DB, path string, orEmpty bool) error {
	var id, tables int
	err := db.QueryRowContext(ctx, `SELECT application_id, (SELECT count(*) FROM sqlite_master) FROM pragma_application_id`).Scan(&id, &tables)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && strings.Contains(err.Error(), "not a database"),
		err == nil && id != ExportID && (tables > 0 || !orEmpty):
		return fmt.Errorf("%s is not a database of export; it was not changed", path)
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Transact calls f within a transaction, which is committed unless f fails.
func Transact(ctx context.Context, db *sql.DB, f func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}
