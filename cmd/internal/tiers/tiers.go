// Package tiers finds the tiers of the service by id or by name, for both programs.
package tiers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/horseracing-go/horseracing"
)

// highest is the highest id that is tried: ids other than that of Omega are undocumented.
const highest = 12

// Tier is an id with the name that the races of the tier have.
type Tier struct {
	ID   horseracing.TierID   `json:"id"`
	Name horseracing.TierName `json:"name"`
}

var omega = Tier{horseracing.TierOmega, horseracing.TierNameOmega}

// UnknownError is the error of a tier that has no races. It lists those that have some.
type UnknownError string

func (e UnknownError) Error() string { return string(e) }

// Finder looks tiers up, each once.
type Finder struct {
	races *horseracing.RacesService

	mu    sync.Mutex
	known map[horseracing.TierID]Tier
}

// New returns a Finder that reads races.
func New(races *horseracing.RacesService) *Finder {
	return &Finder{races: races, known: map[horseracing.TierID]Tier{omega.ID: omega}}
}

// Find returns the tiers with these ids or names, separated by commas. Omega and the names
// of the races that are passed need no request. If an id cannot be looked up at the moment,
// the tier has it nevertheless, and the error has the reason.
func (f *Finder) Find(ctx context.Context, words string, races []horseracing.Race) (found []Tier, failed error) {
	if words == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(words, ",") {
		t, err := f.find(ctx, strings.TrimSpace(word), races)
		if err != nil && t.ID == 0 {
			return nil, err
		}
		found, failed = append(found, t), errors.Join(failed, err)
	}
	return found, failed
}

func (f *Finder) find(ctx context.Context, word string, races []horseracing.Race) (Tier, error) {
	isNamed := func(name horseracing.TierName) bool { return strings.EqualFold(word, string(name)) }
	if isNamed(horseracing.TierNameOmega) {
		return omega, nil
	}
	if i := slices.IndexFunc(races, func(r horseracing.Race) bool { return isNamed(r.Tier) }); i >= 0 {
		return Tier{Name: races[i].Tier}, nil
	}
	if id, err := strconv.Atoi(word); err == nil && id > 0 {
		if t, err := f.named(ctx, horseracing.TierID(id)); err != nil || t.Name != "" {
			return t, err
		}
	}
	all, err := f.All(ctx)
	if err != nil {
		return Tier{}, err
	}
	var names []string
	for _, t := range all {
		if isNamed(t.Name) {
			return t, nil
		}
		names = append(names, fmt.Sprintf("%d %s", t.ID, t.Name))
	}
	return Tier{}, UnknownError(fmt.Sprintf("there are no races of a tier %q; found: %s", word, strings.Join(names, ", ")))
}

// All returns the tiers that have results.
func (f *Finder) All(ctx context.Context) (found []Tier, err error) {
	for id := range horseracing.TierID(highest) {
		t, err := f.named(ctx, id+1)
		if err != nil {
			return nil, err
		}
		if t.Name != "" {
			found = append(found, t)
		}
	}
	return found, nil
}

// named reads the name of a tier from its newest race. It is empty if there is none.
func (f *Finder) named(ctx context.Context, id horseracing.TierID) (Tier, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t, isKnown := f.known[id]; isKnown {
		return t, nil
	}
	t := Tier{ID: id}
	races, err := f.races.Results(horseracing.ResultsQuery{Tier: id}).Take(ctx, 1)
	if api, ok := errors.AsType[*horseracing.APIError](err); ok && (api.StatusCode == http.StatusBadRequest || api.StatusCode == http.StatusNotFound) {
		err = nil // there is no such tier
	}
	if len(races) > 0 {
		t.Name = races[0].Tier
	}
	if err == nil {
		f.known[id] = t
	}
	return t, err
}
