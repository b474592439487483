package ledger

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/horseracing-go/horseracing"
)

// version is the format version of the lines that this package writes, and the latest
// that it reads.
const version = 1

// line is a line of the file.
type line struct {
	Version int    `json:"v"`
	Service string `json:"service"` // base URL
	Entry
}

// firstBytes is the prefix of every line.
const firstBytes = `{"v":1,"service":"`

var errNotLine = errors.New("not a line of a ledger; if the file is one, restore it or mend the line, else choose another path")

func parseLine(text []byte) (line, error) {
	var n line
	err := json.Unmarshal(text, &n) // after an error n holds what was read before
	switch {
	case n.Version > version:
		return line{}, errors.New("written by a later version of this package; use that version")
	case err != nil, n.Version < version, n.Service == "", n.Time.IsZero(), n.Horse < 1, n.Race < 1, n.Fee.Cmp(horseracing.BigInt{}) < 0,
		!slices.Contains([]State{Sending, Entered, Refused, Unknown, Absent}, n.State):
		return line{}, errNotLine
	}
	return n, nil
}

const (
	lockWait     = 30 * time.Second // for a lock that another process holds
	lockInterval = 50 * time.Millisecond
)

// openFile opens or creates the file. What is locked is another file beside it, because
// on Windows a locked file cannot be read.
func (l *Ledger) openFile() error {
	err := checkRegular(l.path)
	if err != nil {
		return err
	}
	if l.file, err = os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	target, err := filepath.EvalSymlinks(l.path)
	if err != nil {
		return err
	}
	l.lock = flock.New(target + ".lock")
	return syncFolder(filepath.Dir(target))
}

// take takes the lock for a call that appends, and reads what other processes appended. It
// waits for the lock.
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
	if l.broken == nil && !l.lock.Locked() {
		if locked, err := l.lock.TryLock(); err != nil || !locked {
			return cmp.Or(err, ErrInUse)
		}
		if _, err := unchanged(l.lock.Path(), l.lock); err != nil { // removed in the meantime
			return cmp.Or(l.lock.Unlock(), ErrInUse)
		}
		if err := l.readAll(); err != nil {
			return errors.Join(err, l.lock.Unlock())
		}
	}
	l.using++
	return l.broken
}

// release gives the lock up after a call, if other processes may have it.
func (l *Ledger) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.using--; l.using == 0 && l.isShared {
		_ = l.lock.Unlock()
	}
}

// unchanged returns an error if what is open is not at the path any more.
func unchanged(path string, open interface{ Stat() (os.FileInfo, error) }) (os.FileInfo, error) {
	info, err := open.Stat()
	if err != nil {
		return nil, err
	}
	if at, err := os.Stat(path); err != nil || !os.SameFile(info, at) {
		return nil, fmt.Errorf("%s was removed or replaced by another program", path)
	}
	return info, nil
}

// checkRegular refuses a device or a pipe, whose end would never come.
func checkRegular(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	return nil
}

// readAll reads what the file holds more, once the lock is held. It cuts off an incomplete
// last line, and what was being sent is Unknown.
func (l *Ledger) readAll() error {
	err := l.readMore()
	if err == nil {
		err = l.file.Truncate(l.size)
	}
	if err != nil {
		return err
	}
	for p, e := range l.entries {
		if e.State == Sending {
			e.State = Unknown
			l.entries[p] = e
		}
	}
	return nil
}

// readMore reads the complete lines that the file holds more than were read or written.
func (l *Ledger) readMore() error {
	info, err := unchanged(l.path, l.file)
	if err != nil {
		return err
	}
	if info.Size() < l.size {
		return fmt.Errorf("%s was truncated by another program", l.path)
	}
	data, err := io.ReadAll(io.NewSectionReader(l.file, l.size, math.MaxInt64-l.size))
	if err != nil {
		return err
	}
	entries, size, err := replay(data, l.client.BaseURL())
	if err != nil {
		return err
	}
	maps.Copy(l.entries, entries)
	l.size += size
	return nil
}

// refresh reads what other processes have appended, as far as it can be read.
func (l *Ledger) refresh() {
	if l.broken == nil && !l.lock.Locked() {
		l.broken = l.readMore()
	}
}

// replay returns the last state of each pair in the complete lines of data, and the size
// of these lines. All of them must be of the same service, which is that of the first
// line if service is empty.
func replay(data []byte, service string) (entries map[pair]Entry, size int64, err error) {
	complete, torn := cut(data)
	if complete == 0 && !strings.HasPrefix(torn, firstBytes) && !strings.HasPrefix(firstBytes, torn) {
		return nil, 0, fmt.Errorf("line 1: %w", errNotLine)
	}
	entries = map[pair]Entry{}
	number := 0
	for text := range bytes.Lines(data[:complete]) {
		number++
		n, err := parseLine(text)
		if err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", number, err)
		}
		if service = cmp.Or(service, n.Service); n.Service != service {
			return nil, 0, fmt.Errorf("%w: the ledger is for %s, not for %s: use a file for each service", horseracing.ErrInvalidArgument, n.Service, service)
		}
		entries[n.pair()] = n.Entry
	}
	return entries, int64(complete), nil
}

// cut returns the size of the complete lines of data, and the torn line after them
// without the zeros at its end. A loss of power can leave zeros in place of the last
// bytes that were written, up to the end of the line or to that of a block of it.
func cut(data []byte) (complete int, torn string) {
	complete = bytes.LastIndexByte(data, '\n') + 1
	if zero := bytes.IndexByte(data, 0); zero >= 0 {
		line := bytes.LastIndexByte(data[:zero], '\n') + 1
		if last := data[line:]; bytes.IndexByte(last, '\n') == len(last)-1 {
			complete = line
		}
	}
	return complete, strings.TrimRight(string(data[complete:]), "\x00")
}

// append writes a line and syncs it to disk. If that fails, part of the line may be in
// the file, so nothing can be appended any more.
func (l *Ledger) append(e Entry) error {
	if l.broken != nil {
		return l.broken
	}
	text, err := json.Marshal(line{version, l.client.BaseURL(), e})
	if err != nil {
		return err
	}
	text = append(text, '\n')
	err = l.checkFile()
	if err == nil {
		_, err = l.file.WriteAt(text, l.size)
	}
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		l.broken = fmt.Errorf("a line could not be written; open the ledger again: %w", err)
		return l.broken
	}
	l.size += int64(len(text))
	return nil
}

// checkFile returns an error if another program has changed the file or its lock.
func (l *Ledger) checkFile() error {
	info, err := unchanged(l.path, l.file)
	if err != nil {
		return err
	}
	if info.Size() != l.size {
		return fmt.Errorf("%s was changed by another program", l.path)
	}
	_, err = unchanged(l.lock.Path(), l.lock)
	return err
}

// syncFolder makes a new file in the folder survive a loss of power. Windows cannot
// sync a folder.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}
