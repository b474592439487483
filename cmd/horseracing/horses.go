package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
)

func (p *program) horseCommand() *cobra.Command {
	return p.reading(p.command("horse NUMBER…", "Horses by number", 1, many), func(ctx context.Context, s *service, args []string) error {
		numbers, err := parseNumbers[horseracing.HorseNumber](args)
		if err != nil {
			return err
		}
		horses, err := getEach(numbers, func(n horseracing.HorseNumber) (*horseracing.Horse, error) { return s.Horses.Get(ctx, n) })
		return printList(p, horseLayout, horses, err)
	})
}

func (p *program) ownedCommand() *cobra.Command {
	return p.reading(p.command("owned", "The horses of the user whose key is HORSERACING_USER_KEY", 0, 0), func(ctx context.Context, s *service, _ []string) error {
		owner, err := s.owner()
		if err != nil {
			return err
		}
		horses, err := s.Horses.Owned(ctx, owner)
		return printList(p, horseLayout, horses, err)
	})
}

func (p *program) breedingCommand() *cobra.Command {
	return p.reading(p.command("breeding", "The horses that are offered for breeding", 0, 0), func(ctx context.Context, s *service, _ []string) error {
		offers, err := s.Horses.OpenForBreeding(ctx)
		return printList(p, breedingLayout, offers, err)
	})
}

var horseLayout = layout[horseracing.Horse]{
	columns: []column{
		{title: "HORSE", isNumber: true}, {title: "NAME"}, {title: "GENDER", rank: 2}, {title: "LEVEL", isNumber: true}, {title: "TIER"},
		{title: "BREED", rank: 3}, {title: "GENERATION", isNumber: true, rank: 4}, {title: "MAY BREED FROM (UTC)", rank: 1},
	},
	cells: func(h *horseracing.Horse) []any {
		from := ""
		if h.BreedingCooldown != nil {
			from = minute(*h.BreedingCooldown)
		}
		return []any{h.Number, h.Name, h.Gender, h.Level, h.Tier, h.Breed, h.Generation, from}
	},
}

var breedingLayout = layout[horseracing.BreedingListing]{
	columns: []column{
		{title: "HORSE", isNumber: true}, {title: "NAME"}, {title: "GENDER"}, {title: "TIER"}, {title: "GENERATION", isNumber: true, rank: 3},
		{title: "RACES", isNumber: true}, {title: "WON", isNumber: true}, {title: "SECOND", isNumber: true, rank: 1}, {title: "THIRD", isNumber: true, rank: 2},
		{title: "PRICE (TOKENS)", isNumber: true},
	},
	cells: func(b *horseracing.BreedingListing) []any {
		return []any{b.Number, b.Name, b.Gender, b.Tier, b.Generation, b.TotalRaceCount, b.WinsFirstCount, b.WinsSecondCount, b.WinsThirdCount, price(b.Price)}
	},
}
