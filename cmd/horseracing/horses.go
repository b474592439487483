package main

import (
	"context"
	"flag"

	"github.com/horseracing-go/horseracing"
)

func horsesByNumber(*flag.FlagSet) action {
	return reading(func(ctx context.Context, p *program, s *service, args []string) error {
		numbers, err := parseNumbers[horseracing.HorseNumber](args)
		if err != nil {
			return err
		}
		horses, err := getEach(numbers, func(n horseracing.HorseNumber) (*horseracing.Horse, error) { return s.Horses.Get(ctx, n) })
		return printList(p, horseLayout, horses, err)
	})
}

func ownedHorses(*flag.FlagSet) action {
	return reading(func(ctx context.Context, p *program, s *service, _ []string) error {
		owner, err := s.owner()
		if err != nil {
			return err
		}
		horses, err := s.Horses.Owned(ctx, owner)
		return printList(p, horseLayout, horses, err)
	})
}

func breedingHorses(*flag.FlagSet) action {
	return reading(func(ctx context.Context, p *program, s *service, _ []string) error {
		offers, err := s.Horses.OpenForBreeding(ctx)
		return printList(p, breedingLayout, offers, err)
	})
}

var horseLayout = layout[horseracing.Horse]{
	titles: []string{"HORSE", "NAME", "GENDER", "LEVEL", "TIER", "BREED", "GENERATION", "MAY BREED FROM (UTC)"},
	cells: func(h *horseracing.Horse) []any {
		from := ""
		if h.BreedingCooldown != nil {
			from = minute(*h.BreedingCooldown)
		}
		return []any{h.Number, h.Name, h.Gender, h.Level, h.Tier, h.Breed, h.Generation, from}
	},
}

var breedingLayout = layout[horseracing.BreedingListing]{
	titles: []string{"HORSE", "NAME", "GENDER", "TIER", "GENERATION", "RACES", "WON", "SECOND", "THIRD", "PRICE"},
	cells: func(b *horseracing.BreedingListing) []any {
		return []any{b.Number, b.Name, b.Gender, b.Tier, b.Generation, b.TotalRaceCount, b.WinsFirstCount, b.WinsSecondCount, b.WinsThirdCount, b.Price}
	},
}
