package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"time"

	"cloud.google.com/go/storage"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

// A note is the folder's spans.json: what its files hold, of one tier of one service.
type note struct {
	Source string          `json:"source"`
	Tier   int             `json:"tier"`
	Months map[string]part `json:"months"`
}

// A part of a month is what its files hold.
type part struct {
	Since  time.Time `json:"since"`
	Before time.Time `json:"before"`
}

// claim notes in the folder which parts of which months its files are about to hold. It refuses to replace a file by one
// that would hold less, and to put races of another service or tier beside those that are there.
//
// If the run fails, release takes back what was noted about files that the run did not touch.
func (c crawl) claim(ctx context.Context) (release func(context.Context) error, err error) {
	fs, err := filesystem.New(ctx, c.out)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	sizes, err := c.sizes(ctx, fs)
	if err != nil {
		return nil, err
	}
	was, err := c.readNote(ctx, fs)
	if err != nil {
		return nil, err
	}
	// A month without a file is one that a run did not come to.
	maps.DeleteFunc(was.Months, func(month string, _ part) bool { _, ok := sizes[month]; return !ok })
	switch {
	case len(sizes) == 0:
	case was.Source == "":
		return nil, program.UsageError(fmt.Sprintf("%s holds files of another program: choose another -out", c.out))
	case was.Source != c.source:
		return nil, program.UsageError(fmt.Sprintf("%s holds races of %s, not of %s: choose another -out, or if both are the same service add -source %q", c.out, was.Source, c.source, was.Source))
	case was.Tier != c.tier:
		return nil, program.UsageError(fmt.Sprintf("%s holds races of tier %d, not of tier %d: choose another -out", c.out, was.Tier, c.tier))
	}

	will := note{Source: c.source, Tier: c.tier, Months: maps.Clone(was.Months)}
	for start := monthOf(c.since); start.Before(c.before); start = start.AddDate(0, 1, 0) {
		month, holds := start.Format("2006-01"), part{Since: start, Before: start.AddDate(0, 1, 0)}
		if c.since.After(holds.Since) {
			holds.Since = c.since.UTC()
		}
		if c.before.Before(holds.Before) {
			holds.Before = c.before.UTC()
		}
		if has, ok := was.Months[month]; ok && (has.Since.Before(holds.Since) || has.Before.After(holds.Before)) {
			return nil, program.UsageError(fmt.Sprintf("the files of %s in %s hold %s to %s, some of which this run would leave out: choose another -out, or all of that time",
				month, c.out, has.Since.Format(time.RFC3339), has.Before.Format(time.RFC3339)))
		}
		will.Months[month] = holds
	}
	release = func(ctx context.Context) error { return c.release(ctx, was, will, sizes) }
	return release, c.writeNote(ctx, fs, will)
}

// release notes again what was noted of the months whose files have the sizes that they had. A run that replaced a file
// has written at least what was in it, so at the same size it is the same.
func (c crawl) release(ctx context.Context, was, will note, sizes map[string][2]int64) error {
	fs, err := filesystem.New(ctx, c.out)
	if err != nil {
		return err
	}
	defer fs.Close()
	now, err := c.sizes(ctx, fs)
	if err != nil {
		return err
	}
	for month := range will.Months {
		if now[month] != sizes[month] {
			continue
		}
		if has, ok := was.Months[month]; ok {
			will.Months[month] = has
		} else {
			delete(will.Months, month)
		}
	}
	if remover, ok := fs.(filesystem.Remover); ok && len(will.Months) == 0 {
		return remover.Remove(ctx, c.notePath())
	}
	return c.writeNote(ctx, fs, will)
}

// sizes returns the sizes of each month's files, of races and of participants.
func (c crawl) sizes(ctx context.Context, fs filesystem.Interface) (map[string][2]int64, error) {
	sizes := map[string][2]int64{}
	for i, folder := range []string{"/races/", "/participants/"} {
		names, err := fs.List(ctx, strings.TrimRight(c.out, "/")+folder+"*.jsonl")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			size, err := fs.Size(ctx, name)
			if err != nil {
				return nil, err
			}
			month := strings.TrimSuffix(name[strings.LastIndexAny(name, `/\`)+1:], ".jsonl")
			both := sizes[month]
			both[i] = size
			sizes[month] = both
		}
	}
	return sizes, nil
}

func (c crawl) notePath() string { return strings.TrimRight(c.out, "/") + "/spans.json" }

// readNote returns the note, an empty one if there is none.
func (c crawl) readNote(ctx context.Context, fs filesystem.Interface) (note, error) {
	n := note{Months: map[string]part{}}
	text, err := filesystem.Read(ctx, fs, c.notePath())
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, storage.ErrObjectNotExist) {
		return n, nil
	} else if err != nil {
		return n, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&n); err != nil {
		return n, fmt.Errorf("%s is not a note of beam: %w", c.notePath(), err)
	}
	return n, nil
}

func (c crawl) writeNote(ctx context.Context, fs filesystem.Interface, n note) error {
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(ctx, fs, c.notePath(), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// monthOf is when the month of t begins.
func monthOf(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// defaultSince is the first of the month before that of the end. So a later run without -since holds all of each month
// that it writes again.
func defaultSince(before time.Time) time.Time { return monthOf(before).AddDate(0, -1, 0) }
