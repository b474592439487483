package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/horseracing-go/horseracing"
)

const resultsHelp = `Without -o and -cursor it prints the newest race first, and ends. With one of them
it goes from -since on, the oldest race first, and ends when there is nothing new;
run again, it continues with what is new. With -follow it stays, and prints races
as they finish. A race that appears more than an hour after newer ones is missed.

-o FILE keeps a file in which each race stands once, whatever kills the program or
the machine. Beside it are FILE.position and FILE.lock. A last line that is torn is
mended by the next run. -since counts for the first run only. That looks for the
beginning of the history, which takes some seconds before the first race.

-cursor FILE keeps the position of what was printed, for pipes. FILE is written
after the lines that it covers, so a program that was killed prints some again. A
reader that must get each line once stores the cursor that -with-cursor adds to a
line together with it, and writes its last one to FILE before the next run.

Fees and prizes in JSON are in units of 10^-18 tokens, in the notation of the service.

Examples:
  horseracing results -since 30d -o results.jsonl   # run it again for what is new
  horseracing results -n 20 -tier 3,4,5
  horseracing results -follow -with-cursor -cursor position.json | your-program
`

// resultsOptions are the flags of the command results.
type resultsOptions struct {
	*followOptions
	out string
}

var raceListing = listed[horseracing.Race]{finishedRaceLayout, func(r *horseracing.Race) time.Time { return r.StartTime.Time }}

func finishedRaces(flags *flag.FlagSet) action {
	o := &resultsOptions{followOptions: followFlags(flags, "race")}
	flags.StringVar(&o.out, "o", "", "keep the races in this `FILE`, each once")
	return reading(func(ctx context.Context, p *program, s *service, _ []string) error {
		if err := o.check(p, flags); err != nil {
			return err
		}
		tiers, err := s.tiers(ctx, o.tiers)
		switch {
		case err != nil:
			return err
		case o.out != "":
			p.patience = o.patience()
			return mirrorResults(ctx, p, s, o, tiers)
		}
		return printFinished(ctx, p, s, o.followOptions, tiers, raceListing, s.Races.Results, s.Races.Follow)
	})
}

// check refuses flags that would do nothing.
func (o *resultsOptions) check(p *program, flags *flag.FlagSet) error {
	if o.out == "" {
		return o.followOptions.check(p, flags)
	}
	return cmp.Or(exclude(flags, "and -o exclude each other", "n", "before", "table", "with-cursor", "cursor"), o.checkInterval(flags), o.listingOptions.check(flags))
}

// mirrorResults adds what is new to the file of -o.
func mirrorResults(ctx context.Context, p *program, s *service, o *resultsOptions, tiers []horseracing.TierID) error {
	m, err := openMirror(o.out, s, tiers)
	if err != nil {
		return err
	}
	defer m.close()
	f := s.Races.Follow(o.query(tiers, m.Cursor, true))
	if err := m.start(f.Cursor()); err != nil {
		return err
	}
	reached, added := p.progressOf("races", false), 0
	failed := each(ctx, p, o.followOptions, f, func(race *horseracing.Race) error {
		added++
		reached(race.StartTime.Time)
		return m.add(race, f.Cursor())
	}, m.move)
	if _, isFull := errors.AsType[*storeError](failed); isFull {
		return failed // the position would be after what is not in the file
	}
	if failed != nil && added == 0 && m.isNew && ctx.Err() == nil {
		return errors.Join(failed, m.forget())
	}
	if p.attended {
		p.say(fmt.Sprintf("new races: %d", added))
	}
	return errors.Join(failed, m.save())
}
