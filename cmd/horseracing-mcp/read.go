package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
)

// maxEntries is the length of the longest list: a model reads every token of it.
const maxEntries = 100

type none struct{}

type list[T any] struct {
	Entries []T    `json:"entries"`
	LeftOut int    `json:"left_out,omitempty" jsonschema:"entries beyond the first hundred: ask for fewer"`
	Cursor  string `json:"cursor,omitempty" jsonschema:"pass it to read on; absent at the end"`
	Note    string `json:"note,omitempty" jsonschema:"what could not be read"`
}

// listOf returns the views of the first entries. Unreadable entries are a note, not an
// error.
func listOf[T, V any](all []T, err error, view func(*T) V) (list[V], error) {
	var out list[V]
	if errors.Is(err, horseracing.ErrSkipped) {
		out.Note, err = "some entries could not be read: "+err.Error(), nil
	}
	out.LeftOut = max(0, len(all)-maxEntries)
	out.Entries = make([]V, 0, maxEntries)
	for i := range all[:len(all)-out.LeftOut] {
		out.Entries = append(out.Entries, view(&all[i]))
	}
	return out, err
}

type reader struct {
	client *horseracing.Client
	owner  horseracing.UserKey // empty if it is not known
}

type openArgs struct {
	Tier   string `json:"tier,omitempty" jsonschema:"the name of a tier, such as Omega"`
	Level  int    `json:"level,omitempty" jsonschema:"only races that accept a horse of this level"`
	MaxFee string `json:"max_fee,omitempty" jsonschema:"only races whose fee is at most this, in tokens"`
}

func (r reader) openRaces(ctx context.Context, in openArgs) (list[raceView], error) {
	maxFee, err := horseracing.ParseUnits(cmp.Or(in.MaxFee, "0"), tokenPlaces)
	if err != nil {
		return list[raceView]{}, fmt.Errorf("max_fee must be a number of tokens, such as 2.5: %w", err)
	}
	races, err := r.client.Races.Open(ctx)
	races = slices.DeleteFunc(races, func(race horseracing.Race) bool {
		return in.Tier != "" && !strings.EqualFold(string(race.Tier), in.Tier) || in.Level != 0 && !race.AcceptsLevel(in.Level) ||
			in.MaxFee != "" && race.EntryFee.Cmp(maxFee) > 0
	})
	slices.SortStableFunc(races, func(a, b horseracing.Race) int { return a.RegistrationDeadline.Compare(b.RegistrationDeadline.Time) })
	return listOf(races, err, raceOf)
}

type raceArgs struct {
	Race horseracing.RaceID `json:"race" jsonschema:"the id of the race"`
}

func (r reader) race(ctx context.Context, in raceArgs) (raceView, error) {
	race, err := r.client.Races.Get(ctx, in.Race)
	if err != nil {
		return raceView{}, err
	}
	view := raceOf(race)
	finishers, _ := race.Finishers() // none if the order cannot be read
	for _, p := range finishers {
		view.Runners = append(view.Runners, runner{p.Number, p.Lane, p.Total})
	}
	return view, nil
}

type resultsArgs struct {
	Tiers  []horseracing.TierID `json:"tiers,omitempty" jsonschema:"ids of tiers; default 5, Omega"`
	Since  time.Time            `json:"since,omitzero" jsonschema:"none that start before this time, as in 2026-01-31T12:00:00Z; default the whole history"`
	Limit  int                  `json:"limit,omitempty" jsonschema:"how many races, at most 100; default 20"`
	Cursor string               `json:"cursor,omitempty" jsonschema:"of the result before, to read on; with it, tiers and since are not needed"`
}

func (r reader) results(ctx context.Context, in resultsArgs) (out list[raceView], err error) {
	query := horseracing.ResultsQuery{Tiers: in.Tiers, Since: in.Since}
	if in.Cursor != "" {
		if query.Resume, err = horseracing.ParseCursor(in.Cursor); err != nil {
			return out, fmt.Errorf("pass a cursor unchanged, or none: %w", err)
		}
	}
	limit := min(max(cmp.Or(in.Limit, 20), 1), maxEntries)
	pager := r.client.Races.Results(query)
	races, err := pager.Take(ctx, limit)
	out, failed := listOf(races, err, raceOf)
	if len(races) == limit || err != nil {
		out.Cursor = pager.Cursor().String()
	}
	return out, failed
}

type horseArgs struct {
	Horse horseracing.HorseNumber `json:"horse" jsonschema:"the number of the horse"`
}

func (r reader) horse(ctx context.Context, in horseArgs) (*horseracing.Horse, error) {
	return r.client.Horses.Get(ctx, in.Horse)
}

func (r reader) ownedHorses(ctx context.Context, _ none) (list[horseracing.Horse], error) {
	if r.owner == "" {
		return list[horseracing.Horse]{}, errors.New("the owner is not known: the person has to set HORSERACING_USER_KEY where this program is started")
	}
	horses, err := r.client.Horses.Owned(ctx, r.owner)
	return listOf(horses, err, func(h *horseracing.Horse) horseracing.Horse { return *h })
}

func (r reader) missions(ctx context.Context, in horseArgs) (list[missionView], error) {
	missions, err := r.client.Horses.Missions(ctx, in.Horse)
	if err != nil {
		return list[missionView]{}, err
	}
	return listOf(missions.Missions, nil, missionOf)
}

func (r reader) breeding(ctx context.Context, _ none) (list[breedingView], error) {
	listings, err := r.client.Horses.OpenForBreeding(ctx)
	return listOf(listings, err, breedingOf)
}

type tournamentsArgs struct {
	Finished bool `json:"finished,omitempty" jsonschema:"the last hundred finished ones of tier 5, Omega, instead of the open ones"`
}

func (r reader) tournaments(ctx context.Context, in tournamentsArgs) (list[tournamentView], error) {
	if in.Finished {
		finished, err := r.client.Tournaments.Results(horseracing.ResultsQuery{}).Take(ctx, maxEntries)
		return listOf(finished, err, tournamentOf)
	}
	open, err := r.client.Tournaments.Open(ctx)
	return listOf(open, err, tournamentOf)
}
