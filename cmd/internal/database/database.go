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
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
	"github.com/horseracing-go/horseracing/ledger/sqlite"
)

// IsURL reports whether path is the URL of a database of PostgreSQL.
func IsURL(path string) bool {
	scheme, _, isURL := strings.Cut(strings.ToLower(path), "://")
	return isURL && (scheme == "postgres" || scheme == "postgresql")
}

// Name returns path without a password, which the query of a URL may have, too.
func Name(path string) string {
	switch {
	case !IsURL(path) && isServer(path):
		return "…"
	case !IsURL(path):
		return path
	}
	u, err := url.Parse(path)
	if err != nil {
		return "postgres://…"
	}
	u.RawQuery = ""
	return u.Redacted()
}

// isServer reports whether path seems to name a server in a way that is not read. It may have a password.
func isServer(path string) bool {
	return strings.Contains(path, "://") || strings.Contains(path, "password=")
}

// ErrNone is returned if there is no ledger.
var ErrNone = errors.New("there is no ledger")

// Open opens the database of a ledger, and creates none.
func Open(ctx context.Context, path string) (*sql.DB, error) {
	if IsURL(path) {
		return openServer(ctx, path)
	}
	if isServer(path) {
		return nil, errors.New("want a file, or a database as postgres://user:password@host/name")
	}
	if _, err := os.Stat(path); err != nil {
		return nil, explained(path, err)
	}
	return sqlite.Open(path)
}

// connecting is how long a server may take to respond at first.
const connecting = 10 * time.Second

// openServer opens a database of PostgreSQL, if its server responds.
func openServer(ctx context.Context, path string) (*sql.DB, error) {
	u, err := url.Parse(path)
	if err != nil {
		return nil, fmt.Errorf("%s is not a URL: are characters of the password escaped, as %%40 for @?", Name(path))
	}
	db, err := sql.Open("pgx", u.String()) // url.Parse takes the last @ for that before the host, and pgx the first
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name(path), err)
	}
	ctx, cancel := context.WithTimeout(ctx, connecting)
	defer cancel()
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return nil, fmt.Errorf("%s does not respond: %w", Name(path), err)
	}
	return db, nil
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
	db, err := Open(ctx, path)
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
	db, err := Open(ctx, path)
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
	if !IsURL(path) && !isServer(path) {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s exists, and was not changed", path)
		} else if err != nil {
			return err
		}
		file.Close()
	}
	db, err := Open(ctx, path)
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
