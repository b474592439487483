package ledger

import "os"

// Replay reads data as the file of a ledger for service, and returns its entries in
// their order and how much of data are lines.
func Replay(data []byte, service string) ([]Entry, int64, error) {
	l := &Ledger{service: service, entries: map[pair]Entry{}}
	err := l.replay(data)
	return sorted(l.entries), l.size, err
}

// LockError returns the error of a lock that failed with err.
var LockError = lockError

// SetSync sets what l calls to sync the file.
func SetSync(l *Ledger, sync func(*os.File) error) { l.sync = sync }
