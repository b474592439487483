package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing"
)

const (
	batch = 100 // entries in a transaction

	// lookback is how long before the newest stored race a later run begins: a
	// race is listed once it is over, perhaps after races that started later.
	lookback = time.Hour
)

// crawl stores the races from the newest down to the oldest, or to those that
// an earlier run stored.
func crawl(ctx context.Context, client *horseracing.Client, s *store, o options, stderr io.Writer) error {
	w, err := s.walk(ctx, "races", o.tier, o.since)
	if err != nil || o.follow && w.isDone() && !w.following.IsZero() { // following continues where it stopped
		return err
	}
	pager := client.Races.Results(w.query(o))
	return walkThrough(ctx, pager, s, w, stderr, func(r *horseracing.Race) row { return raceRow(r, o.tier) })
}

func crawlTournaments(ctx context.Context, client *horseracing.Client, s *store, o options, stderr io.Writer) error {
	w, err := s.walk(ctx, "tournaments", o.tier, o.since)
	if err != nil {
		return err
	}
	pager := client.Tournaments.Results(w.query(o))
	return walkThrough(ctx, pager, s, w, stderr, tournamentRow)
}

// walkThrough stores what a pager returns, each batch with the cursor after it.
func walkThrough[T any](ctx context.Context, pager *horseracing.Pager[T], s *store, w *walk, stderr io.Writer, rowOf func(*T) row) (err error) {
	done, added, unreadable := 0, 0, 0
	began := time.Now()
	printed := began
	defer func() {
		if err == nil || done > 0 {
			fmt.Fprintf(stderr, "export: %d %s in %v, %d of them new, in %s\n", done, w.table, time.Since(began).Round(time.Millisecond), added, s.path)
		}
		if unreadable > 0 {
			fmt.Fprintf(stderr, "export: %d %s could not be read; their JSON is in the table unreadable\n", unreadable, w.table)
		}
	}()
	var rows []row
	save := func(cursor horseracing.Cursor) error {
		isNew, err := s.save(ctx, w, rows, cursor)
		if err == nil && len(rows) > 0 {
			done, added = done+len(rows), added+isNew
		}
		if err == nil && time.Since(printed) > 5*time.Second {
			fmt.Fprintf(stderr, "%d %s, back to %s\n", done, w.table, instant(rows[len(rows)-1].start).Format(time.DateOnly))
			printed = time.Now()
		}
		rows = rows[:0]
		return err
	}
	for entry, err := range pager.Entries(ctx) {
		switch {
		case errors.Is(err, horseracing.ErrHole) && entry.JSON != nil: // one entry; the rest follows
			rows = append(rows, unreadableRow(w.table, entry.JSON))
			unreadable++
		case errors.Is(err, horseracing.ErrHole):
			fmt.Fprintf(stderr, "export: %v\n", err)
		case err != nil && ctx.Err() == nil:
			return errors.Join(err, save(pager.Cursor())) // the entries before it are kept
		case err != nil:
			return err
		default:
			rows = append(rows, rowOf(entry.Value))
		}
		if len(rows) == batch {
			if err := save(pager.Cursor()); err != nil {
				return err
			}
		}
	}
	return save(horseracing.Cursor{}) // the end
}

// follow stores each new result, with the follower's cursor in the same
// transaction, until the context is canceled.
func follow(ctx context.Context, client *horseracing.Client, s *store, o options, stderr io.Writer) error {
	w, err := s.walk(ctx, "races", o.tier, o.since)
	if err != nil {
		return err
	}
	fmt.Fprintln(stderr, "export: following new results, Ctrl-C stops")
	since := w.floor()
	if since.IsZero() {
		since = time.UnixMilli(1) // there is no past; the zero time would leave out what finished since the crawl
	}
	follower := client.Races.Follow(horseracing.FollowQuery{
		Tier: o.tier, Since: since, Resume: w.following, Interval: o.interval, Lookback: lookback,
	})
	for race, err := range follower.All(ctx) {
		switch {
		case errors.Is(err, horseracing.ErrUnauthorized), errors.Is(err, horseracing.ErrForbidden), errors.Is(err, horseracing.ErrInvalidArgument):
			return err // a retry cannot help
		case err != nil:
			fmt.Fprintf(stderr, "export: %v; following continues\n", err)
			continue
		}
		added, err := s.saveFollowed(ctx, w, raceRow(race, o.tier), follower.Cursor())
		if err != nil {
			return err
		}
		if added > 0 {
			fmt.Fprintf(stderr, "%s  race %d  %d furlongs at %q\n", race.StartTime.Format(time.DateTime), race.MainRaceID, race.Length, race.Info.HippodromeName)
		}
	}
	return ctx.Err()
}

// fetchHorses stores the horses that ran and are not stored yet.
func fetchHorses(ctx context.Context, client *horseracing.Client, s *store, stderr io.Writer) error {
	missing, err := s.missingHorses(ctx)
	if err != nil {
		return err
	}
	stored := 0
	for part := range slices.Chunk(missing, batch) {
		found, fetchErr := client.Horses.GetMany(ctx, part, horseracing.AsBackground())
		var rows []row
		for _, horse := range found {
			rows = append(rows, horseRow(horse))
		}
		err := s.transact(ctx, func(tx *sql.Tx) error {
			_, err := s.insert(tx, rows)
			return err
		})
		if err := errors.Join(fetchErr, err); err != nil {
			return err
		}
		stored += len(rows)
		fmt.Fprintf(stderr, "export: %d of %d horses, in %s\n", stored, len(missing), s.path)
	}
	return nil
}
