package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
)

// saveInterval is the shortest time between two writes of the cursor.
const saveInterval = 100 * time.Millisecond

// position is the file of -cursor. Without a path nothing is written.
type position struct {
	path   string
	cursor horseracing.Cursor // of the file, and then of the last set
	saved  time.Time          // when the file was written last
}

// openPosition reads the file, if it exists.
func openPosition(path string) (*position, error) {
	p := &position{path: path}
	if path == "" {
		return p, nil
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if p.cursor, err = horseracing.ParseCursor(strings.TrimSpace(string(text))); err != nil {
		return nil, fmt.Errorf("-cursor %s: %w", path, err)
	}
	return p, nil
}

// set notes that everything before the cursor was printed. A cursor that comes soon
// after the last one that was written is written by a later set, or by save.
func (p *position) set(cursor horseracing.Cursor) error {
	p.cursor = cursor
	if time.Since(p.saved) < saveInterval {
		return nil
	}
	return p.save()
}

// save replaces the file: whoever reads it sees the old cursor or the new one.
func (p *position) save() error {
	if p.path == "" || p.cursor.IsZero() {
		return nil
	}
	f, err := os.Create(p.path + ".tmp")
	if err != nil {
		return fmt.Errorf("-cursor: %w", err)
	}
	_, err = f.WriteString(p.cursor.String() + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), p.path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("-cursor: %w", err)
	}
	p.saved = time.Now()
	return nil
}
