package main

import (
	"context"
	"errors"
	"flag"
	"iter"
	"time"

	"github.com/horseracing-go/horseracing"
)

const resultsHelp = `With -follow it waits for races to finish and prints them as they appear, the
oldest first; with -since also those of the past, and with -cursor those of the
last hour.

-cursor FILE keeps the position: the same command line, run again, continues
after the last line that was printed, however the program ended. If FILE exists,
-since and -before are ignored in favor of those of the first run.

FILE is written after the lines that it covers, so a program that was killed may
print some lines a second time. A reader that must get each line exactly once
stores the cursor that -with-cursor adds to a line together with the line, and
writes the last one it has to FILE before it starts the program again.

Examples:
  horseracing results -n 20
  horseracing results -tier 3,4,5 -since 2025-01-01 -concurrency 8 -cursor position.txt >>races.jsonl
  horseracing results -follow -with-cursor -cursor position.txt | your-program
`

func finishedRaces(flags *flag.FlagSet) action {
	l := listingFlags(flags)
	follow := flags.Bool("follow", false, "wait for races to finish, and print them as they appear")
	interval := flags.Duration("interval", 0, "with -follow, the `TIME` between polls (default 30s)")
	return reading(func(ctx context.Context, p *program, s *service, _ []string) error {
		if !*follow {
			return printListing(ctx, p, l, "race", finishedRaceLayout, func(q horseracing.ResultsQuery) listing[horseracing.Race] {
				return s.Races.Results(q)
			})
		}
		if !l.before.IsZero() {
			return usageError("-before and -follow exclude each other")
		}
		l.goesOn = true
		return printListing(ctx, p, l, "race", finishedRaceLayout, func(q horseracing.ResultsQuery) listing[horseracing.Race] {
			if l.cursor != "" && q.Resume.IsZero() && q.Since.IsZero() {
				q.Since = time.Now().Add(-time.Hour) // a position from the first moment on
			}
			return s.Races.Follow(horseracing.FollowQuery{Tiers: q.Tiers, Since: q.Since, Resume: q.Resume, Interval: *interval, Concurrency: q.Concurrency})
		})
	})
}

// listing is a Pager or a Follower.
type listing[T any] interface {
	All(context.Context) iter.Seq2[*T, error]
	Cursor() horseracing.Cursor
}

// listingOptions are the flags of a command that prints a listing.
type listingOptions struct {
	tiers         *[]horseracing.TierID
	since, before *time.Time
	most          int
	concurrency   int
	cursor        string
	withCursor    bool
	goesOn        bool // after any error, as a Follower does
}

func listingFlags(flags *flag.FlagSet) *listingOptions {
	l := &listingOptions{
		tiers:  tierFlag(flags),
		since:  timeFlag(flags, "since", "only those that start at this `TIME` or later: 30d, 12h, or a date or instant in UTC; default the whole history"),
		before: timeFlag(flags, "before", "only those that start before this `TIME`; default now"),
	}
	flags.IntVar(&l.most, "n", 0, "print at most this `NUMBER` of entries; default all")
	flags.IntVar(&l.concurrency, "concurrency", 4, "how many `REQUESTS` may be in flight")
	flags.StringVar(&l.cursor, "cursor", "", "keep the position in this `FILE`, and continue there if it exists")
	flags.BoolVar(&l.withCursor, "with-cursor", false, "add to each JSON line the position after it")
	return l
}

// query returns the query of the flags, or one that continues at the cursor.
func (l *listingOptions) query(at horseracing.Cursor) (horseracing.ResultsQuery, error) {
	q := horseracing.ResultsQuery{Tiers: *l.tiers, Since: *l.since, Before: *l.before, Concurrency: l.concurrency}
	if l.most < 0 {
		return q, usageError("-n must not be negative")
	}
	if !at.IsZero() {
		q.Resume, q.Since, q.Before = at, time.Time{}, time.Time{}
	}
	return q, nil
}

// printListing prints the entries of a listing, and returns an error at the end
// if some could not be read.
func printListing[T any](ctx context.Context, p *program, l *listingOptions, name string, view layout[T], open func(horseracing.ResultsQuery) listing[T]) (failed error) {
	position, err := openPosition(l.cursor)
	if err != nil {
		return err
	}
	defer func() {
		if err := position.save(); failed == nil {
			failed = err
		}
	}()
	query, err := l.query(position.cursor)
	if err != nil {
		return err
	}
	entries, t, printed, holes := open(query), newTable(p, view), 0, 0
	if err := position.set(entries.Cursor()); err != nil { // now rather than after the first lines
		return err
	}
	for entry, err := range entries.All(ctx) {
		switch {
		case err == nil:
			printed++
			var line any = entry
			if l.withCursor {
				line = map[string]any{name: entry, "cursor": entries.Cursor()}
			}
			if err := errors.Join(t.add(line, entry), t.flush()); err != nil {
				return err
			}
			if !p.interactive {
				p.reportProgress("%ss: %d", name, printed)
			}
		case errors.Is(err, horseracing.ErrHole):
			holes++
			p.complain(err.Error())
		case l.goesOn && !endsReading(err):
			p.complain(err.Error())
		default:
			return err
		}
		if err := position.set(entries.Cursor()); err != nil {
			return err
		}
		if printed == l.most && l.most > 0 {
			break
		}
	}
	if holes > 0 {
		return errors.New("some entries could not be read")
	}
	return t.flush()
}
