// Package database opens the ledgers of the programs: files of SQLite, or databases of PostgreSQL, named by their URLs.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
	"github.com/horseracing-go/horseracing/ledger/sqlite"
)

// IsURL reports whether path is the URL of a database of PostgreSQL.
func IsURL(path string) bool {
	return strings.HasPrefix(path, "postgres://") || strings.HasPrefix(path, "postgresql://")
}

// Name returns path without a password, which the query of a URL may have, too.
func Name(path string) string {
	if !IsURL(path) {
		return path
	}
	u, err := url.Parse(path)
	if err != nil {
		return "postgres://…"
	}
	u.RawQuery = ""
	return u.Redacted()
}

// ErrNone is returned if there is no ledger.
var ErrNone = errors.New("there is no ledger")

// Open opens the database of a ledger, and creates none.
func Open(path string) (*sql.DB, error) {
	if IsURL(path) {
		return sql.Open("pgx", path)
	}
	if _, err := os.Stat(path); err != nil {
		return nil, explained(path, err)
	}
	return sqlite.Open(path)
}

// explained returns an error that names the ledger, and the command that makes one if there is none.
func explained(path string, err error) error {
	table, isSQL := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	if errors.Is(err, fs.ErrNotExist) || isSQL && table.SQLState() == "42P01" { // an undefined table
		return fmt.Errorf("%w %s: horseracing ledger --create %[2]s makes one", ErrNone, Name(path))
	}
	return fmt.Errorf("%s: %w", Name(path), err)
}

// Read returns the entries of a ledger.
func Read(ctx context.Context, path string) ([]ledger.Entry, error) {
	db, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	entries, err := ledger.Read(ctx, db)
	if err != nil {
		return nil, explained(path, err)
	}
	return entries, nil
}

// Ledger opens a ledger, whose database is to be closed. An error matches ErrNone if there is none.
func Ledger(ctx context.Context, path string, client *horseracing.Client, opts ...ledger.Option) (*ledger.Ledger, *sql.DB, error) {
	db, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	l, err := ledger.Open(ctx, db, client, opts...)
	if err != nil {
		db.Close()
		return nil, nil, explained(path, err)
	}
	return l, db, nil
}

// Create makes a ledger, in a new file that only the user can read, or in a database of PostgreSQL.
func Create(ctx context.Context, path string, client *horseracing.Client) error {
	if !IsURL(path) {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s exists, and was not changed", path)
		} else if err != nil {
			return err
		}
		file.Close()
	}
	db, err := Open(path)
	if err != nil {
		return err
	}
	err = errors.Join(ledger.Create(ctx, db, client), db.Close())
	if err != nil && !IsURL(path) {
		os.Remove(path)
	}
	return err
}

// Empty opens a ledger in memory, for dry runs.
func Empty(ctx context.Context, client *horseracing.Client, opts ...ledger.Option) (*ledger.Ledger, *sql.DB, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1) // each connection has a memory of its own
	if err := ledger.Create(ctx, db, client); err != nil {
		return nil, nil, err
	}
	l, err := ledger.Open(ctx, db, client, opts...)
	return l, db, err
}
