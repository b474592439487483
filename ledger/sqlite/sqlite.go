// Package sqlite opens files of SQLite as package ledger needs them. Programs that do not import it do not get SQLite.
package sqlite

import (
	"database/sql"
	"net/url"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Open opens a file of SQLite, and creates it if there is none. What is committed survives a loss of power
// (synchronous=EXTRA, which also serves WAL), and statements wait up to five seconds for other processes. The file has
// to be on a disk of this computer, as the locks of network file systems cannot be relied on. As with [sql.Open],
// an error may only show when the database is used first.
func Open(path string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=rwc&_pragma=busy_timeout(5000)&_pragma=synchronous(EXTRA)"}
	return sql.Open("sqlite", file.String())
}
