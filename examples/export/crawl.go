package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

// batch is how many races a transaction holds: those of a page or so.
const batch = 10

// crawl walks the listing from the newest race to the oldest, a transaction a batch.
func crawl(ctx context.Context, client *horseracing.Client, s *store, w *walk, o options, stderr io.Writer) (err error) {
	switch {
	case w.done:
		total, err := s.count(ctx, "races")
		fmt.Fprintf(stderr, "export: %s is complete already, with %d races\n", s.path, total)
		return err
	case o.follow && w.followed():
		return nil
	}
	p := newProgress(stderr, "races", remaining(ctx, client, w))
	stop := p.AnnouncePauses(client)
	added, unreadable := 0, 0
	defer func() {
		stop()
		p.End()
		if err != nil && p.Done() == 0 {
			return
		}
		total, countErr := s.count(context.WithoutCancel(ctx), "races")
		fmt.Fprintf(stderr, "export: %d races in %s, %d of them new; %s holds %d\n", p.Done(), p.Took(), added, s.path, total)
		if unreadable > 0 {
			fmt.Fprintf(stderr, "export: %d races could not be read; their JSON is in the table unreadable\n", unreadable)
		}
		err = errors.Join(err, countErr)
	}()
	pager := client.Races.Results(horseracing.ResultsQuery{
		Tier: w.tier, Since: w.floor, Before: w.before, Resume: w.cursor, Concurrency: o.concurrency,
	})
	var entries []horseracing.Entry[horseracing.Race]
	save := func() error {
		isNew, err := s.save(ctx, w, entries, pager.Cursor(), o.raw)
		added += isNew
		if n := len(entries); n > 0 && err == nil {
			back := ""
			if last := entries[n-1].Value; last != nil {
				back = "back to " + last.StartTime.Format(time.DateTime)
			}
			p.Add(n, back, program.Pace(client))
		}
		entries = entries[:0]
		return err
	}
	for entry, err := range pager.Entries(ctx) {
		tie, isTie := errors.AsType[*horseracing.TieOverflowError](err)
		switch {
		case isTie: // the walk goes on behind it
			p.Println(fmt.Sprintf("export: %d races start at %s, a whole page: the listing cannot show whether there are more", tie.Seen, tie.StartTime.Format(time.RFC3339)))
			continue
		case err != nil && entry.JSON == nil:
			if ctx.Err() == nil {
				err = errors.Join(err, save()) // what came before it is kept
			}
			return err
		case err != nil: // one race that cannot be read; the walk goes on behind it, too
			unreadable++
		}
		if entries = append(entries, entry); len(entries) == batch {
			if err := save(); err != nil {
				return err
			}
		}
	}
	if err := save(); err != nil {
		return err
	}
	return s.finish(ctx, w)
}

// follow saves each new result, with the follower's place in the same
// transaction, until the context is canceled.
func follow(ctx context.Context, client *horseracing.Client, s *store, w *walk, o options, stderr io.Writer) error {
	fmt.Fprintln(stderr, "export: following new results, Ctrl-C stops")
	follower := client.Races.Follow(horseracing.FollowQuery{
		Tier: w.tier, Since: w.followSince(), Resume: w.following, Interval: o.interval, Lookback: lookback,
	})
	for race, err := range follower.All(ctx) {
		switch {
		case errors.Is(err, horseracing.ErrUnauthorized), errors.Is(err, horseracing.ErrForbidden), errors.Is(err, horseracing.ErrInvalidArgument):
			return err // a retry cannot help
		case err != nil:
			fmt.Fprintf(stderr, "export: %v; following goes on\n", err)
			continue
		}
		isNew, err := s.saveFollowed(ctx, w, race, follower.Cursor())
		if err != nil {
			return err
		}
		if isNew {
			fmt.Fprintf(stderr, "%s  race %d  %d furlongs at %q\n", race.StartTime.Format(time.DateTime), race.MainRaceID, race.Length, race.Info.HippodromeName)
		}
	}
	return ctx.Err()
}

// remaining estimates how many races the walk has before it; zero: unknown. The
// listing that it walks has no count, but the older one skips
// entries by number: a few requests find where it passes an instant.
func remaining(ctx context.Context, client *horseracing.Client, w *walk) int {
	failed := false
	position := func(instant time.Time) int {
		within := func(offset int) bool {
			if failed {
				return false
			}
			races, err := client.Races.ResultsV1(horseracing.OffsetQuery{Tier: w.tier, Offset: offset}).Take(ctx, 1)
			failed = err != nil
			return err == nil && len(races) > 0 && !races[0].StartTime.Before(instant)
		}
		low, high := 0, 64
		for high < 1<<26 && within(high) {
			low, high = high, high*2
		}
		for high-low > 10+high/50 {
			if middle := (low + high) / 2; within(middle) {
				low = middle
			} else {
				high = middle
			}
		}
		return high
	}
	n := position(w.floor) - w.saved
	if !w.before.IsZero() {
		n -= position(w.before)
	}
	if failed {
		return 0
	}
	return max(n, 0)
}
