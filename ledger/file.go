package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
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

// firstBytes is the prefix of every line that this package writes.
var firstBytes = []byte(`{"v":1,"service":"`)

var (
	errNotLine  = errors.New("not a line of a ledger of this version; if the file is a ledger, restore it or correct the line, otherwise choose another path")
	errReadOnly = errors.New("it was opened with WithReadOnly")
	errChanged  = errors.New("another program changed the file while it was open; check whether it lacks lines before you open it again")
)

func parseLine(text []byte) (line, error) {
	var n line
	if err := json.Unmarshal(text, &n); err != nil || n.Version != version || n.Service == "" || n.Time.IsZero() ||
		n.Horse < 1 || n.Race < 1 || n.Fee.Cmp(horseracing.BigInt{}) < 0 ||
		!slices.Contains([]State{Sending, Entered, Refused, Unknown, Absent}, n.State) {
		return line{}, errNotLine
	}
	return n, nil
}

// open creates the file if there is none and was none before, and reads its lines.
func (l *Ledger) open() error {
	_, neverLocked := os.Stat(l.path + ".lock") // before the ledger, which is created first
	if _, missing := os.Stat(l.path); missing != nil && neverLocked == nil {
		return fmt.Errorf("the file is missing, but its lock file exists: restore it, or remove %s.lock to start an empty ledger, which does not know what was paid before: %w", l.path, missing)
	}
	if l.isReadOnly {
		return l.load()
	}
	if file, err := os.OpenFile(l.path, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		file.Close()
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	var err error
	if l.lock, err = newLock(l.path); err != nil {
		return err
	}
	if folder, err := os.Open(filepath.Dir(l.lock.paths[0])); err == nil {
		_ = folder.Sync() // so that a loss of power leaves the ledger in it; some systems cannot
		folder.Close()
	}
	if err := l.load(); err != nil {
		return err
	}
	err = l.locked(context.Background(), 0, func() error { return nil })
	if errors.Is(err, ErrInUse) { // by another process, but there are locks
		return nil
	}
	return err
}

const (
	lockWait    = 5 * time.Second
	outcomeWait = 15 * time.Minute // for a line whose request was sent
)

// locked waits for the lock, reads what other processes appended, and calls do, which may
// append a line. Nobody else appends meanwhile.
func (l *Ledger) locked(ctx context.Context, wait time.Duration, do func() error) error {
	if l.isReadOnly {
		return errReadOnly
	}
	release, err := l.lock.take(ctx, wait)
	if err != nil {
		return err
	}
	defer release()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(); err != nil {
		return err
	}
	if err := l.lock.check(l.size); err != nil {
		return err
	}
	before := l.size
	if err := do(); err != nil || l.size == before {
		return err
	}
	if err := l.lock.note(l.size); err != nil {
		l.broken = fmt.Errorf("a lock file could not be written; open the ledger again: %w", err)
	}
	return l.broken
}

// load reads what was appended since it was called last. It fails if nothing can be appended any
// more, or if the last line is not where it was: a file in its place can be as long or longer.
func (l *Ledger) load() error {
	info, err := os.Stat(l.path)
	switch {
	case l.broken != nil:
		return l.broken
	case err != nil && l.isReadOnly && l.size == 0 && errors.Is(err, fs.ErrNotExist): // nothing was paid
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular(): // a device or a pipe has no end
		return errors.New("not a regular file")
	}
	file, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer file.Close()
	data, err := io.ReadAll(io.NewSectionReader(file, l.size-int64(len(l.last)), math.MaxInt64))
	if err != nil {
		return err
	}
	data, isSame := bytes.CutPrefix(data, l.last)
	if !isSame {
		return errChanged
	}
	return l.replay(data)
}

// replay adds lines to the entries. All of them are of one service: that of the first one if
// the client's is not set. A loss of power can cut the last line, or leave zeros in place of
// any part of it. It is left out, unless it lacks only its newline. If there is no line before
// it, it must begin as one, or else the file is not a ledger.
func (l *Ledger) replay(data []byte) error {
	if l.size == 0 && (bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))) {
		return errors.New("the file is UTF-16; save it as UTF-8")
	}
	l.isTorn = false
	end := l.size + int64(len(data))
	for text := range bytes.Lines(data) {
		isLast := l.size+int64(len(text)) == end
		l.isTorn = isLast && (text[len(text)-1] != '\n' || bytes.IndexByte(text, 0) >= 0)
		if l.isTorn {
			text = bytes.TrimRight(text, "\x00\n")
		}
		if len(text) == 0 { // zeros
			return nil
		}
		content := bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff"))) // a byte order mark
		if len(content) > 0 {
			n, err := parseLine(content)
			isLine := len(l.entries) > 0 || bytes.HasPrefix(content, firstBytes) || bytes.HasPrefix(firstBytes, content)
			switch {
			case err != nil && l.isTorn && isLine:
				return nil
			case err != nil:
				return fmt.Errorf("line %d: %w", l.lines+1, err)
			case l.service != "" && n.Service != l.service:
				return fmt.Errorf("%w: the ledger is for %s, not for %s: use a file for each service", horseracing.ErrInvalidArgument, n.Service, l.service)
			}
			l.service = n.Service
			l.entries[n.pair()] = n.Entry
		}
		l.advance(text)
	}
	return nil
}

// advance notes that text is in the file, after what was read and written before.
func (l *Ledger) advance(text []byte) {
	l.lines++
	l.size += int64(len(text))
	l.last = bytes.Clone(text)
}

// append writes a line and syncs it to disk. If that fails, part of the line may be in the
// file, so nothing can be appended any more.
func (l *Ledger) append(e Entry) error {
	text, err := json.Marshal(line{version, l.service, e})
	if err != nil {
		return err
	}
	if err := l.write(append(text, '\n')); err != nil {
		l.broken = fmt.Errorf("a line could not be written; open the ledger again: %w", err)
		return l.broken
	}
	l.entries[e.pair()] = e
	return nil
}

// write cuts off a line that is torn. It fails unless the file has grown by just this line:
// if the lock does not exclude others, at most one of several processes continues.
func (l *Ledger) write(text []byte) error {
	if l.isTorn {
		if err := os.Truncate(l.path, l.size); err != nil {
			return err
		}
	}
	if l.size > 0 && !bytes.HasSuffix(l.last, []byte("\n")) {
		text = append([]byte("\n"), text...)
	}
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Write(text); err != nil {
		return err
	}
	if err := l.sync(file); err != nil {
		return err
	}
	l.advance(text)
	info, err := file.Stat()
	if err == nil && info.Size() != l.size {
		err = errChanged
	}
	return err
}
