package main

import (
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

// lockFile locks path.lock, so that one process at a time writes the file at path, and returns
// the file to write, to which path may link.
func lockFile(flag, path string) (resolved string, lock *flock.Flock, err error) {
	if path, err = resolve(flag, path); err != nil {
		return "", nil, err
	}
	lock = flock.New(path+".lock", flock.SetFlag(os.O_CREATE|os.O_RDWR))
	locked, err := lock.TryLock()
	if err == nil && !locked {
		err = fmt.Errorf("%s %w", path, errInUse)
	}
	return path, lock, lockError(path, err)
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

// readNote reads what a lock file says about the file beside it. It is empty in a new one.
func readNote(lock *flock.Flock) ([]byte, error) {
	file, err := os.Open(lock.Path())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.NewSectionReader(file, lockedBytes, math.MaxInt64-lockedBytes))
}

// writeNote writes what a lock file says.
func writeNote(lock *flock.Flock, text []byte) error {
	file, err := os.OpenFile(lock.Path(), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(text, lockedBytes)
	return errors.Join(err, file.Truncate(lockedBytes+int64(len(text))), file.Close())
}
