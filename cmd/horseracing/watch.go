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

const watchHelp = `First come the races that are open now, as opened, unless -new leaves them out. In
JSON a line is {"kind":"opened","race":{…}}; the kinds are opened, updated and closed.

Examples:
  horseracing watch
  horseracing watch -new -json | jq -r 'select(.kind == "opened") | .race.info.name'
`

// change is a line of the command watch.
type change struct {
	Kind horseracing.RaceChangeKind `json:"kind"`
	Race *horseracing.Race          `json:"race"`
}

func watchOpen(flags *flag.FlagSet) action {
	interval := flags.Duration("interval", 0, "the `TIME` between polls (default 15s)")
	isNew := flags.Bool("new", false, "leave out the races that are open at the start")
	return reading(func(ctx context.Context, p *program, s *service, _ []string) error {
		t := newTable(p, changeLayout)
		p.patience = forever
		var old map[horseracing.RaceID]bool // those that are not printed when the watch first finds them
		if *isNew {
			var err error
			if old, err = openNow(ctx, p, s, cmp.Or(*interval, 15*time.Second)); err != nil {
				return err
			}
		}
		for c, err := range s.Races.WatchOpen(ctx, horseracing.WatchQuery{Interval: *interval}) {
			switch {
			case err == nil && c.Kind == horseracing.RaceOpened && old[c.Race.MainRaceID]:
				delete(old, c.Race.MainRaceID)
			case err == nil:
				line := change{c.Kind, c.Race}
				if err := errors.Join(t.add(line, &line), t.flush()); err != nil {
					return err
				}
			case endsReading(err):
				return err
			default:
				p.complain(err)
			}
		}
		return nil
	})
}

// openNow returns which races are open, as soon as the service responds.
func openNow(ctx context.Context, p *program, s *service, interval time.Duration) (map[horseracing.RaceID]bool, error) {
	for {
		races, err := s.Races.Open(ctx)
		switch {
		case err == nil, len(races) > 0:
			open := map[horseracing.RaceID]bool{}
			for i := range races {
				open[races[i].MainRaceID] = true
			}
			return open, nil
		case ctx.Err() != nil, endsReading(err):
			return nil, err
		}
		p.complain(err)
		select {
		case <-ctx.Done():
		case <-time.After(interval):
		}
	}
}

var changeLayout = layout[change]{
	titles: []string{"CHANGE ", "RACE  ", "CLOSES (UTC)             ", "TIER ", "NAME                  ", "FURLONGS", "LEVELS", "TAKEN   ", "FEE (TOKENS)"},
	cells: func(c *change) []any {
		r := c.Race
		return []any{c.Kind, r.MainRaceID, closing(r.RegistrationDeadline.Time, time.Now()), r.Tier, r.Info.Name, r.Length,
			levels(r.MinLevel, r.MaxLevel), fmt.Sprintf("%d of %d", len(r.Participants), r.Places), tokens(r.EntryFee)}
	},
}
