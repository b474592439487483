package ledger

// Replay reads data as the file of a ledger for service, and returns its entries in
// their order and how much of data are lines.
func Replay(data []byte, service string) ([]Entry, int64, error) {
	entries, size, err := replay(data, service)
	return sorted(entries), size, err
}

// MoveTo makes everything from now on go to another path.
func (l *Ledger) MoveTo(path string) { l.path = path }
