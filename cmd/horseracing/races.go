package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"

	"github.com/horseracing-go/horseracing"
)

func openRaces(*flag.FlagSet) action {
	return reading(func(ctx context.Context, p *program, s *service, _ []string) error {
		races, err := s.Races.Open(ctx)
		slices.SortStableFunc(races, func(a, b horseracing.Race) int {
			return cmp.Or(a.RegistrationDeadline.Compare(b.RegistrationDeadline.Time), cmp.Compare(a.MainRaceID, b.MainRaceID))
		})
		return printList(p, openRaceLayout, races, err)
	})
}

func racesByID(*flag.FlagSet) action {
	return reading(func(ctx context.Context, p *program, s *service, args []string) error {
		ids, err := parseNumbers[horseracing.RaceID](args)
		if err != nil {
			return err
		}
		races, err := getEach(ids, func(id horseracing.RaceID) (*horseracing.Race, error) { return s.Races.Get(ctx, id) })
		return printList(p, finishedRaceLayout, races, err)
	})
}

var openRaceLayout = layout[horseracing.Race]{
	titles: []string{"RACE", "CLOSES (UTC)", "TIER", "NAME", "HIPPODROME", "FURLONGS", "LEVELS", "TAKEN", "FEE (TOKENS)"},
	cells: func(r *horseracing.Race) []any {
		return []any{r.MainRaceID, minute(r.RegistrationDeadline.Time), r.Tier, r.Info.Name, r.Info.HippodromeName, r.Length,
			levels(r.MinLevel, r.MaxLevel), fmt.Sprintf("%d of %d", len(r.Participants), r.Places), tokens(r.EntryFee)}
	},
}

var finishedRaceLayout = layout[horseracing.Race]{
	titles: []string{"RACE  ", "START (UTC)     ", "TIER ", "NAME                  ", "FURLONGS", "TYPE      ", "FIRST         ", "SECOND        ", "THIRD"},
	cells: func(r *horseracing.Race) []any {
		finishers, _ := r.Finishers() // none if the final order cannot be read
		var best [3]string
		for i, f := range finishers[:min(3, len(finishers))] {
			best[i] = fmt.Sprintf("#%d (%.2f)", f.Number, f.Total)
		}
		return []any{r.MainRaceID, minute(r.StartTime.Time), r.Tier, r.Info.Name, r.Length, r.Type, best[0], best[1], best[2]}
	},
}
