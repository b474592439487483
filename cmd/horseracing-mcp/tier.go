package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/horseracing-go/horseracing"
)

// maxTier is the highest id that is tried: ids other than that of Omega are undocumented.
const maxTier = 12

type tier struct {
	id   horseracing.TierID
	name horseracing.TierName
}

func (t tier) is(word string) bool {
	return word == strconv.Itoa(int(t.id)) || strings.EqualFold(word, string(t.name))
}

func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// tiers returns the tiers with these names or ids. Only for others than Omega it sends
// requests.
func (s *service) tiers(ctx context.Context, text string) (tiers []tier, err error) {
	for _, word := range words(text) {
		t, err := s.tier(ctx, word)
		if err != nil {
			return nil, err
		}
		tiers = append(tiers, t)
	}
	return tiers, nil
}

func (s *service) tier(ctx context.Context, word string) (tier, error) {
	if omega := (tier{horseracing.TierOmega, horseracing.TierNameOmega}); omega.is(word) {
		return omega, nil
	}
	known, err := s.knownTiers(ctx)
	if err != nil {
		return tier{}, err
	}
	var texts []string
	for _, t := range known {
		if t.is(word) {
			return t, nil
		}
		texts = append(texts, fmt.Sprintf("%s (%d)", t.name, t.id))
	}
	return tier{}, coded{invalid, fmt.Sprintf("there is no tier %q; there are: %s", word, strings.Join(texts, ", "))}
}

// knownTiers reads, once, the name of each tier from its newest race.
func (s *service) knownTiers(ctx context.Context) ([]tier, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known != nil {
		return s.known, nil
	}
	var known []tier
	for id := horseracing.TierID(1); id <= maxTier; id++ {
		races, err := s.client.Races.Results(horseracing.ResultsQuery{Tier: id}).Take(ctx, 1)
		api, isAPI := errors.AsType[*horseracing.APIError](err)
		switch {
		case len(races) > 0:
			known = append(known, tier{id, races[0].Tier})
		case isAPI && (api.StatusCode == http.StatusBadRequest || api.StatusCode == http.StatusNotFound): // there is no such tier
		case err != nil:
			return nil, err
		}
	}
	s.known = known
	return known, nil
}
