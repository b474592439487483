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

	// lookback is how long before the newest stored race a later run starts: a
	// race is listed once it is over, perhaps after races that started later.
	lookback = time.Hour
)

// crawl stores the races from the newest down to the oldest, or to those that
// an earlier run stored.
func crawl(ctx context.Context, client *horseracing.Client, s *store, tier horseracing.TierID, o options, stderr io.Writer) error {
	w, err := s.walk(ctx, "races", tier, o.since)
	if err != nil || o.follow && w.isDone() && !w.following.IsZero() { // following continues where it stopped
		return err
	}
	pager := client.Races.Results(w.query(o))
	return walkThrough(ctx, pager, s, w, stderr, func(r *horseracing.Race) row { return raceRow(r, tier) })
}

func crawlTournaments(ctx context.Context, client *horseracing.Client, s *store, tier horseracing.TierID, o options, stderr io.Writer) error {
	if !o.tournaments {
		return nil
	}
	w, err := s.walk(ctx, "tournaments", tier, o.since)
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
	progress := newProgress(stderr)
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
		if err == nil && len(rows) > 0 {
			progress.printf("export: %d %s, %s", done, w.table, w.howFar(instant(rows[len(rows)-1].start)))
		}
		rows = rows[:0]
		return err
	}
	for entry, err := range pager.Entries(ctx) {
		switch {
		case errors.Is(err, horseracing.ErrSkipped) && entry.JSON != nil: // one entry; the rest follows
			rows = append(rows, unreadableRow(w.table, entry.JSON))
			unreadable++
		case errors.Is(err, horseracing.ErrSkipped):
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
	return save(horseracing.Cursor{}) // the end, which a Pager reports only after a second empty page
}

// progress prints a line every five seconds at most.
type progress struct {
	out     io.Writer
	printed time.Time
}

func newProgress(out io.Writer) *progress { return &progress{out, time.Now()} }

func (p *progress) printf(format string, args ...any) {
	if time.Since(p.printed) > 5*time.Second {
		fmt.Fprintf(p.out, format+"\n", args...)
		p.printed = time.Now()
	}
}

// howFar describes a walk that has come down to t. Where a listing starts is
// unknown until the walk is there.
func (w *walk) howFar(t time.Time) string {
	text := "back to " + t.Format(time.DateOnly)
	if floor := w.floor(); !floor.IsZero() {
		text += fmt.Sprintf(", %.0f %% of the way to %s", 100*float64(time.Since(t))/float64(time.Since(floor)), floor.Format(time.DateOnly))
	}
	return text
}

// follow polls the tiers in turn until the context is canceled, and stores each
// new result.
func follow(ctx context.Context, client *horseracing.Client, s *store, o options, stderr io.Writer) error {
	fmt.Fprintln(stderr, "export: following new results, Ctrl-C stops")
	polls := make([]func() error, len(o.tiers))
	for i, tier := range o.tiers {
		w, err := s.walk(ctx, "races", tier, o.since)
		if err != nil {
			return err
		}
		since := w.floor()
		if since.IsZero() {
			since = time.UnixMilli(1) // there is no past; the zero time would leave out what finished since the crawl
		}
		follower := client.Races.Follow(horseracing.FollowQuery{Tier: tier, Since: since, Resume: w.following, Lookback: lookback})
		polls[i] = func() error { return catchUp(ctx, follower, s, w, stderr) }
	}
	ticker := time.NewTicker(o.interval)
	defer ticker.Stop()
	for {
		for _, poll := range polls {
			if err := poll(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// catchUp stores what one poll finds, each race with the follower's cursor in
// the same transaction. An error that a later poll may not meet is printed.
func catchUp(ctx context.Context, follower *horseracing.Follower[horseracing.Race], s *store, w *walk, stderr io.Writer) error {
	for race, err := range follower.CatchUp(ctx) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, horseracing.ErrUnauthorized), errors.Is(err, horseracing.ErrForbidden), errors.Is(err, horseracing.ErrInvalidArgument):
			return err // a retry cannot help
		case err != nil:
			fmt.Fprintf(stderr, "export: %v; following continues\n", err)
			continue
		}
		added, err := s.saveFollowed(ctx, w, raceRow(race, w.tier), follower.Cursor())
		if err != nil {
			return err
		}
		if added > 0 {
			fmt.Fprintf(stderr, "%s  race %d  %d furlongs at %q\n", race.StartTime.Format(time.DateTime), race.MainRaceID, race.Length, race.Info.HippodromeName)
		}
	}
	return nil
}

// fetchHorses stores the horses that ran and are not stored yet.
func fetchHorses(ctx context.Context, client *horseracing.Client, s *store, stderr io.Writer) error {
	missing, err := s.missingHorses(ctx)
	if err != nil {
		return err
	}
	stored, progress := 0, newProgress(stderr)
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
		progress.printf("export: %d of %d horses", stored, len(missing))
	}
	fmt.Fprintf(stderr, "export: %d new horses, in %s\n", stored, s.path)
	return nil
}
