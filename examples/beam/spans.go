package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"cloud.google.com/go/storage"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
)

// A part is what the files of a month hold of it.
type part struct {
	Tier   int       `json:"tier"`
	Since  time.Time `json:"since"`
	Before time.Time `json:"before"`
}

// claim notes in the folder's spans.json which parts of which months its files are about to hold. It refuses to
// replace a file by one of another tier, or by one that would hold less.
func (c crawl) claim(ctx context.Context) error {
	fs, err := filesystem.New(ctx, c.out)
	if err != nil {
		return err
	}
	defer fs.Close()
	path := strings.TrimRight(c.out, "/") + "/spans.json"
	held := map[string]part{}
	switch text, err := filesystem.Read(ctx, fs, path); {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, storage.ErrObjectNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(text, &held); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	for start := monthOf(c.since); start.Before(c.before); start = start.AddDate(0, 1, 0) {
		month, end := start.Format("2006-01"), start.AddDate(0, 1, 0)
		will := part{Tier: c.tier, Since: start, Before: end}
		if c.since.After(start) {
			will.Since = c.since.UTC()
		}
		if c.before.Before(end) {
			will.Before = c.before.UTC()
		}
		if has, ok := held[month]; ok && (has.Tier != will.Tier || has.Since.Before(will.Since) || has.Before.After(will.Before)) {
			return usageError(fmt.Sprintf("the files of %s in %s hold tier %d from %s to %s, some of which this run would leave out; choose another -out, or that tier and all of that time",
				month, c.out, has.Tier, has.Since.Format(time.RFC3339), has.Before.Format(time.RFC3339)))
		}
		held[month] = will
	}
	text, err := json.MarshalIndent(held, "", "  ")
	if err != nil {
		return err
	}
	return filesystem.Write(ctx, fs, path, text)
}

// monthOf is when the month of t begins.
func monthOf(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// defaultSince is the first of the month before that of the end. So a later run without -since holds all of each month
// that it writes again.
func defaultSince(before time.Time) time.Time { return monthOf(before).AddDate(0, -1, 0) }
