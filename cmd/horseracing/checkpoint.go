package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/horseracing-go/horseracing"
)

// saveInterval is the time between two writes of a checkpoint.
const saveInterval = time.Second

// checkpoint is how far a listing was read, as a file. It is bound to a service and to
// a tier, and locked while it is used. Without a path it keeps nothing.
type checkpoint struct {
	Service string             `json:"service"`
	Tier    horseracing.TierID `json:"tier"`
	Since   time.Time          `json:"since,omitzero"` // of the first run
	Cursor  horseracing.Cursor `json:"cursor"`
	Bytes   *int64             `json:"bytes,omitzero"` // of the file of -o that are covered, or nil for --cursor
	Ended   bool               `json:"ended,omitzero"` // the last run of -o was not killed

	path  string
	isNew bool
	lock  *flock.Flock
	file  *os.File // of -o, or nil
	size  int64    // of file

	mu     sync.Mutex  // the timer saves, too
	timer  *time.Timer // saves what was kept since the last time, nil if nothing was
	failed error       // why nothing can be saved
}

// openCheckpoint locks lockPath and reads the checkpoint at path, which may not exist yet.
func openCheckpoint(path, lockPath string, s *service, tier horseracing.TierID) (*checkpoint, error) {
	lock := flock.New(lockPath)
	switch locked, err := lock.TryLock(); {
	case err != nil:
		return nil, err
	case !locked:
		return nil, fmt.Errorf("%s %w", strings.TrimSuffix(lockPath, ".lock"), errInUse)
	}
	c := &checkpoint{Service: s.BaseURL(), Tier: tier, path: path, lock: lock}
	if err := c.read(); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// close lets other processes use the checkpoint.
func (c *checkpoint) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = fs.ErrClosed
	if c.file != nil {
		_ = c.file.Close()
	}
	if c.lock != nil {
		_ = c.lock.Close()
	}
}

// read reads the file, if it exists: a checkpoint, or the text of a cursor alone.
func (c *checkpoint) read() error {
	text, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		c.isNew = true
		return nil
	}
	if err != nil {
		return err
	}
	damaged := fmt.Errorf("%s does not hold a position, or is damaged: restore it, or remove it to begin anew", c.path)
	trimmed := strings.TrimSpace(string(text))
	if trimmed == "" {
		return damaged
	}
	if !strings.HasPrefix(trimmed, "{") {
		if c.Cursor, err = horseracing.ParseCursor(trimmed); err != nil {
			return fmt.Errorf("%w (%w)", damaged, err)
		}
		return nil
	}
	stored := checkpoint{}
	if err := json.Unmarshal(text, &stored); err != nil || stored.Cursor.IsZero() || stored.Bytes != nil && *stored.Bytes < 0 {
		return damaged
	}
	if stored.Service != c.Service {
		return fmt.Errorf("%s belongs to %s, not to %s: use another file", c.path, stored.Service, c.Service)
	}
	if stored.Tier != c.Tier {
		return fmt.Errorf("%s is about tier %d, not %d: use another file, or --tier %[2]d", c.path, stored.Tier, c.Tier)
	}
	c.Cursor, c.Since, c.Bytes, c.Ended = stored.Cursor, stored.Since, stored.Bytes, stored.Ended
	return nil
}

// startAt notes where the first run starts. Later runs continue where it ended: startAt prints
// that if one asks for earlier entries.
func (c *checkpoint) startAt(of *program, since time.Time, name string) {
	if c.isNew {
		c.Since = since
	} else if !since.IsZero() && since.Before(c.Since) {
		of.say(fmt.Sprintf("--since counts for the first run, which began at %s: what is older is not added to %s; use another file for it", minute(c.Since), name))
	}
}

// keep notes the position after what was printed. It is saved within a second.
func (c *checkpoint) keep(at horseracing.Cursor) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Cursor = at
	if c.file != nil {
		c.Bytes = new(c.size)
	}
	if c.timer == nil && c.path != "" {
		c.timer = time.AfterFunc(saveInterval, func() { _ = c.save(false) }) // keep returns its error
	}
	return c.failed
}

// save makes sure that the lines of -o are on disk, and then that the checkpoint is. The
// last save of a run notes that it has ended.
func (c *checkpoint) save(ended bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = nil
	if c.file != nil && c.failed == nil {
		c.Ended = c.Ended || ended
		c.failed = c.file.Sync()
	}
	if c.path != "" && c.failed == nil {
		c.failed = c.replace()
	}
	return c.failed
}

// replace replaces the file: whoever reads it, after a loss of power too, sees the old
// checkpoint or the new one.
func (c *checkpoint) replace() error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := os.Create(c.path + ".tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = rename(f.Name(), c.path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	if folder, err := os.Open(filepath.Dir(c.path)); err == nil { // not every system can sync one
		_ = folder.Sync()
		folder.Close()
	}
	return nil
}

// rename renames a file. On Windows that fails as long as a scanner has one of the two
// open.
func rename(from, to string) error {
	err := os.Rename(from, to)
	for range 20 {
		if err == nil || runtime.GOOS != "windows" {
			break
		}
		time.Sleep(100 * time.Millisecond)
		err = os.Rename(from, to)
	}
	return err
}

// forget removes what a first run that failed before its first entry has created: it would
// fix a --since with which nothing was read.
func (c *checkpoint) forget() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = fs.ErrClosed // the timer does not bring it back
	err := os.Remove(c.path)
	if c.file != nil {
		err = errors.Join(err, os.Remove(c.file.Name()))
	}
	return err
}
