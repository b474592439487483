package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
)

func (p *program) tournamentsCommand() *cobra.Command {
	var finished bool
	var o *listingOptions
	c := p.reading("tournaments [ID…]", "The open tournaments, those with these ids, or finished ones", cobra.ArbitraryArgs, func(ctx context.Context, s *service, args []string) error {
		if finished {
			return p.finishedTournaments(ctx, s, o, args)
		}
		if err := needs(o.flags, "--finished", "limit", "tier", "since", "before", "concurrency", "cursor", "with-cursor", "follow", "interval"); err != nil {
			return err
		}
		var found []horseracing.Entry[horseracing.Tournament]
		var err error
		if len(args) == 0 {
			var open []horseracing.Tournament
			open, err = s.Tournaments.Open(ctx)
			found = receivedEntries(p, open)
		} else {
			found, err = getEach(p, args, func(id string) (*horseracing.Tournament, error) {
				return s.Tournaments.Get(ctx, horseracing.TournamentID(id))
			})
		}
		return printEntries(p, openTournamentLayout, found, err)
	})
	c.Flags().BoolVar(&finished, "finished", false, "print finished tournaments")
	o = listingFlags(c, "tournament")
	return c
}

func (p *program) finishedTournaments(ctx context.Context, s *service, o *listingOptions, args []string) error {
	if len(args) > 0 {
		return usageError("--finished takes no ids")
	}
	if err := o.resolve(ctx, p, s); err != nil {
		return err
	}
	horses := column{title: "HORSES", isNumber: true}
	return printFinished(ctx, p, s, o, listed[horseracing.Tournament]{
		layout: tournamentLayout(horses, func(t *horseracing.Tournament) any { return len(t.Participants) }),
		start:  func(t *horseracing.Tournament) time.Time { return t.StartTime.Time }, results: s.Tournaments.Results, follow: s.Tournaments.Follow,
	})
}

var openTournamentLayout = tournamentLayout(column{title: "FREE", width: 5, isNumber: true}, func(t *horseracing.Tournament) any { return free(len(t.Participants), t.Places) })

// tournamentLayout returns a layout with a column about how many horses there are.
func tournamentLayout(horses column, count func(*horseracing.Tournament) any) layout[horseracing.Tournament] {
	return layout[horseracing.Tournament]{
		columns: []column{
			{title: "TOURNAMENT", width: 24}, {title: "START (UTC)", width: 16}, horses, {title: "FEE (TOKENS)", isNumber: true}, {title: "NAME", width: 20},
			{title: "LEVELS"}, {title: "TIER", isNumber: true}, {title: "FURLONGS", isNumber: true}, {title: "HIPPODROME"},
		},
		cells: func(t *horseracing.Tournament) []any {
			return []any{t.ID, minute(t.StartTime.Time), count(t), tokens(t.EntryFee), t.Name, levels(t.MinLevel, t.MaxLevel), t.Tier, t.Length, t.HippodromeName}
		},
	}
}
