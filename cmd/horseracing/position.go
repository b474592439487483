package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing"
)

// position is the file of --cursor: how far a listing was read, and printed.
type position struct {
	origin
	Cursor horseracing.Cursor `json:"cursor"`

	locked

	mu     sync.Mutex  // the timer saves, too
	timer  *time.Timer // saves what was kept since the last time, nil if nothing was
	failed error       // why nothing can be saved
}

// openPosition locks and reads the file at path, which may not exist yet.
func openPosition(p *program, path string, from origin) (*position, error) {
	file, err := lockFile("--cursor", path)
	if err != nil {
		return nil, err
	}
	c := &position{origin: from, locked: file}
	if err := c.read(p); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// close ends the saving, and lets other processes use the file.
func (c *position) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = fs.ErrClosed
	_ = c.locked.close()
}

// read reads the file, if it exists: a position, or the text of a cursor alone.
func (c *position) read(p *program) error {
	text, err := readText(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	text = bytes.TrimSpace(text)
	if note, err := c.readNote(); err == nil && len(text) == 0 && len(note) == 0 { // it was never written
		return nil
	}
	stored := position{origin: c.origin}
	if bytes.HasPrefix(text, []byte("{")) {
		err = json.Unmarshal(text, &stored)
	} else {
		stored.Cursor, err = horseracing.ParseCursor(string(text))
	}
	if err == nil && stored.Cursor.IsZero() {
		err = errors.New("it has no cursor")
	}
	if err != nil {
		return fmt.Errorf("%s does not hold a position, or is damaged: restore it, or remove it to start from the beginning (%w)", c.path, err)
	}
	if err := stored.check(c.origin, c.path); err != nil {
		return err
	}
	c.origin, c.Cursor = c.from(stored.origin, p, c.path), stored.Cursor
	return nil
}

// keep notes the position after what was printed. It is saved within a second, so that a
// program that is killed while it waits prints nothing again.
func (c *position) keep(at horseracing.Cursor) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Cursor = at
	if c.timer == nil && c.path != "" {
		c.timer = time.AfterFunc(saveInterval, func() { _ = c.save() }) // keep returns its error
	}
	return c.failed
}

// save writes the file.
func (c *position) save() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = nil
	if c.path != "" && c.failed == nil {
		c.failed = errors.Join(c.replace(c), c.writeNote([]byte("written\n")))
	}
	return c.failed
}
