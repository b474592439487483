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

const resultsHelp = `Finished races, the newest first, or a file of them.

Without -o and --cursor it prints the newest race first, and ends. With one of them
it goes from --since on, the oldest race first, and ends when there is nothing new;
run again, it continues with what is new. With --follow it stays, and prints races
as they finish. A race that appears more than an hour after newer ones is missed.

-o FILE keeps a file in which each race stands once, whatever kills the program or
the machine. Beside it are FILE.position and FILE.lock. A last line that is torn is
mended by the next run. --since counts for the first run only. That looks for the
beginning of the history, which takes some seconds before the first race.

--cursor FILE keeps the position of what was printed, for pipes. FILE is written
after the lines that it covers, so a program that was killed prints some again. A
reader that must get each line once stores the cursor that --with-cursor adds to a
line together with it, and writes its last one to FILE before the next run.

` + amountsHelp

const resultsExamples = `  horseracing results --since 30d -o results.jsonl   # run it again for what is new
  horseracing results -n 20 --tier 3,4,5
  horseracing results --follow --with-cursor --cursor position.json | your-program`

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
	c := &cobra.Command{
		Use: "results", Short: "Finished races, the newest first, or a file of them", Args: takes(0, 0),
		Long: resultsHelp, Example: resultsExamples,
	}
	o := &resultsOptions{followOptions: followFlags(c.Flags(), "race")}
	c.Flags().StringVarP(&o.out, "out", "o", "", "keep the races in this `FILE`, each once")
	p.serviceFlags(c.Flags(), true)
	c.RunE = p.reading(func(ctx context.Context, s *service, _ []string) error {
		if err := o.check(p); err != nil {
			return err
		}
		tiers, err := s.tiers(ctx, *o.tiers)
		if err != nil {
			return err
		}
		if o.out != "" {
			p.patience = o.patience()
			return syncResults(ctx, p, s, o, tiers)
		}
		return printFinished(ctx, p, s, o.followOptions, tiers, raceListing, s.Races.Results, s.Races.Follow)
	})
	return c
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
	file, err := openSyncFile(o.out, s, tiers)
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
	failed := each(ctx, p, o.followOptions, f, func(race *horseracing.Race) error {
		added++
		reached(race.StartTime.Time)
		return file.add(race, f.Cursor())
	}, file.move)
	if _, isStore := errors.AsType[*storeError](failed); isStore {
		return failed // the checkpoint would be after what is not in the file
	}
	if failed != nil && added == 0 && file.isNew && ctx.Err() == nil {
		return errors.Join(failed, file.forget())
	}
	if p.attended {
		p.say(fmt.Sprintf("new races: %d", added))
	}
	return errors.Join(failed, file.save())
}
