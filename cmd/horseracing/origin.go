package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/horseracing-go/horseracing"
)

// origin is where the entries of a file of -o or --cursor come from. A file has one.
type origin struct {
	Service string             `json:"service"`
	Tier    horseracing.TierID `json:"tier"`
	Since   time.Time          `json:"since,omitzero"` // of the first run
}

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

// lockBeside locks path.lock, so that one process at a time writes the file at path.
func lockBeside(path string) (*flock.Flock, error) {
	lock := flock.New(path+".lock", flock.SetFlag(os.O_CREATE|os.O_RDWR))
	locked, err := lock.TryLock()
	if err == nil && !locked {
		err = fmt.Errorf("%s %w", path, errInUse)
	}
	return lock, err
}
