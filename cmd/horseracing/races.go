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
	"github.com/horseracing-go/horseracing/cmd/internal/connection"
	"github.com/horseracing-go/horseracing/cmd/internal/enter"
)

// openFilter is which open races are printed. What is zero does not apply.
type openFilter struct {
	tiers  []string
	level  int
	maxFee *horseracing.BigInt
}

func (f *openFilter) fits(r *horseracing.Race) bool {
	isNamed := func(name string) bool { return strings.EqualFold(name, string(r.Tier)) }
	return (len(f.tiers) == 0 || slices.ContainsFunc(f.tiers, isNamed)) &&
		(f.level <= 0 || r.AcceptsLevel(f.level)) && (f.maxFee == nil || r.EntryFee.Cmp(*f.maxFee) <= 0)
}

func (p *program) openCommand() *cobra.Command {
	var filter openFilter
	c := p.reading("open", "The open races", cobra.NoArgs, func(ctx context.Context, s *service, _ []string) error {
		var response horseracing.Response
		all, err := s.Races.Open(ctx, horseracing.CaptureResponse(&response))
		if err != nil {
			return err
		}
		if err := p.checkTierNames(ctx, s, filter.tiers, all); err != nil {
			return err
		}
		races := slices.DeleteFunc(receivedEntries(p, all), func(e horseracing.Entry[horseracing.Race]) bool { return !filter.fits(e.Value) })
		if len(races) == 0 && len(all) > 0 && (filter.level > 0 || filter.maxFee != nil) {
			p.say("no open race fits")
		}
		now := connection.ServiceTime(&response)
		isShut := func(r *horseracing.Race) int { // closed or full, which comes last
			if r.CheckEntry(nil, now) != nil {
				return 1
			}
			return 0
		}
		slices.SortStableFunc(races, func(x, y horseracing.Entry[horseracing.Race]) int {
			a, b := x.Value, y.Value
			return cmp.Or(isShut(a)-isShut(b), a.RegistrationDeadline.Compare(b.RegistrationDeadline.Time), cmp.Compare(a.MainRaceID, b.MainRaceID))
		})
		return printEntries(p, openRaceLayout(now), races, nil)
	})
	namesFlag(c.Flags(), &filter.tiers)
	c.Flags().IntVar(&filter.level, "level", 0, "only races that take horses of this `LEVEL`")
	c.Flags().Func("max-fee", "only races whose fee is at most this many `TOKENS`", enter.Tokens(&filter.maxFee))
	return c
}

func (p *program) raceCommand() *cobra.Command {
	return p.reading("race ID…", "Races by main_race_id", cobra.MinimumNArgs(1), func(ctx context.Context, s *service, args []string) error {
		ids, err := parseNumbers[horseracing.RaceID](args)
		if err != nil {
			return err
		}
		var response horseracing.Response
		races, err := getEach(p, ids, func(id horseracing.RaceID) (*horseracing.Race, error) {
			return s.Races.Get(ctx, id, horseracing.CaptureResponse(&response))
		})
		if p.printsJSON() {
			return printEntries(p, finishedRaceLayout, races, err)
		}
		var open, finished []horseracing.Entry[horseracing.Race]
		for _, race := range races {
			if race.Value.Finished() {
				finished = append(finished, race)
			} else {
				open = append(open, race)
			}
		}
		now := openRaceLayout(connection.ServiceTime(&response))
		switch {
		case len(open) == 0:
			return printEntries(p, finishedRaceLayout, finished, err)
		case len(finished) == 0:
			return printEntries(p, now, open, err)
		}
		return errors.Join(printEntries(p, now, open, nil), printEntries(p, finishedRaceLayout, finished, err))
	})
}

func openRaceLayout(now time.Time) layout[horseracing.Race] {
	return layout[horseracing.Race]{
		columns: []column{
			{title: "RACE", isNumber: true}, {title: "CLOSES (UTC)"}, {title: "FREE", isNumber: true}, {title: "FEE (TOKENS)", isNumber: true}, {title: "LEVELS"},
			{title: "TIER"}, {title: "NAME"}, {title: "FURLONGS", isNumber: true}, {title: "HIPPODROME"},
		},
		cells: func(r *horseracing.Race) []any {
			return []any{r.MainRaceID, closing(r.RegistrationDeadline.Time, now), free(len(r.Participants), r.Places), tokens(r.EntryFee), levels(r.MinLevel, r.MaxLevel),
				r.Tier, r.Info.Name, r.Length, r.Info.HippodromeName}
		},
	}
}

var finishedRaceLayout = layout[horseracing.Race]{
	columns: []column{
		{title: "RACE", width: 6, isNumber: true}, {title: "START (UTC)", width: 16}, {title: "TIER", width: 5},
		{title: "FIRST", width: 14}, {title: "SECOND", width: 14}, {title: "THIRD", width: 14},
		{title: "FURLONGS", isNumber: true}, {title: "NAME", width: 15}, {title: "TYPE"},
	},
	cells: func(r *horseracing.Race) []any {
		finishers, _ := r.Finishers() // none if the final order cannot be read
		var best [3]string
		for i, f := range finishers[:min(3, len(finishers))] {
			best[i] = fmt.Sprintf("#%d (%.2f)", f.Number, f.Total)
		}
		return []any{r.MainRaceID, minute(r.StartTime.Time), r.Tier, best[0], best[1], best[2], r.Length, r.Info.Name, r.Type}
	},
}
