// Package sqlite opens files of SQLite as package ledger needs them.
package sqlite

import (
	"database/sql"
	"net/url"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Open opens or creates a database in a file. What is committed survives a loss of power.
func Open(path string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=rwc&_pragma=busy_timeout(5000)&_pragma=synchronous(EXTRA)"}
	return sql.Open("sqlite", file.String())
}
