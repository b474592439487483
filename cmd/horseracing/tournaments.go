package main

import (
	"context"
	"flag"
	"time"

	"github.com/horseracing-go/horseracing"
)

const tournamentsHelp = `-finished prints the finished ones, the newest first, as the command results
prints races; the other flags are for that.

Examples:
  horseracing tournaments
  horseracing tournaments -finished -tier 5 -since 90d
`

func tournaments(flags *flag.FlagSet) action {
	finished := flags.Bool("finished", false, "print finished tournaments")
	l := listingFlags(flags)
	return reading(func(ctx context.Context, p *program, s *service, args []string) error {
		if !*finished {
			if err := exclude(flags, "needs -finished", "n", "tier", "since", "before", "concurrency"); err != nil {
				return err
			}
		}
		switch {
		case *finished && len(args) > 0:
			return usageError("-finished takes no ids")
		case *finished:
			if err := l.check(flags); err != nil {
				return err
			}
			tiers, err := s.tiers(ctx, l.tiers)
			if err != nil {
				return err
			}
			p.patience = listingPatience
			start := func(t *horseracing.Tournament) time.Time { return t.StartTime.Time }
			return printListing(p, tournamentLayout, "tournaments", start, s.Tournaments.Results(l.query(tiers)).All(ctx), l.most)
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
