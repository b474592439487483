package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
)

func (p *program) resultsCommand() *cobra.Command {
	c := p.command("results", "Finished races, the newest first, or a file of them", 0, 0)
	o := listingFlags(c.Flags(), "race")
	c.Flags().StringVarP(&o.out, "out", "o", "", "keep the races in this `FILE`, each once")
	return p.reading(c, func(ctx context.Context, s *service, _ []string) error {
		tiers, err := o.begin(ctx, p, s)
		switch {
		case err != nil:
			return err
		case o.out != "":
			return syncResults(ctx, p, s, o, tiers)
		}
		return printFinished(ctx, p, s, o, tiers, listed[horseracing.Race]{
			layout: finishedRaceLayout, start: func(r *horseracing.Race) time.Time { return r.StartTime.Time }, results: s.Races.Results, follow: s.Races.Follow,
		})
	})
}

// syncResults adds what is new to the file of -o.
func syncResults(ctx context.Context, p *program, s *service, o *listingOptions, tiers []horseracing.TierID) error {
	file, err := openSyncFile(o.out, s, tiers)
	if err != nil {
		return err
	}
	defer file.close()
	file.startAt(p, *o.since, o.out)
	f := s.Races.Follow(o.newQuery(tiers, file.Cursor, true))
	file.Cursor, file.Ended = f.Cursor(), false
	if err := file.save(false); err != nil { // before the first line is written
		return err
	}
	reached, added := p.progressOf("races", false), 0
	failed := each(ctx, p, o, loop(ctx, o, f), func(race *horseracing.Race) error {
		if race != nil {
			added++
			reached(race.StartTime.Time)
		}
		return file.add(race, f.Cursor())
	})
	if err := file.save(true); err != nil {
		return err
	}
	if failed != nil && added == 0 && file.isNew && ctx.Err() == nil {
		return errors.Join(failed, file.forget())
	}
	p.say(fmt.Sprintf("races added to %s: %d", o.out, added))
	return failed
}
