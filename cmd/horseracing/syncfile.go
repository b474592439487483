package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing"
)

// syncFile is the file of -o, in which each race is once. Beside it FILE.position has
// how many of its bytes are covered by a cursor. What follows them when a run starts was
// written by one that was killed, and is cut off.
type syncFile struct {
	*checkpoint
	file *os.File

	mu     sync.Mutex  // the timer saves, too
	timer  *time.Timer // saves what was added since the last time, nil if nothing was
	failed error       // why nothing can be added
}

// openSyncFile opens or creates the file. With an error nothing is changed.
func openSyncFile(path string, s *service, tiers []horseracing.TierID) (*syncFile, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	c, err := openCheckpoint(path+".position", path+".lock", s, tiers)
	if err != nil {
		return nil, err
	}
	f := &syncFile{checkpoint: c}
	if err := f.open(path); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *syncFile) open(path string) (err error) {
	mode := os.O_RDWR
	switch {
	case f.isNew:
		mode |= os.O_CREATE
		f.Bytes = new(int64)
	case f.Bytes == nil: // the whole file would be cut off
		return fmt.Errorf("%s.position does not say how much of %[1]s it covers: it is not of -o; move it away, or use another file", path)
	}
	f.file, err = os.OpenFile(path, mode, 0o666)
	if errors.Is(err, fs.ErrNotExist) && !f.isNew {
		return fmt.Errorf("%s is gone, and %[1]s.position covers %d bytes of it: restore it, or move that away to begin anew", path, *f.Bytes)
	}
	if err != nil {
		return err
	}
	return f.check()
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

// check compares the file with its checkpoint, and cuts off what is not covered.
func (f *syncFile) check() error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	name := f.file.Name()
	switch {
	case f.isNew && info.Size() > 0:
		return fmt.Errorf("%s has lines but no %[1]s.position: restore that, or move %[1]s away to begin anew", name)
	case info.Size() < *f.Bytes:
		return fmt.Errorf("%s is shorter than %[1]s.position says: restore it, or move both away to begin anew", name)
	case f.Ended && info.Size() > *f.Bytes, !f.fits():
		return f.changed()
	}
	return f.file.Truncate(*f.Bytes)
}

// fits reports whether what follows the covered bytes begins as a race does, or with a
// zero, which a loss of power can leave.
func (f *syncFile) fits() bool {
	next := make([]byte, 2)
	n, _ := f.file.ReadAt(next, *f.Bytes)
	return next[0] == 0 || bytes.HasPrefix([]byte(`{"`), next[:n])
}

func (f *syncFile) changed() error {
	return fmt.Errorf("%s was changed by something else near byte %d: restore it, or move it and %[1]s.position away to begin anew", f.file.Name(), *f.Bytes)
}

// write appends a race, unless something else replaced or changed the file since the last
// time: what is written to a file that was cut comes after a gap of zeros.
func (f *syncFile) write(race *horseracing.Race) error {
	line, err := lineOf(race)
	if err != nil {
		return err
	}
	ours, err := f.file.Stat()
	if err != nil {
		return err
	}
	if named, err := os.Stat(f.file.Name()); err != nil || !os.SameFile(named, ours) || ours.Size() != *f.Bytes {
		return f.changed()
	}
	n, err := f.file.WriteAt(line, *f.Bytes)
	*f.Bytes += int64(n)
	return err
}

// forget removes what a first run that failed before its first race has created.
func (f *syncFile) forget() error {
	return errors.Join(f.checkpoint.forget(), os.Remove(f.file.Name()))
}

// add appends a race, or nothing if it could not be read, and notes the cursor after it,
// which is saved within a second.
func (f *syncFile) add(race *horseracing.Race, after horseracing.Cursor) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if race != nil && f.failed == nil {
		f.failed = f.write(race)
	}
	f.Cursor = after
	if f.timer == nil {
		f.timer = time.AfterFunc(saveInterval, func() { _ = f.save(false) }) // add returns its error
	}
	return f.failed
}

// save makes sure that the lines are on disk, and then that the checkpoint is.
func (f *syncFile) save(ended bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.timer = nil
	if f.failed == nil {
		f.failed = f.file.Sync()
	}
	if f.failed == nil {
		f.Ended = f.Ended || ended
		f.failed = f.checkpoint.save()
	}
	return f.failed
}

func (f *syncFile) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = fs.ErrClosed
	if f.file != nil {
		_ = f.file.Close()
	}
	f.checkpoint.close()
}
