package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
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

// tiers returns the tiers with these names or ids. One that a race has is only a name,
// and needs no request.
func (s *service) tiers(ctx context.Context, text string, races []horseracing.Race) (tiers []tier, err error) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		t := tier{}
		if i := slices.IndexFunc(races, func(r horseracing.Race) bool { return strings.EqualFold(word, string(r.Tier)) }); i >= 0 {
			t.name = races[i].Tier
		} else if t, err = s.tier(ctx, word); err != nil {
			return nil, err
		}
		tiers = append(tiers, t)
	}
	return tiers, nil
}

// tier returns the tier with a name or an id. Only for others than Omega it sends
// requests.
func (s *service) tier(ctx context.Context, word string) (tier, error) {
	omega := tier{horseracing.TierOmega, horseracing.TierNameOmega}
	is := func(t tier) bool { return word == strconv.Itoa(int(t.id)) || strings.EqualFold(word, string(t.name)) }
	if is(omega) {
		return omega, nil
	}
	known, err := s.knownTiers(ctx)
	if err != nil {
		return tier{}, err
	}
	var texts []string
	for _, t := range known {
		if is(t) {
			return t, nil
		}
		texts = append(texts, fmt.Sprintf("%s (%d)", t.name, t.id))
	}
	return tier{}, invalidf("there is no tier %q; there are: %s", word, strings.Join(texts, ", "))
}

// knownTiers reads, once, the name of each tier from its newest race.
func (s *service) knownTiers(ctx context.Context) (known []tier, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known != nil {
		return s.known, nil
	}
	for id := horseracing.TierID(1); id <= maxTier; id++ {
		races, err := s.client.Races.Results(horseracing.ResultsQuery{Tier: id}).Take(ctx, 1)
		api, isAPI := errors.AsType[*horseracing.APIError](err)
		isAbsent := isAPI && (api.StatusCode == http.StatusBadRequest || api.StatusCode == http.StatusNotFound)
		if len(races) > 0 {
			known = append(known, tier{id, races[0].Tier})
		} else if err != nil && !isAbsent {
			return nil, err
		}
	}
	s.known = known
	return known, nil
}
