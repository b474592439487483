package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/horseracing-go/horseracing"
)

// origin is where the entries of a file of -o or --cursor come from. A file has one.
type origin struct {
	Service string             `json:"service"`
	Tier    horseracing.TierID `json:"tier"`
	Since   time.Time          `json:"since,omitzero"` // of the first run
	Size    int64              `json:"size,omitzero"`  // bytes that are certainly in the file of -o
}

// saveInterval is the time between two writes of what is certainly in a file.
const saveInterval = time.Second

// check returns an error if the file at path, which has this origin, is used for another one.
func (o origin) check(other origin, path string) error {
	switch {
	case o.Service != other.Service:
		return usageError(fmt.Sprintf("%s belongs to %s, not to %s: use another file", path, o.Service, other.Service))
	case (o.Tier == 0) != (other.Tier == 0): // watch has none
		return usageError(path + " belongs to another command: use another file")
	case o.Tier != other.Tier:
		return usageError(fmt.Sprintf("%s is about tier %d, not %d: use another file, or --tier %[2]d", path, o.Tier, other.Tier))
	}
	return nil
}

// from returns the origin with the Since of the first run, and says so if this run asks for
// earlier entries.
func (o origin) from(first origin, p *program, path string) origin {
	if !o.Since.IsZero() && o.Since.Before(first.Since) {
		p.say(fmt.Sprintf("--since counts for the first run, which began at %s: what is older is not added to %s; use another file for it", minute(first.Since), path))
	}
	o.Since = first.Since
	return o
}

// resolve follows symbolic links to a file that is to be written, which need not exist.
func resolve(flag, path string) (string, error) {
	if name := filepath.Clean(path); slices.Contains([]string{"/dev/stdin", "/dev/stdout", "/dev/stderr"}, name) || strings.HasPrefix(name, "/dev/fd/") {
		return "", usageError(fmt.Sprintf("%s %s is not a regular file: leave it out to print to standard output", flag, path))
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(resolved); err != nil || !info.Mode().IsRegular() {
		return "", usageError(fmt.Sprintf("%s %s is not a regular file", flag, path))
	}
	return resolved, nil
}

// locked is a file that one process at a time writes, since it has locked the file beside it. Without
// a path it keeps nothing.
type locked struct {
	path string // of the file itself, if a link was named
	lock *flock.Flock
}

// lockFile locks path.lock for the file at path, which may not exist yet.
func lockFile(flag, path string) (f locked, err error) {
	if f.path, err = resolve(flag, path); err != nil {
		return f, err
	}
	f.lock = flock.New(f.path+".lock", flock.SetFlag(os.O_CREATE|os.O_RDWR))
	isLocked, err := f.lock.TryLock()
	if err == nil && !isLocked {
		err = fmt.Errorf("%s %w", f.path, errInUse)
	}
	return f, lockError(f.path, err)
}

// close lets other processes use the file.
func (f locked) close() error {
	if f.lock == nil {
		return nil
	}
	return f.lock.Close()
}

// lockError says what to do if the file system has no locks, as package ledger does.
func lockError(path string, err error) error {
	if errors.Is(err, syscall.ENOLCK) || errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("%s: its file system has no locks; put the file on a local disk: %w", path, err)
	}
	return err
}

// lockedBytes are those of the lock file that are locked. On Windows nobody can read them.
const lockedBytes = 1

// readNote reads what the lock file says about the file beside it. It is empty in a new one.
func (f locked) readNote() ([]byte, error) {
	file, err := os.Open(f.lock.Path())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.NewSectionReader(file, lockedBytes, math.MaxInt64-lockedBytes))
}

// writeNote writes what the lock file says.
func (f locked) writeNote(text []byte) error {
	file, err := os.OpenFile(f.lock.Path(), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(text, lockedBytes)
	return errors.Join(err, file.Truncate(lockedBytes+int64(len(text))), file.Close())
}

// replace replaces the file, if there is one, by a value as JSON, with its mode: whoever reads it, after a loss
// of power too, sees the old value or the new one. If it cannot be replaced, because it is a mount, say, it is
// written in place.
func (f locked) replace(value any) error {
	if f.path == "" {
		return nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	mode := fs.FileMode(0o666)
	info, missing := os.Stat(f.path)
	if missing == nil {
		mode = info.Mode().Perm()
	}
	temporary := f.path + ".tmp"
	err = write(temporary, text, mode)
	if err == nil && missing == nil {
		err = os.Chmod(temporary, mode) // whatever the umask is
	}
	if err == nil {
		if err = os.Rename(temporary, f.path); err == nil {
			return nil
		}
		err = write(f.path, text, mode)
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

// readText reads a file of text that people or other programs may have written: without the
// byte order mark that some editors add.
func readText(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	text, err = withoutMark(text)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return text, err
}

// withoutMark returns text without its byte order mark. UTF-16, which older PowerShells
// write with >, is an error.
func withoutMark(text []byte) ([]byte, error) {
	if bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}) {
		return nil, errors.New("the text is UTF-16: write it as UTF-8, in PowerShell with | Out-File -Encoding utf8")
	}
	return bytes.TrimPrefix(text, byteOrderMark), nil
}

var byteOrderMark = []byte("\ufeff")
