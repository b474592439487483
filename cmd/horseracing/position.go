package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/horseracing-go/horseracing"
)

// position is the file of --cursor: how far a listing was read, and printed. It is locked
// while it is used. Without a path it keeps nothing.
type position struct {
	origin
	Cursor horseracing.Cursor `json:"cursor"`

	path string
	lock *flock.Flock

	mu     sync.Mutex  // the timer saves, too
	timer  *time.Timer // saves what was kept since the last time, nil if nothing was
	failed error       // why nothing can be saved
}

// openPosition locks and reads the file at path, which may not exist yet.
func openPosition(p *program, path string, from origin) (*position, error) {
	path, lock, err := lockFile("--cursor", path)
	if err != nil {
		return nil, err
	}
	c := &position{origin: from, path: path, lock: lock}
	if err := c.read(p); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// close lets other processes use the file.
func (c *position) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = fs.ErrClosed
	if c.lock != nil {
		_ = c.lock.Close()
	}
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
	if note, err := readNote(c.lock); err == nil && len(text) == 0 && len(note) == 0 { // it was never written
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
		c.failed = errors.Join(replaceFile(c.path, c), writeNote(c.lock, []byte("written\n")))
	}
	return c.failed
}

// replaceFile replaces a file by a value as JSON, with its mode: whoever reads it, after a loss of power too, sees
// the old position or the new one. Where it cannot be replaced, because it is a mount, say,
// it is written in place.
func replaceFile(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	mode := fs.FileMode(0o666)
	info, missing := os.Stat(path)
	if missing == nil {
		mode = info.Mode().Perm()
	}
	temporary := path + ".tmp"
	err = write(temporary, text, mode)
	if err == nil && missing == nil {
		err = os.Chmod(temporary, mode) // whatever the umask is
	}
	if err == nil {
		if err = os.Rename(temporary, path); err == nil {
			return nil
		}
		err = write(path, text, mode)
	}
	os.Remove(temporary)
	return err
}

// write writes a file and syncs it.
func write(path string, text []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}
