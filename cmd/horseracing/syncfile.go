package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	size int64 // of the file

	mu     sync.Mutex // the timer writes, too
	buffer *bufio.Writer
	timer  *time.Timer // saves what was added since the last time
	failed error       // why nothing can be added
	stop   func()      // called when the timer cannot save
}

// openSyncFile opens or creates the file. With an error nothing is changed. If something
// cannot be saved later, stop is called.
func openSyncFile(path string, s *service, tiers []horseracing.TierID, stop func()) (*syncFile, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	c, err := openCheckpoint(path+".position", path+".lock", s, tiers)
	if err != nil {
		return nil, err
	}
	f := &syncFile{checkpoint: c, stop: stop}
	mode := os.O_RDWR
	switch {
	case c.isNew:
		mode |= os.O_CREATE
	case c.Bytes == nil: // the whole file would be cut off
		f.close()
		return nil, fmt.Errorf("%s.position does not say how much of %[1]s it covers: it is not of -o; move it away, or use another file", path)
	default:
		f.size = *c.Bytes
	}
	if f.file, err = os.OpenFile(path, mode, 0o666); err == nil {
		err = f.check()
	} else if errors.Is(err, fs.ErrNotExist) && !c.isNew {
		err = fmt.Errorf("%s is gone, and %[1]s.position covers %d bytes of it: restore it, or move that away to begin anew", path, f.size)
	}
	if err != nil {
		f.close()
		return nil, err
	}
	f.buffer = bufio.NewWriterSize(f, 64<<10)
	f.timer = time.AfterFunc(saveInterval, func() {
		if f.save() != nil {
			f.stop()
		}
	})
	f.timer.Stop()
	return f, nil
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

// check compares the file with its checkpoint, and goes to the end of what is covered.
func (f *syncFile) check() error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	name := f.file.Name()
	if f.isNew && info.Size() > 0 {
		return fmt.Errorf("%s has lines but no %[1]s.position: restore that, or move %[1]s away to begin anew", name)
	}
	if info.Size() < f.size {
		return fmt.Errorf("%s is shorter than %[1]s.position says: restore it, or move both away to begin anew", name)
	}
	if f.Ended && info.Size() > f.size {
		return f.changed()
	}
	last := max(0, f.size-1) // the end of the last line that is covered
	if _, err := f.file.Seek(last, io.SeekStart); err != nil {
		return err
	}
	rest := bufio.NewReader(f.file)
	if end, err := rest.ReadByte(); err == nil && f.size > 0 && end != '\n' {
		return f.changed()
	} else if f.size == 0 && err == nil {
		_ = rest.UnreadByte() // it was read just now
	}
	for {
		line, err := rest.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return err
		}
		if !isOwn(line, err == io.EOF) {
			return f.changed()
		}
		if err == io.EOF {
			break
		}
	}
	if err := f.file.Truncate(f.size); err != nil {
		return err
	}
	_, err = f.file.Seek(f.size, io.SeekStart)
	return err
}

func (f *syncFile) changed() error {
	return fmt.Errorf("%s was changed by something else near byte %d: restore it, or move it and %[1]s.position away to begin anew", f.file.Name(), f.size)
}

// Write appends to the file, unless something else replaced or changed it since the last
// time: what is written to a file that was cut comes after a gap of zeros.
func (f *syncFile) Write(lines []byte) (int, error) {
	ours, err := f.file.Stat()
	if err != nil {
		return 0, err
	}
	if named, err := os.Stat(f.file.Name()); err != nil || !os.SameFile(named, ours) || ours.Size() != f.size {
		return 0, f.changed()
	}
	n, err := f.file.Write(lines)
	f.size += int64(n)
	return n, err
}

// isOwn reports whether a line is one of a race, or if it is the last one such a line
// that was torn. A loss of power can leave zeros.
func isOwn(line []byte, isLast bool) bool {
	var race struct {
		ID horseracing.RaceID `json:"main_race_id"`
	}
	switch beginning := []byte(`{"`); {
	case bytes.IndexByte(line, 0) >= 0:
		return true
	case isLast:
		return bytes.HasPrefix(line, beginning[:min(len(line), len(beginning))])
	}
	return json.Unmarshal(line, &race) == nil && race.ID > 0
}

// start writes a checkpoint before the run writes its first byte.
func (f *syncFile) start(at horseracing.Cursor) error {
	if f.isNew {
		f.Cursor, f.Bytes = at, new(f.size)
	}
	f.Ended = false
	return f.checkpoint.save()
}

// end writes the last checkpoint.
func (f *syncFile) end() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Ended = true
	return f.flush()
}

// forget removes what a first run that failed before its first race has created.
func (f *syncFile) forget() error {
	return errors.Join(f.checkpoint.forget(), os.Remove(f.file.Name()))
}

// add appends a race, or nothing if it could not be read, and notes the cursor after it.
// Both are saved within a second.
func (f *syncFile) add(race *horseracing.Race, after horseracing.Cursor) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if race != nil {
		line, err := lineOf(race)
		if err != nil {
			return err
		}
		if _, f.failed = f.buffer.Write(line); f.failed != nil {
			return f.failed
		}
	}
	f.Cursor = after
	if f.due() {
		return f.flush()
	}
	f.timer.Reset(saveInterval)
	return f.failed
}

func (f *syncFile) save() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.flush()
}

// flush makes sure that the lines are on disk, and then that the checkpoint is.
func (f *syncFile) flush() error {
	if f.failed == nil {
		f.failed = errors.Join(f.buffer.Flush(), f.file.Sync())
	}
	if f.failed == nil {
		f.Bytes = new(f.size)
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
