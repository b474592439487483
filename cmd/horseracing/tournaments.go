package main

import (
	"context"
	"flag"
	"time"

	"github.com/horseracing-go/horseracing"
)

const tournamentsHelp = `-finished prints the finished ones, the newest first, as the command results
prints races; the other flags are for that, and do what they do there. A tournament
that appears more than a day after newer ones is missed with -follow and -cursor.

Examples:
  horseracing tournaments
  horseracing tournaments -finished -tier 5 -since 90d
  horseracing tournaments -finished -follow -json
`

var tournamentListing = listed[horseracing.Tournament]{tournamentLayout, func(t *horseracing.Tournament) time.Time { return t.StartTime.Time }}

func tournaments(flags *flag.FlagSet) action {
	finished := flags.Bool("finished", false, "print finished tournaments")
	o := followFlags(flags, "tournament")
	return reading(func(ctx context.Context, p *program, s *service, args []string) error {
		if !*finished {
			if err := exclude(flags, "needs -finished", "n", "tier", "since", "before", "concurrency", "cursor", "with-cursor", "follow", "interval"); err != nil {
				return err
			}
		}
		switch {
		case *finished && len(args) > 0:
			return usageError("-finished takes no ids")
		case *finished:
			if err := o.check(p, flags); err != nil {
				return err
			}
			tiers, err := s.tiers(ctx, o.tiers)
			if err != nil {
				return err
			}
			return printFinished(ctx, p, s, o, tiers, tournamentListing, s.Tournaments.Results, s.Tournaments.Follow)
		case len(args) > 0:
			found, err := getEach(args, func(id string) (*horseracing.Tournament, error) {
				return s.Tournaments.Get(ctx, horseracing.TournamentID(id))
			})
			return printList(p, tournamentLayout, found, err)
		}
		open, err := s.Tournaments.Open(ctx)
		return printList(p, tournamentLayout, open, err)
	})
}

var tournamentLayout = layout[horseracing.Tournament]{
	titles: []string{"TOURNAMENT              ", "START (UTC)     ", "TIER", "NAME                  ", "HIPPODROME            ", "FURLONGS", "LEVELS", "HORSES", "FEE (TOKENS)"},
	cells: func(t *horseracing.Tournament) []any {
		return []any{t.ID, minute(t.StartTime.Time), t.Tier, t.Name, t.HippodromeName, t.Length, levels(t.MinLevel, t.MaxLevel), len(t.Participants), tokens(t.EntryFee)}
	},
}
