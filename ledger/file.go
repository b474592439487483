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

// checkPath refuses a device or a pipe, whose end would never come, a path in a folder that
// does not exist, and a file that was moved away: its lock file is created after it.
func checkPath(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	if errors.Is(err, fs.ErrNotExist) {
		target := path
		for link, err := os.Readlink(target); err == nil; link, err = os.Readlink(target) {
			if !filepath.IsAbs(link) {
				link = filepath.Dir(target) + string(filepath.Separator) + link // its .. may follow another link
			}
			target = link
		}
		if _, err := os.Stat(target + ".lock"); err == nil {
			return fmt.Errorf("it is gone: restore it, or remove %s.lock to begin anew, without what was paid", target)
		}
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no folder %s", filepath.Dir(path))
	}
	return nil
}

// openFile opens the file if it is not open. What is locked is another file beside it,
// because on Windows a locked file cannot be read, and elsewhere the file, too, which may
// have several names.
func (l *Ledger) openFile(flag int) error {
	if l.file != nil {
		return nil
	}
	if err := checkPath(l.path); err != nil {
		return err
	}
	file, err := os.OpenFile(l.path, os.O_RDWR|flag, 0o600)
	if err != nil {
		return err
	}
	target, err := filepath.EvalSymlinks(l.path)
	if err == nil {
		err = syncFolder(filepath.Dir(target))
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.file, l.locks = file, []*flock.Flock{flock.New(target + ".lock")}
	if runtime.GOOS != "windows" {
		l.locks = append(l.locks, flock.New(target, flock.SetFlag(os.O_RDWR)))
	}
	return nil
}

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

// lockFile takes the lock and reads what other processes appended. It cuts off an
// incomplete last line, or ends one that lacks only its newline, and what a process that
// ended was sending is Unknown.
func (l *Ledger) lockFile() error {
	if err := l.openFile(os.O_CREATE); err != nil {
		return err
	}
	for _, lock := range l.locks {
		if locked, err := lock.TryLock(); err != nil || !locked {
			return errors.Join(cmp.Or(err, ErrInUse), l.unlock())
		}
	}
	last, err := l.readMore()
	if err == nil && last != "" {
		_, err = l.file.WriteAt([]byte("\n"), l.size+int64(len(last)))
		l.size += int64(len(last)) + 1
	}
	if err == nil {
		err = l.file.Truncate(l.size)
	}
	if err != nil {
		return errors.Join(err, l.unlock())
	}
	for p, e := range l.entries {
		if e.State == Sending {
			e.State = Unknown
			l.entries[p] = e
		}
	}
	return nil
}

func (l *Ledger) unlock() (err error) {
	for _, lock := range l.locks {
		err = errors.Join(err, lock.Unlock())
	}
	return err
}

// release gives the lock up after a call, unless a ledger that is not shared keeps it.
func (l *Ledger) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.using--; l.using == 0 {
		_ = l.unlock()
	}
}

// refresh reads what other processes have appended, as far as it can be read.
func (l *Ledger) refresh() {
	if l.broken == nil && l.using == 0 {
		_, l.broken = l.readMore()
	}
}

// readMore reads the lines that the file holds more than were read or written, and returns
// the last one if it lacks its newline, with which it will be read again.
func (l *Ledger) readMore() (last string, err error) {
	if err := l.openFile(0); errors.Is(err, fs.ErrNotExist) {
		return "", nil // nothing was appended
	} else if err != nil {
		return "", err
	}
	size, err := sizeAt(l.path, l.file)
	if err == nil && size < l.size {
		err = l.changed()
	}
	if err != nil {
		return "", err
	}
	data := make([]byte, size-l.size)
	if _, err := l.file.ReadAt(data, l.size); err != nil {
		return "", err
	}
	entries, size, last, err := replay(data, l.client.BaseURL(), l.size == 0)
	if err != nil {
		return "", err
	}
	maps.Copy(l.entries, entries)
	l.size += size
	return last, nil
}

// sizeAt returns the size of an open file, or an error if it is not at the path any more.
func sizeAt(path string, open interface{ Stat() (os.FileInfo, error) }) (int64, error) {
	info, err := open.Stat()
	if err != nil {
		return 0, err
	}
	if at, err := os.Stat(path); err != nil || !os.SameFile(info, at) {
		return 0, fmt.Errorf("%s was removed or replaced by another program", path)
	}
	return info.Size(), nil
}

func (l *Ledger) changed() error { return fmt.Errorf("%s was changed by another program", l.path) }

// replay returns the last state of each pair in the lines of data, the size of the complete
// lines, and a last one that lacks only its newline. All of them must be of the same
// service, which is that of the first line if service is empty. If data is the whole file, it
// must start as a ledger does.
func replay(data []byte, service string, isWhole bool) (entries map[pair]Entry, size int64, last string, err error) {
	complete, torn := cut(data)
	if isWhole && complete == 0 && !strings.HasPrefix(torn, firstBytes) && !strings.HasPrefix(firstBytes, torn) {
		return nil, 0, "", fmt.Errorf("line 1: %w", errNotLine)
	}
	lines := data[:complete]
	if _, err := parseLine([]byte(torn)); err == nil {
		lines, last = data[:complete+len(torn)], torn
	}
	entries = map[pair]Entry{}
	number := 0
	for text := range bytes.Lines(lines) {
		number++
		n, err := parseLine(text)
		if err != nil {
			return nil, 0, "", fmt.Errorf("line %d: %w", number, err)
		}
		if service = cmp.Or(service, n.Service); n.Service != service {
			return nil, 0, "", fmt.Errorf("%w: the ledger is for %s, not for %s: use a file for each service", horseracing.ErrInvalidArgument, n.Service, service)
		}
		entries[n.pair()] = n.Entry
	}
	return entries, int64(complete), last, nil
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

// append writes a line and syncs it to disk, if no other program has changed the file or
// its lock. If that fails, part of the line may be in the file, so nothing can be appended
// any more.
func (l *Ledger) append(e Entry) error {
	if l.broken != nil {
		return l.broken
	}
	text, err := json.Marshal(line{version, l.client.BaseURL(), e})
	if err != nil {
		return err
	}
	text = append(text, '\n')
	size, err := sizeAt(l.path, l.file)
	if err == nil && size != l.size {
		err = l.changed()
	}
	if err == nil {
		_, err = sizeAt(l.locks[0].Path(), l.locks[0])
	}
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
