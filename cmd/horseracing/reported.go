package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gofrs/flock"

	"github.com/horseracing-go/horseracing"
)

// reported is the file of --state: the open races as they were reported last. It is locked while
// it is used. Without a path it keeps nothing.
type reported struct {
	origin
	Races []horseracing.Race `json:"races"`

	isContinued bool // the file existed
	path        string
	lock        *flock.Flock
}

// openReported locks and reads the file at path, which may not exist yet.
func openReported(p *program, path, service string) (*reported, error) {
	r := &reported{origin: origin{Service: service}}
	if path == "" {
		return r, nil
	}
	path, lock, err := lockFile("--state", path)
	if err != nil {
		return nil, err
	}
	r.path, r.lock = path, lock
	text, err := readText(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	var stored reported
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	switch {
	case err != nil:
		err = fmt.Errorf("%s was not written by --state, or is damaged: restore it, or remove it to begin anew (%w)", path, err)
	default:
		err = stored.check(r.origin, path)
	}
	if err != nil {
		r.close()
		return nil, err
	}
	r.Races, r.isContinued = stored.Races, true
	return r, nil
}

// close lets other processes use the file.
func (r *reported) close() {
	if r.lock != nil {
		_ = r.lock.Close()
	}
}

// find returns the race as it was reported last, or nil.
func (r *reported) find(race *horseracing.Race) *horseracing.Race {
	at := slices.IndexFunc(r.Races, func(known horseracing.Race) bool { return keyOf(&known) == keyOf(race) })
	if at < 0 {
		return nil
	}
	return &r.Races[at]
}

// changes returns what has changed since the races were reported.
func (r *reported) changes(races []horseracing.Race) (all []horseracing.RaceChange) {
	now := reported{Races: races}
	for i := range r.Races {
		if last := r.Races[i]; now.find(&last) == nil {
			all = append(all, horseracing.RaceChange{Kind: horseracing.RaceClosed, Race: &last, Previous: &last})
		}
	}
	for i := range races {
		race, last := races[i], r.find(&races[i])
		if last == nil {
			all = append(all, horseracing.RaceChange{Kind: horseracing.RaceOpened, Race: &race})
			continue
		}
		before := *last
		c := horseracing.RaceChange{Kind: horseracing.RaceUpdated, Race: &race, Previous: &before}
		if len(changed(c)) > 0 {
			all = append(all, c)
		}
	}
	return all
}

// note notes that a change was reported.
func (r *reported) note(c horseracing.RaceChange) {
	r.Races = slices.DeleteFunc(r.Races, func(known horseracing.Race) bool { return keyOf(&known) == keyOf(c.Race) })
	if c.Kind != horseracing.RaceClosed {
		r.Races = append(r.Races, *c.Race)
	}
}

// save writes the file, if there is one.
func (r *reported) save() error {
	if r.path == "" {
		return nil
	}
	return replaceFile(r.path, r)
}
