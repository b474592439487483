package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/horseracing-go/horseracing"
)

const watchHelp = `First come the races that are open now, as opened. In JSON a line is
{"kind":"opened","race":{…}}; the kinds are opened, updated and closed.

Examples:
  horseracing watch
  horseracing watch -json | jq -r 'select(.kind == "opened") | .race.info.name'
`

// change is a line of the command watch.
type change struct {
	Kind horseracing.RaceChangeKind `json:"kind"`
	Race *horseracing.Race          `json:"race"`
}

func watchOpen(flags *flag.FlagSet) action {
	interval := flags.Duration("interval", 0, "the `TIME` between polls (default 15s)")
	return reading(func(ctx context.Context, p *program, s *service, _ []string) error {
		t := newTable(p, changeLayout)
		for c, err := range s.Races.WatchOpen(ctx, horseracing.WatchQuery{Interval: *interval}) {
			switch {
			case err == nil:
				line := change{c.Kind, c.Race}
				if err := errors.Join(t.add(line, &line), t.flush()); err != nil {
					return err
				}
			case endsReading(err):
				return err
			default:
				p.complain(err.Error())
			}
		}
		return nil
	})
}

var changeLayout = layout[change]{
	titles: []string{"CHANGE ", "RACE  ", "CLOSES (UTC)    ", "TIER ", "NAME                  ", "FURLONGS", "LEVELS", "TAKEN   ", "FEE (TOKENS)"},
	cells: func(c *change) []any {
		r := c.Race
		return []any{c.Kind, r.MainRaceID, minute(r.RegistrationDeadline.Time), r.Tier, r.Info.Name, r.Length,
			levels(r.MinLevel, r.MaxLevel), fmt.Sprintf("%d of %d", len(r.Participants), r.Places), tokens(r.EntryFee)}
	},
}
