package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/horseracing-go/horseracing"
)

// crawl walks the listing from the newest race to the oldest, a transaction a page.
func crawl(ctx context.Context, client *horseracing.Client, s *store, w *walk, o options, stderr io.Writer) (err error) {
	if w.done {
		total, err := s.count(ctx, "races")
		fmt.Fprintf(stderr, "export: %s is complete already, with %d races\n", s.path, total)
		return err
	}
	p := newProgress(stderr, "races", remaining(ctx, client, w))
	added := 0
	defer func() {
		p.End()
		if err != nil && p.Done() == 0 {
			return
		}
		total, countErr := s.count(context.WithoutCancel(ctx), "races")
		fmt.Fprintf(stderr, "export: %d races in %s, %d of them new; %s holds %d\n", p.Done(), p.Took(), added, s.path, total)
		err = errors.Join(err, countErr)
	}()
	pager := client.Races.Results(horseracing.ResultsQuery{
		Tier: w.tier, Since: w.floor, Before: w.before, Resume: w.cursor, Concurrency: o.concurrency,
	})
	for {
		var tie *horseracing.TieOverflowError
		for page, err := range pager.Pages(ctx) {
			if err != nil && !errors.As(err, &tie) {
				return err
			}
			isNew, err := s.save(ctx, w, page, pager.Cursor())
			if err != nil {
				return err
			}
			added += isNew
			if len(page) > 0 {
				p.Add(len(page), "back to "+page[len(page)-1].StartTime.Format(time.DateTime))
			}
		}
		if tie == nil {
			return s.finish(ctx, w)
		}
		// A whole page shares an instant: the listing cannot show whether there
		// are more. Behind it the walk goes on.
		p.Println(fmt.Sprintf("export: %d races start at %s, a whole page: the listing cannot show whether there are more", tie.Seen, tie.StartTime.Format(time.RFC3339)))
	}
}

// follow saves each new result until the context ends. A page that cannot be
// read (a DecodeError) does not keep Follow from handing out what is newer, and
// each poll that does not get beyond it begins with the error. So what started
// after the last such error was handed out by a poll that read everything.
func follow(ctx context.Context, client *horseracing.Client, s *store, w *walk, o options, stderr io.Writer) error {
	fmt.Fprintln(stderr, "export: following new results, Ctrl-C stops")
	for race, err := range client.Races.Follow(horseracing.FollowQuery{
		Tier: w.tier, Since: w.newest.Add(-lookback), Interval: o.interval, Lookback: lookback,
	}).All(ctx) {
		switch {
		case errors.Is(err, horseracing.ErrUnauthorized), errors.Is(err, horseracing.ErrForbidden):
			return err // a retry cannot help
		case err != nil:
			if _, unread := errors.AsType[*horseracing.DecodeError](err); unread {
				w.unread = time.Now()
			}
			fmt.Fprintf(stderr, "export: %v; retrying\n", err)
			continue
		}
		saved, err := s.save(ctx, w, []horseracing.Race{*race}, w.cursor)
		if err != nil {
			return err
		}
		if saved > 0 {
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
