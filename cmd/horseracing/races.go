package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
)

const openHelp = `Examples:
  horseracing open -tier omega -level 12 -max-fee 2.5
`

func openRaces(flags *flag.FlagSet) action {
	tiers := tierFlag(flags, "all")
	level := flags.Int("level", 0, "only races that take horses of this `LEVEL`")
	maxFee := tokensFlag(flags, "max-fee", "only races whose fee is at most this many `TOKENS`")
	return reading(func(ctx context.Context, p *program, s *service, _ []string) error {
		names, err := s.tierNames(ctx, tiers)
		if err != nil {
			return err
		}
		var response horseracing.Response
		races, err := s.Races.Open(ctx, horseracing.CaptureResponse(&response))
		if len(races) == 0 && err != nil {
			return err
		}
		unseen := slices.DeleteFunc(slices.Clone(*tiers), func(name string) bool {
			return slices.ContainsFunc(races, func(r horseracing.Race) bool { return strings.EqualFold(name, string(r.Tier)) })
		})
		if _, err := s.tiers(ctx, &unseen); err != nil { // a name of no tier
			return err
		}
		races = slices.DeleteFunc(races, func(r horseracing.Race) bool {
			isOfTier := func(name string) bool { return strings.EqualFold(name, string(r.Tier)) }
			return len(names) > 0 && !slices.ContainsFunc(names, isOfTier) ||
				*level > 0 && !r.AcceptsLevel(*level) || *maxFee != nil && r.EntryFee.Cmp(**maxFee) > 0
		})
		slices.SortStableFunc(races, func(a, b horseracing.Race) int {
			return cmp.Or(a.RegistrationDeadline.Compare(b.RegistrationDeadline.Time), cmp.Compare(a.MainRaceID, b.MainRaceID))
		})
		return printList(p, openRaceLayout(serviceTime(&response)), races, err)
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

func openRaceLayout(now time.Time) layout[horseracing.Race] {
	return layout[horseracing.Race]{
		titles: []string{"RACE", "CLOSES (UTC)", "TIER", "NAME", "HIPPODROME", "FURLONGS", "LEVELS", "TAKEN", "FEE (TOKENS)"},
		cells: func(r *horseracing.Race) []any {
			return []any{r.MainRaceID, closing(r.RegistrationDeadline.Time, now), r.Tier, r.Info.Name, r.Info.HippodromeName, r.Length,
				levels(r.MinLevel, r.MaxLevel), fmt.Sprintf("%d of %d", len(r.Participants), r.Places), tokens(r.EntryFee)}
		},
	}
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
