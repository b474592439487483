package ledger

import "os"

// Replay reads data as the file of a ledger for service, and returns its entries in
// their order and how much of data are lines.
func Replay(data []byte, service string) ([]Entry, int64, error) {
	entries, size, last, err := replay(data, service, true)
	return sorted(entries), size + int64(len(last)), err
}

// BreakFile makes everything that is written from now on fail.
func (l *Ledger) BreakFile() { l.file.Close() }

// ReplaceFile makes everything from now on go to f.
func (l *Ledger) ReplaceFile(f *os.File) {
	l.file.Close()
	l.file, l.path = f, f.Name()
}
