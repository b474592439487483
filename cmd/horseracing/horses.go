package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
)

func (p *program) horseCommand() *cobra.Command {
	return listing(p, "horse NUMBER…", "Horses by number", cobra.MinimumNArgs(1), horseLayout, func(ctx context.Context, s *service, args []string) ([]horseracing.Entry[horseracing.Horse], error) {
		numbers, err := parseNumbers[horseracing.HorseNumber](args)
		if err != nil {
			return nil, err
		}
		return getEach(p, numbers, func(n horseracing.HorseNumber) (*horseracing.Horse, error) { return s.Horses.Get(ctx, n) })
	})
}

func (p *program) ownedCommand() *cobra.Command {
	const short = "The horses of the user whose key is HORSERACING_USER_KEY"
	return listing(p, "owned", short, cobra.NoArgs, horseLayout, func(ctx context.Context, s *service, _ []string) ([]horseracing.Entry[horseracing.Horse], error) {
		owner, err := ownerOf(s)
		if err != nil {
			return nil, err
		}
		horses, err := s.Horses.Owned(ctx, owner)
		return receivedEntries(p, horses), err
	})
}

func (p *program) breedingCommand() *cobra.Command {
	const short = "The horses that are offered for breeding"
	return listing(p, "breeding", short, cobra.NoArgs, breedingLayout, func(ctx context.Context, s *service, _ []string) ([]horseracing.Entry[horseracing.BreedingListing], error) {
		offers, err := s.Horses.OpenForBreeding(ctx)
		return receivedEntries(p, offers), err
	})
}

var horseLayout = layout[horseracing.Horse]{
	columns: []column{
		{title: "HORSE", isNumber: true}, {title: "NAME"}, {title: "LEVEL", isNumber: true}, {title: "TIER"}, {title: "MAY BREED FROM (UTC)"},
		{title: "GENDER"}, {title: "BREED"}, {title: "GENERATION", isNumber: true},
	},
	cells: func(h *horseracing.Horse) []any {
		from := ""
		if h.BreedingCooldown != nil {
			from = minute(*h.BreedingCooldown)
		}
		return []any{h.Number, h.Name, h.Level, h.Tier, from, h.Gender, h.Breed, h.Generation}
	},
}

var breedingLayout = layout[horseracing.BreedingListing]{
	columns: []column{
		{title: "HORSE", isNumber: true}, {title: "NAME"}, {title: "PRICE (TOKENS)", isNumber: true}, {title: "GENDER"}, {title: "TIER"},
		{title: "RACES", isNumber: true}, {title: "WON", isNumber: true}, {title: "SECOND", isNumber: true}, {title: "THIRD", isNumber: true},
		{title: "GENERATION", isNumber: true},
	},
	cells: func(b *horseracing.BreedingListing) []any {
		return []any{b.Number, b.Name, price(b.Price), b.Gender, b.Tier, b.TotalRaceCount, b.WinsFirstCount, b.WinsSecondCount, b.WinsThirdCount, b.Generation}
	},
}

func (p *program) missionsCommand() *cobra.Command {
	const short = "A horse's unfinished missions"
	return listing(p, "missions NUMBER", short, cobra.ExactArgs(1), missionLayout, func(ctx context.Context, s *service, args []string) ([]horseracing.Entry[unfinished], error) {
		numbers, err := parseNumbers[horseracing.HorseNumber](args)
		if err != nil {
			return nil, err
		}
		record, err := s.Horses.Missions(ctx, numbers[0])
		if err != nil {
			return nil, err
		}
		var received struct{ Missions []json.RawMessage }
		_ = json.Unmarshal(p.received.body(), &received)
		var all []unfinished
		for i := range record.Missions {
			m := &record.Missions[i]
			line := unfinished{mission: m, JSON: m, Counts: whatCounts(m)}
			if len(received.Missions) == len(record.Missions) {
				line.JSON = received.Missions[i]
			}
			if !m.Completed {
				all = append(all, line)
			}
		}
		return withoutJSON(all), nil
	})
}

// unfinished is a line of the command missions.
type unfinished struct {
	mission *horseracing.HorseMission
	JSON    any    `json:"mission"`
	Counts  string `json:"what_counts"`
}

var missionLayout = layout[unfinished]{
	columns: []column{
		{title: "PERIOD"}, {title: "MISSION"}, {title: "TARGET", isNumber: true}, {title: "PROGRESS", isNumber: true}, {title: "XP", isNumber: true},
		{title: "SUGAR", isNumber: true}, {title: "WHAT COUNTS"},
	},
	cells: func(u *unfinished) []any {
		m := u.mission
		return []any{m.Type, m.Name, m.Count, len(m.Progress), m.RewardXP, m.RewardSugar, u.Counts}
	},
}

// whatCounts returns which races count for a mission, as far as that is documented.
func whatCounts(m *horseracing.HorseMission) string {
	switch m.Mission {
	case horseracing.MissionKindRunXRaces:
		return "any race"
	case horseracing.MissionKindTakePrizePlaceInXRaces:
		return "any race, with a prize place"
	case horseracing.MissionKindRunXFurlongRace, horseracing.MissionKindRunXRacesYFurlong:
		if m.Furlongs != nil {
			return fmt.Sprintf("races of %d furlongs", *m.Furlongs)
		}
	case horseracing.MissionKindRunAllOnZHippodrome:
		if m.Hippodrome != nil {
			return fmt.Sprintf("races on hippodromes of type %d", *m.Hippodrome)
		}
	case horseracing.MissionKindAllDaily, horseracing.MissionKindAllWeekly:
		return "the other missions"
	}
	return "unknown"
}

func (p *program) catalogueCommand() *cobra.Command {
	return p.reading("catalogue", "The mission templates", cobra.NoArgs, func(ctx context.Context, s *service, _ []string) error {
		catalogue, err := s.Missions.Catalogue(ctx)
		if err != nil {
			return err
		}
		if p.printsJSON() {
			return p.printJSON(jsonOf(horseracing.Entry[horseracing.MissionCatalogue]{Value: catalogue, JSON: p.received.body()}))
		}
		var all []periodTemplate
		for period, m := range catalogue.All() {
			all = append(all, periodTemplate{period: period, MissionTemplate: m})
		}
		return printList(p, templateLayout, all, nil)
	})
}

type periodTemplate struct {
	period horseracing.MissionPeriod
	horseracing.MissionTemplate
}

var templateLayout = layout[periodTemplate]{
	columns: []column{{title: "PERIOD"}, {title: "TYPE"}, {title: "TARGET"}, {title: "FURLONGS"}, {title: "HIPPODROMES"}, {title: "PLACES"}},
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
