package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/horseracing-go/horseracing"
)

// openSyncFile opens or creates the file of -o, in which each race is once, with its
// checkpoint in FILE.position, which has how many of its bytes are covered by the cursor.
// What follows them was written by a run that was killed, and is cut off. With an error
// nothing is changed.
func openSyncFile(path string, s *service, tier horseracing.TierID) (*checkpoint, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	c, err := openCheckpoint(path+".position", path+".lock", s, tier)
	if err != nil {
		return nil, err
	}
	if err := c.openFile(path); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *checkpoint) openFile(path string) (err error) {
	mode := os.O_RDWR
	switch {
	case c.isNew:
		mode |= os.O_CREATE
		c.Bytes = new(int64)
	case c.Bytes == nil: // the whole file would be cut off
		return fmt.Errorf("%s.position does not say how much of %[1]s it covers: it is not of -o; move it away, or use another file", path)
	default:
		c.size = *c.Bytes
	}
	c.file, err = os.OpenFile(path, mode, 0o666)
	if errors.Is(err, fs.ErrNotExist) && !c.isNew {
		return fmt.Errorf("%s is gone, and %[1]s.position covers %d bytes of it: restore it, or move that away to begin anew", path, c.size)
	}
	if err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	c.Ended = false
	return c.file.Truncate(c.size)
}

// resolve follows symbolic links. Only a regular file can be cut.
func resolve(path string) (string, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(resolved); err != nil || !info.Mode().IsRegular() {
		return "", usageError(fmt.Sprintf("-o %s is not a regular file", path))
	}
	return resolved, nil
}

// check compares the file with its checkpoint.
func (c *checkpoint) check() error {
	info, err := c.file.Stat()
	if err != nil {
		return err
	}
	name := c.file.Name()
	switch {
	case c.isNew && info.Size() > 0:
		return fmt.Errorf("%s has lines but no %[1]s.position: restore that, or move %[1]s away to begin anew", name)
	case info.Size() < c.size:
		return fmt.Errorf("%s is shorter than %[1]s.position says: restore it, or move both away to begin anew", name)
	case c.Ended && info.Size() > c.size, !c.fits():
		return c.changed()
	}
	return nil
}

// fits reports whether what follows the covered bytes begins as a race does, or with a
// zero, which a loss of power can leave.
func (c *checkpoint) fits() bool {
	next := make([]byte, 2)
	n, _ := c.file.ReadAt(next, c.size)
	return next[0] == 0 || bytes.HasPrefix([]byte(`{"`), next[:n])
}

func (c *checkpoint) changed() error {
	return fmt.Errorf("%s was changed by something else near byte %d: restore it, or move it and %[1]s.position away to begin anew", c.file.Name(), c.size)
}

// Write appends a line to the file, unless something else replaced or changed it since the
// last time: what is written to a file that was cut comes after a gap of zeros.
func (c *checkpoint) Write(line []byte) (int, error) {
	ours, err := c.file.Stat()
	if err != nil {
		return 0, err
	}
	if named, err := os.Stat(c.file.Name()); err != nil || !os.SameFile(named, ours) || ours.Size() != c.size {
		return 0, c.changed()
	}
	n, err := c.file.WriteAt(line, c.size)
	c.size += int64(n)
	return n, err
}
