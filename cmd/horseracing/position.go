package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/horseracing-go/horseracing"
)

// saveInterval is the shortest time between two writes of a position.
const saveInterval = time.Second

// position is how far a listing was read, as a file. It is bound to a service and to
// tiers, and locked while it is used.
type position struct {
	Service string               `json:"service"`
	Tiers   []horseracing.TierID `json:"tiers"`
	Cursor  horseracing.Cursor   `json:"cursor"`
	Bytes   *int64               `json:"bytes,omitzero"` // of the file of -o that are covered, or nil for -cursor

	path  string
	isNew bool
	lock  *flock.Flock
	saved time.Time // when the file was written last
}

// openPosition locks lockPath and reads the position at path, which may not exist yet.
func openPosition(path, lockPath string, s *service, tiers []horseracing.TierID) (*position, error) {
	lock := flock.New(lockPath)
	switch locked, err := lock.TryLock(); {
	case err != nil:
		return nil, err
	case !locked:
		return nil, fmt.Errorf("%s is in use by another process", strings.TrimSuffix(lockPath, ".lock"))
	}
	p := &position{Service: s.BaseURL(), Tiers: normal(tiers), path: path, lock: lock}
	if err := p.read(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// close lets other processes use the position.
func (p *position) close() { _ = p.lock.Close() }

// read reads the file, if it exists: a position, or the text of a cursor alone.
func (p *position) read() error {
	text, err := os.ReadFile(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		p.isNew = true
		return nil
	}
	if err != nil {
		return err
	}
	damaged := fmt.Errorf("%s does not hold a position, or is damaged: restore it, or remove it to begin anew", p.path)
	trimmed := strings.TrimSpace(string(text))
	if trimmed == "" {
		return damaged
	}
	if !strings.HasPrefix(trimmed, "{") {
		if p.Cursor, err = horseracing.ParseCursor(trimmed); err != nil {
			return fmt.Errorf("%w (%w)", damaged, err)
		}
		return nil
	}
	stored := position{}
	if err := json.Unmarshal(text, &stored); err != nil || stored.Cursor.IsZero() || stored.Bytes != nil && *stored.Bytes < 0 {
		return damaged
	}
	if stored.Service != p.Service {
		return fmt.Errorf("%s belongs to %s, not to %s: use another file", p.path, stored.Service, p.Service)
	}
	if !slices.Equal(normal(stored.Tiers), p.Tiers) {
		return fmt.Errorf("%s is about tiers %s, not %s: use another file, or -tier %[2]s", p.path, joined(stored.Tiers), joined(p.Tiers))
	}
	p.Cursor, p.Bytes = stored.Cursor, stored.Bytes
	return nil
}

// due reports whether it is time to save.
func (p *position) due() bool { return time.Since(p.saved) >= saveInterval }

// save replaces the file: whoever reads it, after a loss of power too, sees the old
// position or the new one.
func (p *position) save() error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	f, err := os.Create(p.path + ".tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), p.path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	if folder, err := os.Open(filepath.Dir(p.path)); err == nil { // not every system can sync one
		_ = folder.Sync()
		folder.Close()
	}
	p.saved = time.Now()
	return nil
}

// forget removes a new position after a run that failed before its first race: it would
// fix a -since with which nothing was read.
func (p *position) forget() error { return os.Remove(p.path) }

// normal returns tiers sorted and each once. No tier is the service's default.
func normal(tiers []horseracing.TierID) []horseracing.TierID {
	if len(tiers) == 0 {
		return []horseracing.TierID{horseracing.TierOmega}
	}
	return slices.Compact(slices.Sorted(slices.Values(tiers)))
}

func joined(tiers []horseracing.TierID) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(normal(tiers)), "[]"), " ", ",")
}
