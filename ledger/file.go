package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gofrs/flock"
)

// version is the format version of the lines that this package writes, and the latest
// that it reads.
const version = 1

// line is a line of the file. Its Time is when it was written.
type line struct {
	Version int `json:"v"`
	Entry
	Service string `json:"service,omitzero"` // of a Sending line: the base URL
}

// firstBytes is the prefix of every line.
const firstBytes = `{"v":1,"time":"`

var errNotLine = errors.New("not a line of a ledger")

func parseLine(text []byte) (line, error) {
	var n line
	err := json.Unmarshal(text, &n) // after an error n holds what was read before
	switch {
	case n.Version > version:
		return line{}, errors.New("written by a later version of this package")
	case err != nil, n.Version < version, n.Time.IsZero(), n.Horse < 1, n.Race < 1, isNegative(n.Fee), (n.State == Sending) != (n.Service != ""):
		return line{}, errNotLine
	}
	return n, nil
}

// parseLines calls each for every complete line and returns the total size of these
// lines.
func parseLines(data []byte, each func(line) error) (size int64, err error) {
	number := 0
	for text := range bytes.Lines(data) {
		number++
		if !bytes.HasSuffix(text, []byte("\n")) {
			if number == 1 && !strings.HasPrefix(firstBytes, string(text[:min(len(text), len(firstBytes))])) {
				return 0, fmt.Errorf("line 1: %w", errNotLine)
			}
			break
		}
		n, err := parseLine(text)
		if err == nil {
			err = each(n)
		}
		if err != nil {
			return 0, fmt.Errorf("line %d: %w", number, err)
		}
		size += int64(len(text))
	}
	return size, nil
}

// file is the file of an open ledger.
type file struct {
	path   string
	file   *os.File
	size   int64 // where the next line goes
	lock   *flock.Flock
	broken error // why nothing can be appended: a line could not be written, or the file is closed
}

// openFile opens or creates a file, locks it, and calls each for its lines. It locks
// another file beside it, because on Windows a locked file cannot be read.
func openFile(path string, each func(line) error) (_ *file, err error) {
	f := &file{path: path}
	if f.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	f.lock = flock.New(target + ".lock")
	locked, err := f.lock.TryLock()
	if err == nil && !locked {
		err = ErrInUse
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f.file)
	if err != nil {
		return nil, err
	}
	size, err := parseLines(data, each)
	if err != nil {
		return nil, err
	}
	if size < int64(len(data)) {
		err = f.file.Truncate(size)
	}
	if size == 0 && err == nil {
		err = syncFolder(filepath.Dir(target))
	}
	f.size = size
	return f, err
}

// append writes a line and syncs it to disk. If that fails, part of the line may be in
// the file, so nothing can be appended any more.
func (f *file) append(n line) error {
	if f.broken != nil {
		return f.broken
	}
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if _, err = f.file.WriteAt(text, f.size); err == nil {
		err = f.file.Sync()
	}
	if err != nil {
		f.broken = fmt.Errorf("a line could not be written; open the ledger again: %w", err)
	}
	f.size += int64(len(text))
	return err
}

// close closes the file and then unlocks it. It can be called more than once.
func (f *file) close() error {
	f.broken = errors.New("the ledger is closed")
	err := f.file.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	if f.lock != nil {
		err = errors.Join(err, f.lock.Close())
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
