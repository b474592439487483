package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/units"
)

func (p *program) horseCommand() *cobra.Command {
	return listing(p, "horse NUMBER…", "Horses by number", cobra.MinimumNArgs(1), horseLayout, func(ctx context.Context, s *service, args []string) ([]horseracing.Entry[horseracing.Horse], error) {
		numbers, err := parseNumbers[horseracing.HorseNumber](args)
		if err != nil {
			return nil, err
		}
		return getEach(ctx, p, numbers, s.Horses.Get)
	})
}

func (p *program) ownedCommand() *cobra.Command {
	const short = "The horses of the user whose key is HORSERACING_USER_KEY"
	return listing(p, "owned", short, cobra.NoArgs, horseLayout, func(ctx context.Context, s *service, _ []string) ([]horseracing.Entry[horseracing.Horse], error) {
		owner, err := ownerOf(s)
		if err != nil {
			return nil, err
		}
		return received(ctx, p, func(ctx context.Context, opts ...horseracing.CallOption) ([]horseracing.Horse, error) {
			return s.Horses.Owned(ctx, owner, opts...)
		})
	})
}

func (p *program) breedingCommand() *cobra.Command {
	const short = "The horses that are offered for breeding"
	return listing(p, "breeding", short, cobra.NoArgs, breedingLayout, func(ctx context.Context, s *service, _ []string) ([]horseracing.Entry[horseracing.BreedingListing], error) {
		return received(ctx, p, s.Horses.OpenForBreeding)
	})
}

var horseLayout = layout[horseracing.Horse]{fields: []field[horseracing.Horse]{
	whole("HORSE", func(h *horseracing.Horse) horseracing.HorseNumber { return h.Number }),
	words("NAME", func(h *horseracing.Horse) string { return h.Name }),
	whole("LEVEL", func(h *horseracing.Horse) int { return h.Level }).filtered("level", "only horses of this `LEVEL`"),
	words("TIER", func(h *horseracing.Horse) horseracing.TierName { return h.Tier }).filtered("tier", "only horses of these tiers, by `NAMES` like Omega,Beta"),
	moment("MAY BREED FROM (UTC)", func(h *horseracing.Horse) time.Time {
		if h.BreedingCooldown == nil {
			return time.Time{}
		}
		return *h.BreedingCooldown
	}),
	words("GENDER", func(h *horseracing.Horse) horseracing.Gender { return h.Gender }).filtered("gender", "only horses of this `GENDER`, like Stallion"),
	words("BREED", func(h *horseracing.Horse) string { return h.Breed }),
	whole("GENERATION", func(h *horseracing.Horse) int { return h.Generation }).filtered("generation", "only horses of this `GENERATION`"),
}}

var breedingLayout = layout[horseracing.BreedingListing]{fields: []field[horseracing.BreedingListing]{
	whole("HORSE", func(b *horseracing.BreedingListing) horseracing.HorseNumber { return b.Number }),
	words("NAME", func(b *horseracing.BreedingListing) string { return b.Name }),
	amount("PRICE (TOKENS)", func(b *horseracing.BreedingListing) horseracing.BigInt { return units.Price(b.Price) }).filtered("max-price", "only horses whose price is at most this many `TOKENS`"),
	words("GENDER", func(b *horseracing.BreedingListing) horseracing.Gender { return b.Gender }).filtered("gender", "only horses of this `GENDER`, like Stallion"),
	words("TIER", func(b *horseracing.BreedingListing) horseracing.TierName { return b.Tier }).filtered("tier", "only horses of these tiers, by `NAMES` like Omega,Beta"),
	whole("RACES", func(b *horseracing.BreedingListing) int { return b.TotalRaceCount }),
	whole("WON", func(b *horseracing.BreedingListing) int { return b.WinsFirstCount }),
	whole("SECOND", func(b *horseracing.BreedingListing) int { return b.WinsSecondCount }),
	whole("THIRD", func(b *horseracing.BreedingListing) int { return b.WinsThirdCount }),
	whole("GENERATION", func(b *horseracing.BreedingListing) int { return b.Generation }).filtered("generation", "only horses of this `GENERATION`"),
}}

func (p *program) missionsCommand() *cobra.Command {
	const short = "A horse's unfinished missions"
	return listing(p, "missions NUMBER", short, cobra.ExactArgs(1), missionLayout, func(ctx context.Context, s *service, args []string) ([]horseracing.Entry[unfinished], error) {
		numbers, err := parseNumbers[horseracing.HorseNumber](args)
		if err != nil {
			return nil, err
		}
		var response horseracing.Response
		record, err := s.Horses.Missions(ctx, numbers[0], horseracing.CaptureResponse(&response))
		if err != nil {
			return nil, err
		}
		var body struct{ Missions json.RawMessage }
		_ = json.Unmarshal(response.Body, &body)
		var all []unfinished
		for _, m := range receivedEntries(p, record.Missions, body.Missions) {
			if !m.Value.Completed {
				all = append(all, unfinished{m.Value, jsonOf(m), whatCounts(m.Value)})
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

var missionLayout = layout[unfinished]{fields: []field[unfinished]{
	words("PERIOD", func(u *unfinished) horseracing.MissionPeriod { return u.mission.Type }),
	words("MISSION", func(u *unfinished) string { return u.mission.Name }),
	whole("TARGET", func(u *unfinished) int { return u.mission.Count }),
	whole("PROGRESS", func(u *unfinished) int { return len(u.mission.Progress) }),
	whole("XP", func(u *unfinished) int { return u.mission.RewardXP }),
	whole("SUGAR", func(u *unfinished) int { return u.mission.RewardSugar }),
	words("WHAT COUNTS", func(u *unfinished) string { return u.Counts }),
}}

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
	var v *view[periodTemplate]
	c := p.reading("catalogue", "The mission templates", cobra.NoArgs, func(ctx context.Context, s *service, _ []string) error {
		var response horseracing.Response
		catalogue, err := s.Missions.Catalogue(ctx, horseracing.CaptureResponse(&response))
		if err != nil {
			return err
		}
		if p.printsJSON() && !v.isSelecting() {
			return p.printJSON(jsonOf(horseracing.Entry[horseracing.MissionCatalogue]{Value: catalogue, JSON: response.Body}))
		}
		var all []periodTemplate
		for period, m := range catalogue.All() {
			all = append(all, periodTemplate{Period: period, MissionTemplate: m})
		}
		return v.printValues(all, nil)
	})
	v = newView(p, c, templateLayout)
	return c
}

type periodTemplate struct {
	Period horseracing.MissionPeriod `json:"period"`
	horseracing.MissionTemplate
}

var templateLayout = layout[periodTemplate]{fields: []field[periodTemplate]{
	words("PERIOD", func(m *periodTemplate) horseracing.MissionPeriod { return m.Period }),
	words("TYPE", func(m *periodTemplate) horseracing.MissionKind { return m.Type }),
	words("TARGET", func(m *periodTemplate) string { return bounds(&m.Min, &m.Max) }),
	words("FURLONGS", func(m *periodTemplate) string { return bounds(m.FurlongMin, m.FurlongMax) }),
	words("HIPPODROMES", func(m *periodTemplate) string { return bounds(m.HippodromeTypeMin, m.HippodromeTypeMax) }),
	words("PLACES", func(m *periodTemplate) string { return bounds(m.PlaceMin, m.PlaceMax) }),
}}

func bounds(low, high *int) string {
	if low == nil || high == nil {
		return "-"
	}
	return fmt.Sprintf("%d-%d", *low, *high)
}
