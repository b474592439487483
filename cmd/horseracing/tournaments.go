package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
)

func (p *program) tournamentsCommand() *cobra.Command {
	var finished bool
	var o *listingOptions
	var v *view[horseracing.Tournament]
	c := p.reading("tournaments [ID…]", "The open tournaments, those with these ids, or finished ones", cobra.ArbitraryArgs, func(ctx context.Context, s *service, args []string) error {
		if finished {
			return p.finishedTournaments(ctx, s, o, v, args)
		}
		if err := needs(o.flags, "--finished", "since", "before", "concurrency", "cursor", "follow", "interval"); err != nil {
			return err
		}
		if o.flags.Changed("tier") {
			tiers, err := tierNumbers(ctx, s, *o.words)
			if err != nil {
				return err
			}
			v.keeps = append(v.keeps, func(t *horseracing.Tournament) bool { return slices.Contains(tiers, t.Tier) })
		}
		var found []horseracing.Entry[horseracing.Tournament]
		var err error
		if len(args) == 0 {
			found, err = received(ctx, p, s.Tournaments.Open)
		} else {
			found, err = getEach(ctx, p, args, func(ctx context.Context, id string, opts ...horseracing.CallOption) (*horseracing.Tournament, error) {
				return s.Tournaments.Get(ctx, horseracing.TournamentID(id), opts...)
			})
		}
		return v.print(found, err)
	})
	c.Flags().BoolVar(&finished, "finished", false, "print finished tournaments")
	o = listingFlags(c, "tournament")
	v = newView(p, c, tournamentLayout)
	return c
}

func (p *program) finishedTournaments(ctx context.Context, s *service, o *listingOptions, v *view[horseracing.Tournament], args []string) error {
	if len(args) > 0 {
		return usageError("--finished takes no ids")
	}
	if err := o.resolve(ctx, p, s); err != nil {
		return err
	}
	if !v.isChosen {
		v.columns = slices.Clone(v.columns)
		v.columns[slices.Index(v.columns, "free")] = "horses"
	}
	return printFinished(ctx, p, s, o, listed[horseracing.Tournament]{
		view: v, start: func(t *horseracing.Tournament) time.Time { return t.StartTime.Time }, results: s.Tournaments.Results, follow: s.Tournaments.Follow,
	})
}

// tournamentLayout has the fields of open and finished tournaments, and the columns of open ones.
var tournamentLayout = layout[horseracing.Tournament]{
	fields: []field[horseracing.Tournament]{
		words("TOURNAMENT", func(t *horseracing.Tournament) horseracing.TournamentID { return t.ID }).wide(24),
		words("NAME", func(t *horseracing.Tournament) string { return t.Name }).wide(20),
		moment("START (UTC)", func(t *horseracing.Tournament) time.Time { return t.StartTime.Time }).wide(16),
		whole("FREE", func(t *horseracing.Tournament) int { return max(0, t.Places-len(t.Participants)) }).
			as(func(t *horseracing.Tournament) string { return free(len(t.Participants), t.Places) }).wide(5),
		whole("HORSES", func(t *horseracing.Tournament) int { return len(t.Participants) }),
		amount("FEE (TOKENS)", func(t *horseracing.Tournament) horseracing.BigInt { return t.EntryFee }).filtered("max-fee", "only tournaments whose fee is at most this many `TOKENS`"),
		words("LEVELS", func(t *horseracing.Tournament) string { return levels(t.MinLevel, t.MaxLevel) }).
			filteredBy("level", "only tournaments that take horses of this `LEVEL`", func(t *horseracing.Tournament, level int) bool {
				return level >= t.MinLevel && (t.MaxLevel == 0 || level <= t.MaxLevel)
			}),
		whole("TIER", func(t *horseracing.Tournament) horseracing.TierID { return t.Tier }),
		whole("FURLONGS", func(t *horseracing.Tournament) int { return t.Length }).filtered("length", "only tournaments of this many `FURLONGS`"),
		words("HIPPODROME", func(t *horseracing.Tournament) string { return t.HippodromeName }),
	},
	columns: []string{"tournament", "start", "free", "fee", "name", "levels", "tier", "furlongs", "hippodrome"},
}
