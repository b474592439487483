// Package database opens the ledgers of the programs, which are files of SQLite.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
	"github.com/horseracing-go/horseracing/ledger/sqlite"
)

// Open opens the database in a file, which must be there.
func Open(path string) (*sql.DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return sqlite.Open(path)
}

// Read returns the entries of the ledger in a file.
func Read(ctx context.Context, path string) ([]ledger.Entry, error) {
	db, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	entries, err := ledger.Read(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return entries, nil
}

// OpenOrCreate makes an empty ledger for client if there is no file. It has its name only once it is complete, so
// whoever finds an empty file knows that a ledger was lost.
func OpenOrCreate(ctx context.Context, path string, client *horseracing.Client) (*sql.DB, error) {
	db, err := Open(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return db, err
	}
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.new") // which only the user can read
	if err != nil {
		if reason, ok := errors.AsType[*fs.PathError](err); ok { // without the name of the part
			err = reason.Err
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	part.Close()
	defer os.Remove(part.Name())
	if db, err = sqlite.Open(part.Name()); err != nil {
		return nil, err
	}
	if err := errors.Join(ledger.Create(ctx, db, client), db.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(part.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) { // another process was faster
		return nil, err
	}
	if folder, err := os.Open(filepath.Dir(path)); err == nil {
		_ = folder.Sync() // some systems cannot
		folder.Close()
	}
	return Open(path)
}

// OpenOrEmpty is a ledger in memory if there is no file, for dry runs: they create nothing.
func OpenOrEmpty(ctx context.Context, path string, client *horseracing.Client) (*sql.DB, error) {
	db, err := Open(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return db, err
	}
	if db, err = sql.Open("sqlite", ":memory:"); err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection has a memory of its own
	return db, ledger.Create(ctx, db, client)
}
