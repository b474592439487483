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

// tiers returns the tiers with these names or ids. Omega, and names that races have,
// need no request.
func (s *service) tiers(ctx context.Context, text string, races []horseracing.Race) (tiers []tier, err error) {
	known := []tier{{horseracing.TierOmega, horseracing.TierNameOmega}}
	for _, r := range races {
		known = append(known, tier{name: r.Tier})
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		is := func(t tier) bool {
			return t.id != 0 && word == strconv.Itoa(int(t.id)) || strings.EqualFold(word, string(t.name))
		}
		i := slices.IndexFunc(known, is)
		if i < 0 {
			if known, err = s.knownTiers(ctx); err != nil {
				return nil, err
			}
			i = slices.IndexFunc(known, is)
		}
		if i < 0 {
			return nil, invalidf("there is no tier %q; there are: %s", word, strings.Trim(fmt.Sprint(known), "[]"))
		}
		tiers = append(tiers, known[i])
	}
	return tiers, nil
}

func (t tier) String() string { return fmt.Sprintf("%s (%d)", t.name, t.id) }

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
