package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
)

// change is a line of the command watch.
type change struct {
	Kind    horseracing.RaceChangeKind `json:"kind"`
	Race    *horseracing.Race          `json:"race"`
	Time    time.Time                  `json:"time"`
	Changed []string                   `json:"changed,omitempty"`
}

func (p *program) watchCommand() *cobra.Command {
	var interval time.Duration
	var isNew bool
	c := p.reading("watch", "Changes in the open races", cobra.NoArgs, func(ctx context.Context, s *service, _ []string) error {
		if interval < time.Second {
			return usageError("--interval must be at least 1s")
		}
		return p.watch(ctx, s, interval, isNew)
	})
	c.Flags().DurationVar(&interval, "interval", 15*time.Second, "the `TIME` between polls, at least 1s")
	c.Flags().BoolVar(&isNew, "new", false, "leave out the races that are open at the start")
	return c
}

// watch prints the changes of the open races, from those on that are open at the start if
// isNew.
func (p *program) watch(ctx context.Context, s *service, interval time.Duration, isNew bool) error {
	table := newSheet(p, changeLayout)
	for poll, err := range s.Races.Watch(ctx, horseracing.WatchQuery{Interval: interval}) {
		switch {
		case endsReading(err):
			return err
		case err != nil:
			p.complain(err)
			continue
		case isNew:
			isNew = false // from the next poll on
			continue
		}
		for _, c := range poll.Changes {
			line := change{Kind: c.Kind, Race: c.Race, Time: time.Now().UTC().Truncate(time.Second), Changed: changed(c)}
			if err := errors.Join(table.add(line, &line), table.flush()); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// changed returns what an update changed.
func changed(c horseracing.RaceChange) (parts []string) {
	if c.Kind != horseracing.RaceUpdated {
		return nil
	}
	add := func(isChanged bool, format string, args ...any) {
		if isChanged {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	for _, horse := range c.Race.Participants {
		add(!c.Previous.Has(horse.Number), "horse %d entered", horse.Number)
	}
	for _, horse := range c.Previous.Participants {
		add(!c.Race.Has(horse.Number), "horse %d left", horse.Number)
	}
	add(!c.Race.RegistrationDeadline.Equal(c.Previous.RegistrationDeadline.Time), "closes %s", minute(c.Race.RegistrationDeadline.Time))
	add(!c.Race.StartTime.Equal(c.Previous.StartTime.Time), "starts %s", minute(c.Race.StartTime.Time))
	add(c.Race.Status != c.Previous.Status, "status %q", c.Race.Status)
	return parts
}

var changeLayout = layout[change]{
	columns: []column{
		{title: "TIME", width: 5}, {title: "CHANGE", width: 7}, {title: "RACE", width: 6, isNumber: true}, {title: "CLOSES (UTC)", width: 16},
		{title: "FREE", width: 5, isNumber: true}, {title: "FEE (TOKENS)", isNumber: true}, {title: "NAME", width: 15}, {title: "WHAT CHANGED", width: 19},
		{title: "LEVELS"},
	},
	cells: func(c *change) []any {
		r := c.Race
		return []any{c.Time.Format("15:04"), c.Kind, r.MainRaceID, closing(r.RegistrationDeadline.Time, c.Time),
			free(len(r.Participants), r.Places), tokens(r.EntryFee), r.Info.Name, strings.Join(c.Changed, ", "), levels(r.MinLevel, r.MaxLevel)}
	},
}
