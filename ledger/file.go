package ledger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

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

// openFile opens or creates the file and locks it. It locks another file beside it,
// because on Windows a locked file cannot be read.
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
	locked, err := l.lock.TryLock()
	if err != nil {
		return err
	}
	if !locked {
		return ErrInUse
	}
	return syncFolder(filepath.Dir(target))
}

// checkRegular refuses a device or a pipe, whose end would never come.
func checkRegular(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	return nil
}

// readFile reads the entries from the file and cuts off an incomplete last line. What
// was being sent is Unknown.
func (l *Ledger) readFile() error {
	data, err := io.ReadAll(l.file)
	if err != nil {
		return err
	}
	entries, size, err := replay(data, l.client.BaseURL())
	if err != nil {
		return err
	}
	for p, e := range entries {
		if e.State == Sending {
			e.State = Unknown
		}
		l.entries[p] = e
	}
	if err := l.file.Truncate(size); err != nil {
		return err
	}
	_, err = l.file.Seek(size, io.SeekStart)
	return err
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
	if _, err = l.file.Write(append(text, '\n')); err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		l.broken = fmt.Errorf("a line could not be written; open the ledger again: %w", err)
	}
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
