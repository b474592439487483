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

const batch = 100 // entries in a transaction

// poll stores what finished in a listing since it was called last, in this run or an earlier
// one. While it follows, an error that a later call may not meet is printed.
type poll func(isFollowing bool) error

// newPolls returns a poll of each listing that is wanted.
func newPolls(ctx context.Context, client *horseracing.Client, s *store, o options, stderr io.Writer) (polls []poll, err error) {
	for _, tier := range o.tiers {
		rowOf := func(r *horseracing.Race) row { return raceRow(r, tier) }
		poll, err := newPoll(ctx, client.Races.Follow, s, "races", tier, o, stderr, rowOf)
		if err != nil {
			return nil, err
		}
		polls = append(polls, poll)
		if o.tournaments {
			poll, err := newPoll(ctx, client.Tournaments.Follow, s, "tournaments", tier, o, stderr, tournamentRow)
			if err != nil {
				return nil, err
			}
			polls = append(polls, poll)
		}
	}
	return polls, nil
}

func newPoll[T any](ctx context.Context, follow func(horseracing.FollowQuery) *horseracing.Follower[T], s *store, table string, tier horseracing.TierID, o options, stderr io.Writer, rowOf func(*T) row) (poll, error) {
	w, err := s.walk(ctx, table, tier, o.since)
	if err != nil {
		return nil, err
	}
	follower := follow(horseracing.FollowQuery{
		Tier: tier, Resume: w.cursor, Concurrency: o.concurrency,
		Since: time.UnixMilli(max(1, w.since)), // the zero time would leave out the past
	})
	return func(isFollowing bool) error { return catchUp(ctx, follower, s, w, isFollowing, stderr, rowOf) }, nil
}

// catchUp stores what a follower finds, each batch with the cursor after it.
func catchUp[T any](ctx context.Context, follower *horseracing.Follower[T], s *store, w *walk, isFollowing bool, stderr io.Writer, rowOf func(*T) row) (err error) {
	stored, unreadable := 0, 0
	began, progress := time.Now(), newProgress(stderr)
	defer func() {
		if stored > 0 || err == nil && !isFollowing {
			fmt.Fprintf(stderr, "export: %d new %s in %v, in %s\n", stored, w.table, time.Since(began).Round(time.Millisecond), s.path)
		}
		if unreadable > 0 {
			fmt.Fprintf(stderr, "export: %d %s could not be read; their JSON is in the table unreadable\n", unreadable, w.table)
		}
	}()
	var rows []row
	save := func(isDone bool) error {
		err := s.save(ctx, w, rows, follower.Cursor(), isDone)
		if err == nil && len(rows) > 0 {
			stored += len(rows)
			progress.printf("export: %d %s, up to %s", stored, w.table, instant(rows[len(rows)-1].start).Format(time.DateOnly))
		}
		rows = nil
		return err
	}
	for entry, err := range follower.CatchUp(ctx) {
		broken, _ := errors.AsType[*horseracing.DecodeError](err)
		_, isTie := errors.AsType[*horseracing.TieOverflowError](err)
		switch {
		case err == nil:
			rows = append(rows, rowOf(entry))
		case broken != nil && broken.Raw != nil: // one entry; the rest follows
			rows = append(rows, unreadableRow(w.table, broken.Raw))
			unreadable++
		case isTie:
			fmt.Fprintf(stderr, "export: %v\n", err)
		case isFollowing && !isFinal(err):
			fmt.Fprintf(stderr, "export: %v; following continues\n", err)
		default:
			return errors.Join(err, save(false)) // the entries before it are kept
		}
		if len(rows) == batch {
			if err := save(false); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return save(true)
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

// isFinal reports whether no later poll can succeed.
func isFinal(err error) bool {
	return errors.Is(err, horseracing.ErrUnauthorized) || errors.Is(err, horseracing.ErrForbidden) || errors.Is(err, horseracing.ErrInvalidArgument)
}

// repeat calls the polls in turn until the context is canceled.
func repeat(ctx context.Context, polls []poll, interval time.Duration, stderr io.Writer) error {
	fmt.Fprintln(stderr, "export: following new results, Ctrl-C stops")
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		for _, poll := range polls {
			if err := poll(true); err != nil {
				return err
			}
		}
	}
}

// fetchHorses stores the horses that ran and are not stored yet.
func fetchHorses(ctx context.Context, client *horseracing.Client, s *store, stderr io.Writer) error {
	missing, err := s.missingHorses(ctx)
	if err != nil {
		return err
	}
	stored, progress := 0, newProgress(stderr)
	for part := range slices.Chunk(missing, batch) {
		var rows []row
		var fetchErr error
		for _, number := range part {
			horse, err := client.Horses.Get(ctx, number, horseracing.AsBackground())
			if err != nil {
				fetchErr = err
				break
			}
			rows = append(rows, horseRow(horse))
		}
		err := s.transact(ctx, func(tx *sql.Tx) error {
			return s.insert(tx, rows)
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
