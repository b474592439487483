package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
)

func (p *program) openCommand() *cobra.Command {
	var v *view[horseracing.Race]
	c := p.reading("open", "The open races", cobra.NoArgs, func(ctx context.Context, s *service, _ []string) error {
		races, err := received(ctx, p, s.Races.Open)
		if err != nil {
			return err
		}
		var tiers []string
		if v.given["tier"] != "" {
			tiers = strings.Split(strings.ReplaceAll(v.given["tier"], " ", ""), ",")
		}
		if err := p.checkTierNames(ctx, s, tiers, races); err != nil {
			return err
		}
		if len(races) > 0 && len(v.keeps) > min(1, len(tiers)) && !slices.ContainsFunc(races, func(r horseracing.Entry[horseracing.Race]) bool { return v.fits(r.Value) }) {
			p.say("no open race fits")
		}
		isShut := func(r *horseracing.Race) int { // closed or full, which comes last
			if r.CheckEntry(nil, p.now) != nil {
				return 1
			}
			return 0
		}
		slices.SortStableFunc(races, func(x, y horseracing.Entry[horseracing.Race]) int {
			a, b := x.Value, y.Value
			return cmp.Or(isShut(a)-isShut(b), a.RegistrationDeadline.Compare(b.RegistrationDeadline.Time), cmp.Compare(a.MainRaceID, b.MainRaceID))
		})
		return v.print(races, nil)
	})
	v = newView(p, c, p.raceLayout(openColumns))
	v.isWhole = true
	return c
}

func (p *program) raceCommand() *cobra.Command {
	var v *view[horseracing.Race]
	c := p.reading("race ID…", "Races by main_race_id", cobra.MinimumNArgs(1), func(ctx context.Context, s *service, args []string) error {
		ids, err := parseNumbers[horseracing.RaceID](args)
		if err != nil {
			return err
		}
		races, err := getEach(ctx, p, ids, s.Races.Get)
		if v.isChosen || p.asCSV || p.printsJSON() {
			return v.print(races, err)
		}
		var open, finished []horseracing.Entry[horseracing.Race]
		for _, race := range v.selected(races) {
			if race.Value.Finished() {
				finished = append(finished, race)
			} else {
				open = append(open, race)
			}
		}
		if v.columns, v.isWhole = openColumns, true; len(open) > 0 {
			err = errors.Join(v.print(open, nil), err)
		}
		if v.columns, v.isWhole = finishedColumns, false; len(finished) > 0 || len(open) == 0 {
			return v.print(finished, err)
		}
		return err
	})
	v = newView(p, c, p.raceLayout(openColumns))
	return c
}

func (p *program) resultsCommand() *cobra.Command {
	var o *listingOptions
	var v *view[horseracing.Race]
	c := p.reading("results", "Finished races, the newest first, or a file of them", cobra.NoArgs, func(ctx context.Context, s *service, _ []string) error {
		if err := o.resolve(ctx, p, s); err != nil {
			return err
		}
		if o.out != "" {
			return p.keepResults(ctx, s, o)
		}
		return printFinished(ctx, p, s, o, listed[horseracing.Race]{
			view: v, start: func(r *horseracing.Race) time.Time { return r.StartTime.Time }, results: s.Races.Results, follow: s.Races.Follow,
		})
	})
	o = listingFlags(c, "race")
	fileFlag(c.Flags(), &o.out, "out", "o", "keep the races in this `FILE`, each once")
	v = newView(p, c, p.raceLayout(finishedColumns))
	for _, other := range []string{"limit", "before", "cursor", "sort", "columns", "csv", "jq", "level", "max-fee", "length"} {
		c.MarkFlagsMutuallyExclusive("out", other)
	}
	return c
}

// raceLayout has the fields of open and finished races, of which openColumns or finishedColumns
// are shown.
func (p *program) raceLayout(columns []string) layout[horseracing.Race] {
	place := func(title string, at int) field[horseracing.Race] {
		return words(title, func(r *horseracing.Race) string {
			finishers, _ := r.Finishers() // none if the final order cannot be read
			if len(finishers) <= at {
				return ""
			}
			return fmt.Sprintf("#%d (%.2f)", finishers[at].Number, finishers[at].Total)
		}).wide(14)
	}
	return layout[horseracing.Race]{columns: columns, fields: []field[horseracing.Race]{
		whole("RACE", func(r *horseracing.Race) horseracing.RaceID { return r.MainRaceID }).wide(6),
		words("NAME", func(r *horseracing.Race) string { return r.Info.Name }).wide(15),
		moment("START (UTC)", func(r *horseracing.Race) time.Time { return r.StartTime.Time }).wide(16),
		moment("CLOSES (UTC)", func(r *horseracing.Race) time.Time { return r.RegistrationDeadline.Time }).
			as(func(r *horseracing.Race) string {
				return closing(r.RegistrationDeadline.Time, cmp.Or(p.now, time.Now()))
			}).wide(15),
		whole("FREE", func(r *horseracing.Race) int { return max(0, r.Places-len(r.Participants)) }).
			as(func(r *horseracing.Race) string { return free(len(r.Participants), r.Places) }).wide(5),
		amount("FEE (TOKENS)", func(r *horseracing.Race) horseracing.BigInt { return r.EntryFee }).filtered("max-fee", "only races whose fee is at most this many `TOKENS`"),
		words("LEVELS", func(r *horseracing.Race) string { return levels(r.MinLevel, r.MaxLevel) }).
			filteredBy("level", "only races that take horses of this `LEVEL`", (*horseracing.Race).AcceptsLevel),
		whole("MIN LEVEL", func(r *horseracing.Race) int { return r.MinLevel }),
		whole("MAX LEVEL", func(r *horseracing.Race) int { return r.MaxLevel }),
		words("TIER", func(r *horseracing.Race) horseracing.TierName { return r.Tier }).wide(5).filtered("tier", "only races of these tiers, by `NAMES` like Omega,Beta"),
		place("FIRST", 0), place("SECOND", 1), place("THIRD", 2),
		whole("FURLONGS", func(r *horseracing.Race) int { return r.Length }).filtered("length", "only races of this many `FURLONGS`"),
		words("HIPPODROME", func(r *horseracing.Race) string { return r.Info.HippodromeName }),
		words("TYPE", func(r *horseracing.Race) horseracing.RaceType { return r.Type }),
	}}
}

var (
	openColumns     = []string{"race", "closes", "free", "fee", "levels", "tier", "furlongs", "name", "hippodrome"}
	finishedColumns = []string{"race", "start", "tier", "first", "second", "third", "furlongs", "name", "type"}
)
