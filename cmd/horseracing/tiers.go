package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/horseracing-go/horseracing"
)

var tierLayout = layout[horseracing.Tier]{fields: []field[horseracing.Tier]{
	whole("TIER", func(t *horseracing.Tier) horseracing.TierID { return t.ID }),
	words("NAME", func(t *horseracing.Tier) horseracing.TierName { return t.Name }),
}}

func (p *program) tiersCommand() *cobra.Command {
	const short = "The numbers of the tiers, with the names that their results have"
	return listing(p, "tiers", short, cobra.NoArgs, tierLayout, func(ctx context.Context, s *service, _ []string) ([]horseracing.Entry[horseracing.Tier], error) {
		found, err := s.Races.Tiers(ctx)
		return withoutJSON(found), err
	})
}

// tierNamed returns the tier of a name: one that is documented or known, or else one that has
// results, which all are known from then on.
func tierNamed(ctx context.Context, s *service, known *[]horseracing.Tier, name string) (horseracing.Tier, error) {
	if id, ok := horseracing.TierByName(horseracing.TierName(name)); ok {
		return horseracing.Tier{ID: id, Name: horseracing.TierName(name)}, nil
	}
	isNamed := func(t horseracing.Tier) bool { return strings.EqualFold(string(t.Name), name) }
	if at := slices.IndexFunc(*known, isNamed); at >= 0 {
		return (*known)[at], nil
	}
	found, err := s.Races.Tiers(ctx)
	if err != nil {
		return horseracing.Tier{}, err
	}
	*known = append(*known, found...)
	if at := slices.IndexFunc(found, isNamed); at >= 0 {
		return found[at], nil
	}
	var all []string
	for _, t := range found {
		all = append(all, fmt.Sprintf("%d %s", t.ID, t.Name))
	}
	return horseracing.Tier{}, usageError(fmt.Sprintf("no tier is named %s, but there are %s", name, strings.Join(all, ", ")))
}

// tierNumbers returns the numbers of tiers that were given by number or by name.
func tierNumbers(ctx context.Context, s *service, words []string) (ids []horseracing.TierID, err error) {
	var known []horseracing.Tier
	for _, word := range words {
		id, isName := strconv.Atoi(word)
		if isName != nil {
			t, err := tierNamed(ctx, s, &known, word)
			if err != nil {
				return nil, err
			}
			id = int(t.ID)
		}
		ids = append(ids, horseracing.TierID(id))
	}
	return ids, nil
}

// tiersFlag defines a flag that takes tiers by number or by name, separated by commas.
func tiersFlag(flags *pflag.FlagSet) *[]string {
	words := []string{strconv.Itoa(int(horseracing.TierOmega))}
	const about = "the `TIERS`, by number or by name, like 5 or 3,4 (see horseracing tiers); default 5, Omega"
	flags.Func("tier", about, func(text string) error {
		words = nil
		for word := range strings.SplitSeq(text, ",") {
			word = strings.TrimSpace(word)
			if n, err := strconv.Atoi(word); word == "" || err == nil && n <= 0 {
				return errors.New("want tiers by number or by name, like 5 or 3,4: horseracing tiers lists them")
			}
			words = append(words, word)
		}
		return nil
	})
	return &words
}

// checkTierNames reports the tiers of which no race is open. A name that no tier has is a
// mistake, unless there is no open race either.
func (p *program) checkTierNames(ctx context.Context, s *service, names []string, open []horseracing.Entry[horseracing.Race]) error {
	known := []horseracing.Tier{{Name: horseracing.TierNameBeta}} // its name is documented
	for _, name := range names {
		if slices.ContainsFunc(open, func(r horseracing.Entry[horseracing.Race]) bool { return strings.EqualFold(name, string(r.Value.Tier)) }) {
			continue
		}
		if len(open) > 0 {
			if _, err := tierNamed(ctx, s, &known, name); err != nil {
				return err
			}
		}
		p.say("no open race of tier " + name)
	}
	return nil
}
