package ledger

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing"
)

// version is the format version of the lines that this package writes and reads.
const version = 1

// line is a line of the file.
type line struct {
	Version int    `json:"v"`
	Service string `json:"service"` // base URL
	Entry
}

// firstBytes is the prefix of every line.
var firstBytes = []byte(`{"v":1,"service":"`)

var errNotLine = errors.New("not a line of a ledger of this version; if the file is one, restore it or mend the line, else choose another path")

func parseLine(text []byte) (line, error) {
	var n line
	if err := json.Unmarshal(text, &n); err != nil || n.Version != version || n.Service == "" || n.Time.IsZero() ||
		n.Horse < 1 || n.Race < 1 || n.Fee.Cmp(horseracing.BigInt{}) < 0 ||
		!slices.Contains([]State{Sending, Entered, Refused, Unknown, Absent}, n.State) {
		return line{}, errNotLine
	}
	return n, nil
}

// fileSize returns the size of the file at path. If there is none, and was none before, the
// error matches fs.ErrNotExist. A device or a pipe has no end, so it is refused.
func fileSize(path string) (int64, error) {
	left := path + ".lock"
	_, missing := os.Lstat(left) // before the ledger, which is created first
	info, err := os.Stat(path)
	if _, noLink := os.Readlink(path); noLink == nil {
		left, missing = path, nil
	}
	switch {
	case err == nil && info.Mode().IsRegular():
		return info.Size(), nil
	case err == nil:
		return 0, errors.New("not a regular file")
	case !errors.Is(err, fs.ErrNotExist):
		return 0, err
	case missing == nil:
		return 0, fmt.Errorf("it is gone: restore it, or remove %s to begin anew, without what was paid", left)
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("there is no folder %s", filepath.Dir(path))
	}
	return 0, err
}

const (
	lockWait     = 30 * time.Second // for a lock that another process holds
	lockInterval = 50 * time.Millisecond
)

// take takes the lock for a call that appends, and waits for it.
func (l *Ledger) take(ctx context.Context) error {
	for waited := time.Duration(0); ; waited += lockInterval {
		err := l.tryTake()
		if !errors.Is(err, ErrInUse) || waited >= lockWait {
			return err
		}
		select {
		case <-time.After(lockInterval):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
}

// tryTake is take without waiting.
func (l *Ledger) tryTake() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	if l.using == 0 {
		if err := l.lockFile(); err != nil {
			return err
		}
	}
	l.using++
	return nil
}

// lockFile takes the lock, reads what other processes appended, and cuts off an incomplete
// last line. What a process that ended was sending is Unknown.
func (l *Ledger) lockFile() error {
	if err := l.create(); err != nil {
		return err
	}
	if locked, err := l.lock.TryLock(); err != nil || !locked {
		return cmp.Or(err, ErrInUse)
	}
	err := l.load()
	if err == nil {
		err = os.Truncate(l.path, l.size)
	}
	if err != nil {
		return errors.Join(err, l.lock.Unlock())
	}
	for p, e := range l.entries {
		if e.State == Sending {
			e.State = Unknown
			l.entries[p] = e
		}
	}
	return nil
}

// create creates the file if there is none, and syncs its folder before the first line, so
// that a loss of power does not take both. Windows cannot sync a folder.
func (l *Ledger) create() error {
	if size, err := fileSize(l.path); size > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = file.Close()
	}
	if err != nil || runtime.GOOS == "windows" {
		return err
	}
	folder, err := os.Open(filepath.Dir(l.lock.Path()))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// release gives the lock up after the last call that needs it.
func (l *Ledger) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.using--; l.using == 0 {
		_ = l.lock.Unlock()
	}
}

// refresh reads what other processes have appended.
func (l *Ledger) refresh() {
	if l.broken == nil && l.using == 0 {
		l.broken = l.load()
	}
}

// load reads the file, unless it is as long as what was read and written of it.
func (l *Ledger) load() error {
	size, err := fileSize(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && size == l.size:
		return nil
	case err != nil:
		return err
	case size < l.size:
		return l.changed()
	}
	data, err := os.ReadFile(l.path)
	if err != nil {
		return err
	}
	entries, size, err := replay(data, l.service)
	if err != nil {
		return err
	}
	maps.Copy(l.entries, entries)
	l.size, l.lacksNewline = size, size > 0 && data[size-1] != '\n'
	return nil
}

func (l *Ledger) changed() error { return fmt.Errorf("%s was changed by another program", l.path) }

// replay returns the last state of each pair in a file, and the size of its lines. All of
// them must be of the same service, which is that of the first one if service is empty. A
// loss of power can cut the last line, or leave zeros in place of any part of it: it is left
// out, unless it lacks only its newline. If it is the first line, too, it must begin as one.
func replay(data []byte, service string) (entries map[pair]Entry, size int64, err error) {
	entries = map[pair]Entry{}
	number := 0
	for text := range bytes.Lines(data) {
		number++
		isLast := size+int64(len(text)) == int64(len(data))
		isTorn := isLast && (text[len(text)-1] != '\n' || bytes.IndexByte(text, 0) >= 0)
		if isTorn {
			text = bytes.TrimRight(text, "\x00\n")
		}
		n, err := parseLine(text)
		if isTorn && err != nil && (number > 1 || bytes.HasPrefix(text, firstBytes) || bytes.HasPrefix(firstBytes, text)) {
			break
		}
		if err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", number, err)
		}
		if service = cmp.Or(service, n.Service); n.Service != service {
			return nil, 0, fmt.Errorf("%w: the ledger is for %s, not for %s: use a file for each service", horseracing.ErrInvalidArgument, n.Service, service)
		}
		entries[n.pair()] = n.Entry
		size += int64(len(text))
	}
	return entries, size, nil
}

// append writes a line and syncs it to disk. If that fails, part of the line may be in the
// file, so nothing can be appended any more.
func (l *Ledger) append(e Entry) error {
	if l.broken == nil {
		if err := l.write(line{version, l.service, e}); err != nil {
			l.broken = fmt.Errorf("a line could not be written; open the ledger again: %w", err)
		}
	}
	return l.broken
}

// write fails unless the file has grown by just this line. So, whatever becomes of the lock,
// at most one of several processes continues.
func (l *Ledger) write(n line) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if l.lacksNewline {
		text = append([]byte("\n"), text...)
	}
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Write(append(text, '\n')); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	l.size, l.lacksNewline = l.size+int64(len(text))+1, false
	info, err := file.Stat()
	if err == nil && info.Size() != l.size {
		err = l.changed()
	}
	return err
}
