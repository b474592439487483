package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
)

// resultsOptions are the flags of the command results.
type resultsOptions struct {
	*followOptions
	out string
}

var raceListing = listed[horseracing.Race]{
	layout: finishedRaceLayout,
	start:  func(r *horseracing.Race) time.Time { return r.StartTime.Time },
}

func (p *program) resultsCommand() *cobra.Command {
	c := p.command("results", "Finished races, the newest first, or a file of them", 0, 0)
	o := &resultsOptions{followOptions: followFlags(c.Flags(), "race")}
	c.Flags().StringVarP(&o.out, "out", "o", "", "keep the races in this `FILE`, each once")
	return p.reading(c, func(ctx context.Context, s *service, _ []string) error {
		if err := o.check(p); err != nil {
			return err
		}
		tiers, err := s.tierIDs(ctx, *o.tiers)
		if err != nil {
			return err
		}
		if o.out != "" {
			p.patience = o.patience()
			return syncResults(ctx, p, s, o, tiers)
		}
		return printFinished(ctx, p, s, o.followOptions, tiers, raceListing, s.Races.Results, s.Races.Follow)
	})
}

// check refuses flags that would do nothing.
func (o *resultsOptions) check(p *program) error {
	if o.out == "" {
		return o.followOptions.check(p)
	}
	return cmp.Or(refuse(o.flags, "and -o exclude each other", "limit", "before", "table", "with-cursor", "cursor"), o.checkInterval(), o.listingOptions.check())
}

// syncResults adds what is new to the file of -o.
func syncResults(ctx context.Context, p *program, s *service, o *resultsOptions, tiers []horseracing.TierID) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	file, err := openSyncFile(o.out, s, tiers, stop)
	if err != nil {
		return err
	}
	defer file.close()
	file.startAt(p, *o.since, o.out)
	f := s.Races.Follow(o.query(tiers, file.Cursor, true))
	if err := file.start(f.Cursor()); err != nil {
		return err
	}
	reached, added := p.progressOf("races", false), 0
	failed := each(ctx, p, o.followOptions, loop(ctx, o.followOptions, f), func(race *horseracing.Race) error {
		added++
		reached(race.StartTime.Time)
		return file.add(race, f.Cursor())
	}, func() error { return file.add(nil, f.Cursor()) })
	if err := file.end(); err != nil {
		return err
	}
	if failed != nil && added == 0 && file.isNew && ctx.Err() == nil {
		return errors.Join(failed, file.forget())
	}
	p.say(fmt.Sprintf("races added to %s: %d", o.out, added))
	return failed
}
