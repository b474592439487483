package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/horseracing-go/horseracing"
)

// maxTier is the highest id that is tried.
const maxTier = 12

// tier is an id with the name that the races of the tier have.
type tier struct {
	ID   horseracing.TierID   `json:"id"`
	Name horseracing.TierName `json:"name"`
}

func (p *program) tiersCommand() *cobra.Command {
	return p.reading(p.command("tiers", "The ids of the tiers, with the names that the service gives them", 0, 0), func(ctx context.Context, s *service, _ []string) error {
		found, err := s.namedTiers(ctx)
		return printList(p, tierLayout, found, err)
	})
}

var tierLayout = layout[tier]{
	columns: []column{{title: "TIER", isNumber: true}, {title: "NAME"}},
	cells:   func(t *tier) []any { return []any{t.ID, t.Name} },
}

// tierFlag defines a flag that takes tiers, by id or by name, separated by commas.
// Without it there are none, which means usual.
func tierFlag(flags *pflag.FlagSet, usual string) *[]string {
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

// tier looks a tier up, by id or name. With an error it may have an id.
func (s *service) tier(ctx context.Context, word string) (tier, error) {
	if strings.EqualFold(word, string(horseracing.TierNameOmega)) {
		return tier{ID: horseracing.TierOmega, Name: horseracing.TierNameOmega}, nil
	}
	if id, err := strconv.Atoi(word); err == nil {
		if t, err := s.namedTier(ctx, horseracing.TierID(id)); err != nil || t.Name != "" {
			return t, err
		}
	}
	return s.tierCalled(ctx, word)
}

// tierIDs returns the ids of tiers. One that cannot be looked up at the moment is taken
// as it is.
func (s *service) tierIDs(ctx context.Context, words []string) (ids []horseracing.TierID, err error) {
	for _, word := range words {
		t, err := s.tier(ctx, word)
		if err != nil && (t.ID == 0 || !isUnavailable(err)) {
			return nil, err
		}
		ids = append(ids, t.ID)
	}
	return ids, nil
}

// tierCalled returns the tier of a name, or an error that lists those there are.
func (s *service) tierCalled(ctx context.Context, name string) (tier, error) {
	known, err := s.namedTiers(ctx)
	if err != nil {
		return tier{}, err
	}
	var found []string
	for _, t := range known {
		if strings.EqualFold(name, string(t.Name)) {
			return t, nil
		}
		found = append(found, fmt.Sprintf("%d %s", t.ID, t.Name))
	}
	return tier{}, usageError(fmt.Sprintf("there are no races of a tier %q; found: %s", name, strings.Join(found, ", ")))
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
		return tier{ID: id, Name: horseracing.TierNameOmega}, nil
	}
	races, err := s.Races.Results(horseracing.ResultsQuery{Tier: id}).Take(ctx, 1)
	if api, ok := errors.AsType[*horseracing.APIError](err); ok && (api.StatusCode == http.StatusBadRequest || api.StatusCode == http.StatusNotFound) {
		err = nil // there is no such tier
	}
	if err != nil || len(races) == 0 {
		return tier{ID: id}, err
	}
	return tier{ID: id, Name: races[0].Tier}, nil
}
