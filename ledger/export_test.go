package ledger

import (
	"os"

	"github.com/horseracing-go/horseracing"
)

// Replay reads data as the file of a ledger, and returns how much of it are lines.
func Replay(data []byte, client *horseracing.Client) (*Ledger, int64, error) {
	l := &Ledger{client: client, entries: map[pair]Entry{}}
	size, err := l.replay(data)
	return l, size, err
}

// BreakFile makes everything that is written from now on fail.
func (l *Ledger) BreakFile() { l.file.Close() }

// ReplaceFile makes everything from now on go to f.
func (l *Ledger) ReplaceFile(f *os.File) {
	l.file.Close()
	l.file = f
}
