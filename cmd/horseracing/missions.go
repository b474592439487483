package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/horseracing-go/horseracing"
)

const missionsHelp = `It lists the unfinished missions of the horse, and the open races that it may
enter and that count for them, the most rewarding first. XP and SUGAR are, for
each mission served, the reward divided by its target. A question mark: only if
the horse finishes well enough; such a mission is not in the sums.

Missions name a type of hippodrome by number, races by word. Which is which is
undocumented: -hippodromes names them.

Examples:
  horseracing missions 7 -n 5
  horseracing missions 7 -hippodromes Oval,Straight,Triangle    type 0 is Oval, 1 Straight, 2 Triangle
`

func missionsOfHorse(flags *flag.FlagSet) action {
	most := flags.Int("n", 10, "print at most this `NUMBER` of races")
	var hippodromes []string
	flags.Func("hippodromes", "the `NAMES` of the hippodrome types 0, 1, 2, ..., separated by commas", func(names string) error {
		hippodromes = strings.Split(names, ",")
		for i, name := range hippodromes {
			hippodromes[i] = strings.TrimSpace(name)
		}
		return nil
	})
	return reading(func(ctx context.Context, p *program, s *service, args []string) error {
		numbers, err := parseNumbers[horseracing.HorseNumber](args)
		if err != nil {
			return err
		}
		if *most < 1 {
			return usageError("-n must be at least 1")
		}
		horse, err := s.Horses.Get(ctx, numbers[0])
		if err != nil {
			return err
		}
		record, err := s.Horses.Missions(ctx, horse.Number)
		if err != nil {
			return err
		}
		var response horseracing.Response
		open, err := s.Races.Open(ctx, horseracing.CaptureResponse(&response))
		if err != nil && len(open) == 0 {
			return err
		}
		ranked := rank(horse, record.Missions, open, hippodromes, serviceTime(&response))
		return errors.Join(printMissions(p, horse, record.Missions, hippodromes), printRanked(p, ranked, *most), err)
	})
}

func printMissions(p *program, horse *horseracing.Horse, missions []horseracing.HorseMission, hippodromes []string) error {
	t := newTable(p, layout[horseracing.HorseMission]{
		titles: []string{"PERIOD", "MISSION", "TARGET", "XP", "SUGAR", "WHAT COUNTS"},
		cells: func(m *horseracing.HorseMission) []any {
			return []any{m.Type, m.Name, m.Count, m.RewardXP, m.RewardSugar, demandOf(m, hippodromes)}
		},
	})
	if err := p.printTitle("Unfinished missions of horse %s, %s, level %s:", horse.Number, horse.Name, horse.Level); err != nil {
		return err
	}
	for i := range missions {
		if m := &missions[i]; !m.Completed {
			line := struct {
				Mission *horseracing.HorseMission `json:"mission"`
				Counts  string                    `json:"what_counts"`
			}{m, demandOf(m, hippodromes).String()}
			if err := t.add(line, m); err != nil {
				return err
			}
		}
	}
	return t.flush()
}

func printRanked(p *program, ranked []candidate, most int) error {
	t := newTable(p, layout[candidate]{
		titles: []string{"RACE", "CLOSES (UTC)", "NAME", "HIPPODROME", "FURLONGS", "FEE (TOKENS)", "XP", "SUGAR", "SERVES"},
		cells: func(c *candidate) []any {
			return []any{c.Race.MainRaceID, minute(c.Race.RegistrationDeadline.Time), c.Race.Info.Name, c.Race.Info.HippodromeType, c.Race.Length,
				tokens(c.Race.EntryFee), fmt.Sprintf("%.0f", c.XP), fmt.Sprintf("%.0f", c.Sugar), strings.Join(append(slices.Clone(c.Serves), c.perhaps()...), ", ")}
		},
	})
	shown := ranked[:min(most, len(ranked))]
	if err := p.printTitle("\nRaces that serve them, %s of %s:", len(shown), len(ranked)); err != nil {
		return err
	}
	for i := range shown {
		if err := t.add(&shown[i], &shown[i]); err != nil {
			return err
		}
	}
	return t.flush()
}

func missionCatalogue(*flag.FlagSet) action {
	return reading(func(ctx context.Context, p *program, s *service, _ []string) error {
		catalogue, err := s.Missions.Catalogue(ctx)
		if err != nil {
			return err
		}
		if p.printsJSON() {
			return p.printJSON(catalogue)
		}
		var all []periodTemplate
		for period, m := range catalogue.All() {
			all = append(all, periodTemplate{period, m})
		}
		return printList(p, templateLayout, all, nil)
	})
}

type periodTemplate struct {
	period horseracing.MissionPeriod
	horseracing.MissionTemplate
}

var templateLayout = layout[periodTemplate]{
	titles: []string{"PERIOD", "TYPE", "TARGET", "FURLONGS", "HIPPODROME TYPES", "PLACES"},
	cells: func(m *periodTemplate) []any {
		return []any{m.period, m.Type, bounds(&m.Min, &m.Max), bounds(m.FurlongMin, m.FurlongMax),
			bounds(m.HippodromeTypeMin, m.HippodromeTypeMax), bounds(m.PlaceMin, m.PlaceMax)}
	},
}

func bounds(low, high *int) string {
	if low == nil || high == nil {
		return "-"
	}
	return fmt.Sprintf("%d-%d", *low, *high)
}
