package main

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/tiers"
)

func (p *program) tiersCommand() *cobra.Command {
	return p.reading(p.command("tiers", "The ids of the tiers, with the names that the service gives them", 0, 0), func(ctx context.Context, s *service, _ []string) error {
		found, err := s.tiers.All(ctx)
		return printList(p, tierLayout, found, err)
	})
}

var tierLayout = layout[tiers.Tier]{
	columns: []column{{title: "TIER", isNumber: true}, {title: "NAME"}},
	cells:   func(t *tiers.Tier) []any { return []any{t.ID, t.Name} },
}

// tierFlag defines a flag that takes tiers, by id or by name, separated by commas.
// Without it there are none, which means usual.
func tierFlag(flags *pflag.FlagSet, usual string) *string {
	var words string
	flags.Func("tier", "the `TIERS`, by id or name, like 5 or 3,4,omega (see horseracing tiers); default "+usual, func(text string) error {
		for word := range strings.SplitSeq(text, ",") {
			word = strings.TrimSpace(word)
			if n, err := strconv.Atoi(word); word == "" || err == nil && n <= 0 {
				return errors.New("want ids or names of tiers, like 3,4,5")
			}
		}
		words = text
		return nil
	})
	return &words
}

// findTiers looks tiers up, by id or name. An unknown one is a mistake.
func (s *service) findTiers(ctx context.Context, words string, races []horseracing.Race) ([]tiers.Tier, error) {
	found, err := s.tiers.Find(ctx, words, races)
	if unknown, ok := errors.AsType[tiers.UnknownError](err); ok {
		err = usageError(unknown.Error())
	}
	return found, err
}

// tierIDs returns the ids of tiers. One that cannot be looked up at the moment is taken
// as it is.
func (s *service) tierIDs(ctx context.Context, words string) (ids []horseracing.TierID, err error) {
	found, err := s.findTiers(ctx, words, nil)
	if err != nil && (found == nil || !isUnavailable(err)) {
		return nil, err
	}
	for _, t := range found {
		ids = append(ids, t.ID)
	}
	return ids, nil
}
