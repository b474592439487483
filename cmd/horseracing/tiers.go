package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/horseracing-go/horseracing"
)

const tiersHelp = `It reads one page of results of each tier from 1 to 12: the ids of the tiers are not
documented, except 5, Omega.
`

// maxTier is the highest id that is tried.
const maxTier = 12

// tier is an id with the name that the races of the tier have.
type tier struct {
	ID   horseracing.TierID   `json:"id"`
	Name horseracing.TierName `json:"name"`
}

func listTiers(*flag.FlagSet) action {
	return reading(func(ctx context.Context, p *program, s *service, _ []string) error {
		found, err := s.namedTiers(ctx)
		return printList(p, tierLayout, found, err)
	})
}

var tierLayout = layout[tier]{
	titles: []string{"TIER", "NAME"},
	cells:  func(t *tier) []any { return []any{t.ID, t.Name} },
}

// tierFlag defines a flag that takes tiers, by id or by name, separated by commas.
// Without it there are none, which means usual.
func tierFlag(flags *flag.FlagSet, usual string) *[]string {
	var tiers []string
	flags.Func("tier", "the `TIERS`, by id or name, like 5 or 3,4,omega (see horseracing tiers); default "+usual, func(text string) error {
		tiers = nil
		for word := range strings.SplitSeq(text, ",") {
			word = strings.TrimSpace(word)
			if n, err := strconv.Atoi(word); word == "" || err == nil && n <= 0 {
				return fmt.Errorf("want ids or names of tiers, like 3,4,5")
			}
			tiers = append(tiers, word)
		}
		return nil
	})
	return &tiers
}

// tiers returns the ids of tiers. It sends requests only for names.
func (s *service) tiers(ctx context.Context, words *[]string) (ids []horseracing.TierID, err error) {
	var known []tier
	for _, word := range *words {
		if n, err := strconv.Atoi(word); err == nil {
			ids = append(ids, horseracing.TierID(n))
			continue
		}
		if strings.EqualFold(word, string(horseracing.TierNameOmega)) {
			ids = append(ids, horseracing.TierOmega)
			continue
		}
		if known == nil {
			if known, err = s.namedTiers(ctx); err != nil {
				return nil, err
			}
		}
		i := slices.IndexFunc(known, func(t tier) bool { return strings.EqualFold(word, string(t.Name)) })
		if i < 0 {
			var found []string
			for _, t := range known {
				found = append(found, fmt.Sprintf("%d %s", t.ID, t.Name))
			}
			return nil, usageError(fmt.Sprintf("there are no races of a tier %q; found: %s", word, strings.Join(found, ", ")))
		}
		ids = append(ids, known[i].ID)
	}
	return ids, nil
}

// tierNames returns the names of tiers. It sends requests only for ids.
func (s *service) tierNames(ctx context.Context, words *[]string) (names []string, err error) {
	for _, word := range *words {
		if n, isID := strconv.Atoi(word); isID == nil {
			t, err := s.namedTier(ctx, horseracing.TierID(n))
			if err != nil {
				return nil, err
			}
			word = string(t.Name)
		}
		names = append(names, word)
	}
	return names, nil
}

func (s *service) namedTiers(ctx context.Context) (found []tier, err error) {
	for id := range horseracing.TierID(maxTier) {
		t, err := s.namedTier(ctx, id+1)
		if err != nil {
			return nil, err
		}
		if t.Name != "" {
			found = append(found, t)
		}
	}
	return found, nil
}

// namedTier reads the name of a tier from its newest race. It is empty if there is none.
func (s *service) namedTier(ctx context.Context, id horseracing.TierID) (tier, error) {
	if id == horseracing.TierOmega {
		return tier{id, horseracing.TierNameOmega}, nil
	}
	races, err := s.Races.Results(horseracing.ResultsQuery{Tier: id}).Take(ctx, 1)
	if api, ok := errors.AsType[*horseracing.APIError](err); ok && (api.StatusCode == http.StatusBadRequest || api.StatusCode == http.StatusNotFound) {
		err = nil // there is no such tier
	}
	if err != nil || len(races) == 0 {
		return tier{ID: id}, err
	}
	return tier{id, races[0].Tier}, nil
}
