package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// lock is a lock file beside a ledger. Whoever has locked it may append a line. The ledger itself is
// not locked, because on Windows nobody else could read it then. All links to a ledger share the
// lock beside their target.
//
// From its second byte on, the file says how many bytes the ledger had after a line was written and
// synced. So the number may be too small, in a new file and after a crash, but it is larger than the
// ledger only if lines are lost: if the ledger was emptied, replaced, or restored from an older copy.
// It is read and written by the one who has the lock. A ledger that was opened by a link has a second
// file with the number, beside the link, in case the link is lost.
type lock struct {
	paths []string // the first is locked
}

// numberAt is where the number begins. On Windows the first byte cannot be read while it is locked.
const numberAt = 1

const lockInterval = 10 * time.Millisecond // between two attempts to lock

func newLock(path string) (lock, error) {
	target, err := filepath.EvalSymlinks(path)
	return lock{slices.Compact([]string{target + ".lock", path + ".lock"})}, err
}

// holding has the paths of the lock files that this process has locked or is trying to lock. It is
// shared by all ledgers of the process, as the files are.
var holding sync.Map

// take locks the file. It waits while the process itself has it locked, as long as ctx allows, and
// while another one has, at most for the time of wait.
func (k lock) take(ctx context.Context, wait time.Duration) (*held, error) {
	path := k.paths[0]
	for waited := time.Duration(0); ; {
		if _, isOurs := holding.LoadOrStore(path, nil); !isOurs {
			h, err := k.try()
			if h != nil {
				return h, nil
			}
			holding.Delete(path)
			switch {
			case err != nil:
				return nil, lockError(path, err)
			case waited >= wait:
				return nil, fmt.Errorf("%w: %s: another process holds it", ErrInUse, path)
			}
			waited += lockInterval
		}
		select {
		case <-time.After(lockInterval):
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s: %w", path, context.Cause(ctx))
		}
	}
}

// held is a lock that was taken.
type held struct {
	lock  *flock.Flock
	files []*os.File // of all paths
}

// try returns nil if another process has the lock.
func (k lock) try() (*held, error) {
	h := &held{lock: flock.New(k.paths[0])}
	isLocked, err := h.lock.TryLock()
	if !isLocked {
		return nil, err
	}
	for _, path := range k.paths {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			h.close()
			return nil, err
		}
		h.files = append(h.files, file)
	}
	return h, nil
}

func (h *held) close() {
	_ = h.lock.Unlock()
	for _, file := range h.files { // afterwards: some systems unlock a file as soon as any handle of it is closed
		file.Close()
	}
}

// release unlocks the file.
func (h *held) release() {
	h.close()
	holding.Delete(h.lock.Path())
}

// check returns an error if more than size bytes of the ledger were written.
func (h *held) check(size int64) error {
	for _, file := range h.files {
		text, err := io.ReadAll(io.NewSectionReader(file, numberAt, 32))
		if err != nil {
			return err
		}
		written := int64(0)
		if text = bytes.Trim(text, "\x00\n"); len(text) > 0 { // a loss of power can leave zeros
			if written, err = strconv.ParseInt(string(text), 10, 64); err != nil {
				return fmt.Errorf("%s should hold a number: remove it if no line of the ledger is lost: %w", file.Name(), err)
			}
		}
		if size < written {
			return fmt.Errorf("it has %d bytes, but %s says that %d were written: restore the ledger, or remove %[2]s to continue without the lines that are lost, whose fees may then be paid again", size, file.Name(), written)
		}
	}
	return nil
}

// note writes the size of the ledger, which never shrinks.
func (h *held) note(size int64) error {
	for _, file := range h.files {
		if _, err := file.WriteAt(fmt.Appendln(nil, size), numberAt); err != nil {
			return err
		}
	}
	return nil
}

// lockError says what to do if the file system has no locks: ENOLCK, ENOSYS, ENOTSUP.
func lockError(path string, err error) error {
	if errors.Is(err, syscall.ENOLCK) || errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("%s: its file system has no locks; put the ledger on a local disk: %w", path, err)
	}
	return err
}
