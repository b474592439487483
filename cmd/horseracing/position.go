package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing"
)

// saveInterval is how long after a line was printed its cursor is in the file.
const saveInterval = 100 * time.Millisecond

// position is the file of -cursor. It is written soon after set, and by close.
// Without a path nothing is written.
type position struct {
	path   string
	cursor horseracing.Cursor // that the file held when it was opened
	stop   func()

	mu    sync.Mutex // guards what follows
	next  horseracing.Cursor
	saved bool // next is in the file
	err   error
}

// openPosition reads the file. It creates one that does not exist.
func openPosition(path string) (*position, error) {
	p := &position{path: path, saved: true, stop: func() {}}
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
	if err := writeFile(path, string(text)); err != nil { // now rather than after the first lines
		return nil, fmt.Errorf("-cursor: %w", err)
	}
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(saveInterval)
		defer ticker.Stop()
		for {
			select {
			case <-stopped:
				return
			case <-ticker.C:
				p.save()
			}
		}
	}()
	p.stop = func() { close(stopped); <-ended }
	return p, nil
}

// set notes that everything before the cursor was printed.
func (p *position) set(cursor horseracing.Cursor) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next, p.saved = cursor, false
	return p.err
}

// close writes the newest cursor.
func (p *position) close() error {
	p.stop()
	p.save()
	return p.err
}

func (p *position) save() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.path == "" || p.saved || p.err != nil || p.next.IsZero() {
		return
	}
	p.err = writeFile(p.path, p.next.String()+"\n")
	p.saved = true
}

// writeFile replaces a file: whoever reads it sees the old text or the new one.
func writeFile(path, text string) error {
	f, err := os.Create(path + ".tmp")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
