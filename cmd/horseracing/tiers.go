package main

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/horseracing-go/horseracing"
)

// highestTier is the highest number that the command tiers tries: except for that of Omega
// the numbers are undocumented.
const highestTier = 12

// tier is a number with the name that the results under it have.
type tier struct {
	ID   horseracing.TierID   `json:"id"`
	Name horseracing.TierName `json:"name"`
}

var tierLayout = layout[tier]{
	columns: []column{{title: "TIER", isNumber: true}, {title: "NAME"}},
	cells:   func(t *tier) []any { return []any{t.ID, t.Name} },
}

func (p *program) tiersCommand() *cobra.Command {
	const short = "The numbers of the tiers, with the name that the results of each show"
	return listing(p, "tiers", short, cobra.NoArgs, tierLayout, func(ctx context.Context, s *service, _ []string) ([]horseracing.Entry[tier], error) {
		var found []tier
		for id := range horseracing.TierID(highestTier) {
			newest, err := s.Races.Results(horseracing.ResultsQuery{Tier: id + 1}).Take(ctx, 1)
			api, isAPI := errors.AsType[*horseracing.APIError](err)
			if err != nil && !(isAPI && (api.StatusCode == http.StatusBadRequest || api.StatusCode == http.StatusNotFound)) { // there is no such tier
				return nil, err
			}
			if len(newest) > 0 {
				found = append(found, tier{id + 1, newest[0].Tier})
			}
		}
		return withoutJSON(found), nil
	})
}

// tiersFlag defines a flag that takes the numbers of tiers, separated by commas.
func tiersFlag(flags *pflag.FlagSet) *[]horseracing.TierID {
	tiers := []horseracing.TierID{horseracing.TierOmega}
	flags.Func("tier", "the `NUMBERS` of tiers, like 5 or 3,4 (see horseracing tiers); default 5, Omega", func(text string) error {
		tiers = nil
		for word := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(word))
			if err != nil || n <= 0 {
				return errors.New("want numbers of tiers, like 5 or 3,4: horseracing tiers lists them")
			}
			tiers = append(tiers, horseracing.TierID(n))
		}
		return nil
	})
	return &tiers
}

// namesFlag defines a flag that takes the names of tiers, separated by commas: open races
// do not have the numbers.
func namesFlag(flags *pflag.FlagSet, names *[]string) {
	flags.Func("tier", "only races of these tiers, by `NAMES` as the service writes them, like Omega,Beta", func(text string) error {
		*names = nil
		for name := range strings.SplitSeq(text, ",") {
			name = strings.TrimSpace(name)
			if _, err := strconv.Atoi(name); err == nil || name == "" {
				return errors.New("want names of tiers, like Omega,Beta: open races do not have the numbers")
			}
			*names = append(*names, name)
		}
		return nil
	})
}
