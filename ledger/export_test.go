package ledger

// Replay reads data as the file of a ledger, and returns how much of it are lines.
func Replay(data []byte, service string) (*Ledger, int64, error) {
	l := &Ledger{service: service, entries: map[pair]Entry{}}
	size, err := parseLines(data, l.replay)
	return l, size, err
}

// BreakFile makes everything that is written from now on fail.
func (l *Ledger) BreakFile() { l.file.file.Close() }
