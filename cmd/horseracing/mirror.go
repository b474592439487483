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

	"github.com/horseracing-go/horseracing"
)

// mirror is the file of -o, in which each race stands once. Beside it FILE.position says
// how many of its bytes are covered by a cursor. What follows them when a run begins was
// written by one that was killed, and is cut off.
type mirror struct {
	*position
	file    *os.File
	buffer  *bufio.Writer
	written int64 // bytes, buffered ones too
}

// openMirror opens or creates the file. With an error nothing is changed.
func openMirror(path string, s *service, tiers []horseracing.TierID) (*mirror, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	p, err := openPosition(path+".position", path+".lock", s, tiers)
	if err != nil {
		return nil, err
	}
	m := &mirror{position: p}
	switch {
	case p.Bytes != nil:
		m.written = *p.Bytes
	case !p.isNew: // the whole file would be cut off
		m.close()
		return nil, fmt.Errorf("%s.position does not say how much of %[1]s it covers: it is not of -o; move it away, or use another file", path)
	}
	if m.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666); err == nil {
		err = m.check()
	}
	if err != nil {
		m.close()
		return nil, err
	}
	m.buffer = bufio.NewWriterSize(m.file, 64<<10)
	return m, nil
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

// check compares the file with its position, and goes to the end of what is covered.
func (m *mirror) check() error {
	info, err := m.file.Stat()
	if err != nil {
		return err
	}
	name := m.file.Name()
	switch size := info.Size(); {
	case m.isNew && size > 0:
		return fmt.Errorf("%s has lines but no %[1]s.position: restore that, or move %[1]s away to begin anew", name)
	case size < m.written:
		return fmt.Errorf("%s is shorter than %[1]s.position says: restore it, or move both away to begin anew", name)
	}
	if _, err := m.file.Seek(m.written, io.SeekStart); err != nil {
		return err
	}
	rest := bufio.NewReader(m.file)
	for {
		line, err := rest.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return err
		}
		if !isOwn(line, err == io.EOF) {
			return fmt.Errorf("%s was changed by something else after byte %d: restore it, or move it and %[1]s.position away to begin anew", name, m.written)
		}
		if err == io.EOF {
			break
		}
	}
	if err := m.file.Truncate(m.written); err != nil {
		return err
	}
	_, err = m.file.Seek(m.written, io.SeekStart)
	return err
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

// start writes the first position, before the file has its first byte.
func (m *mirror) start(at horseracing.Cursor) error {
	if !m.isNew {
		return nil
	}
	m.Cursor, m.Bytes = at, new(m.written)
	return m.position.save()
}

// add appends a race, and saves the position after it at most once a second.
func (m *mirror) add(race *horseracing.Race, after horseracing.Cursor) error {
	var line bytes.Buffer
	if err := writeJSON(&line, race); err != nil {
		return err
	}
	if _, err := m.buffer.Write(line.Bytes()); err != nil {
		return err
	}
	m.written += int64(line.Len())
	return m.move(after)
}

// move notes that everything before a cursor was added, or reported as an error.
func (m *mirror) move(after horseracing.Cursor) error {
	m.Cursor = after
	if !m.due() {
		return nil
	}
	return m.save()
}

// save makes sure that the lines are on disk, and then that the position is.
func (m *mirror) save() error {
	if err := errors.Join(m.buffer.Flush(), m.file.Sync()); err != nil {
		return err
	}
	m.Bytes = new(m.written)
	return m.position.save()
}

func (m *mirror) close() {
	if m.file != nil {
		_ = m.file.Close()
	}
	m.position.close()
}
