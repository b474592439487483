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

// take locks the file, and returns what unlocks it. It waits while the process itself has it locked,
// as long as ctx allows, and while another one has, at most for the time of wait.
func (k lock) take(ctx context.Context, wait time.Duration) (release func(), err error) {
	path := k.paths[0]
	file := flock.New(path)
	for waited := time.Duration(0); ; {
		if _, isOurs := holding.LoadOrStore(path, nil); !isOurs {
			isLocked, err := file.TryLock()
			if isLocked {
				return func() { _ = file.Unlock(); holding.Delete(path) }, nil
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

// check returns an error if more than size bytes of the ledger were written, or if note could not
// write another number.
func (k lock) check(size int64) error {
	for _, path := range k.paths {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(io.NewSectionReader(file, numberAt, 32))
		file.Close()
		text = bytes.Trim(text, "\x00\n") // a loss of power can leave zeros
		written, notNumber := strconv.ParseInt(string(text), 10, 64)
		switch {
		case err != nil:
			return err
		case notNumber != nil && len(text) > 0:
			return fmt.Errorf("%s should hold a number: remove it if the ledger lacks no line", path)
		case size < written:
			return fmt.Errorf("the file has %d bytes, but %s says that %d were written: restore the file, or remove %[2]s to continue without the lines that are lost, whose fees may then be paid again", size, path, written)
		}
	}
	return nil
}

// note writes down the size of the ledger, which never shrinks.
func (k lock) note(size int64) error {
	for _, path := range k.paths {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = file.WriteAt(fmt.Appendln(nil, size), numberAt)
		if err = errors.Join(err, file.Close()); err != nil {
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
