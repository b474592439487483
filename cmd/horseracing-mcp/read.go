package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing"
)

type service struct {
	client *horseracing.Client
	owner  horseracing.UserKey // empty if it is not known
	clock  *clock

	mu    sync.Mutex
	known []tier
}

type openArgs struct {
	Tier   string                  `json:"tier,omitempty" jsonschema:"names or ids of tiers, such as Omega or 5; several with commas; default all"`
	Horse  horseracing.HorseNumber `json:"horse,omitempty" jsonschema:"only races that the horse with this number may enter now"`
	Level  level                   `json:"level,omitempty" jsonschema:"only races that accept a horse of this level"`
	MaxFee string                  `json:"max_fee,omitempty" jsonschema:"only races whose fee is at most this, in tokens, such as 2.5"`
	Closed bool                    `json:"closed,omitempty" jsonschema:"also races whose registration has closed"`
	listArgs
}

func (s *service) openRaces(ctx context.Context, in openArgs) (out list[raceView], err error) {
	maxFee, err := horseracing.ParseUnits(cmp.Or(in.MaxFee, "0"), tokenPlaces)
	if err != nil {
		return out, coded{invalid, fmt.Sprintf("max_fee must be a number of tokens, such as 2.5, not %q", in.MaxFee)}
	}
	var horse *horseracing.Horse
	if in.Horse != 0 {
		if horse, err = s.client.Horses.Get(ctx, in.Horse); err != nil {
			return out, err
		}
	}
	races, skipped := s.client.Races.Open(ctx)
	if skipped != nil && !errors.Is(skipped, horseracing.ErrSkipped) {
		return out, skipped
	}
	names, err := s.tierNames(ctx, in.Tier, races)
	if err != nil {
		return out, err
	}
	now := s.clock.now()
	races = slices.DeleteFunc(races, func(r horseracing.Race) bool {
		return !in.Closed && !r.RegistrationOpenAt(now) || in.Level != 0 && !r.AcceptsLevel(int(in.Level)) || in.MaxFee != "" && r.EntryFee.Cmp(maxFee) > 0 ||
			horse != nil && r.CheckEntry(horse, now) != nil || in.Tier != "" && !slices.Contains(names, r.Tier)
	})
	rank := func(r horseracing.Race) int {
		if r.CheckEntry(nil, now) == nil {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(races, func(a, b horseracing.Race) int {
		return cmp.Or(rank(a)-rank(b), a.RegistrationDeadline.Compare(b.RegistrationDeadline.Time))
	})
	return listOf(races, skipped, in.listArgs, s.raceOf)
}

// tierNames returns the names of tiers. One that a race has needs no request.
func (s *service) tierNames(ctx context.Context, text string, races []horseracing.Race) (names []horseracing.TierName, err error) {
	for _, word := range words(text) {
		t := tier{}
		if i := slices.IndexFunc(races, func(r horseracing.Race) bool { return strings.EqualFold(word, string(r.Tier)) }); i >= 0 {
			t.name = races[i].Tier
		} else if t, err = s.tier(ctx, word); err != nil {
			return nil, err
		}
		names = append(names, t.name)
	}
	return names, nil
}

type raceArgs struct {
	Race horseracing.RaceID `json:"race" jsonschema:"the id of the race"`
}

func (s *service) race(ctx context.Context, in raceArgs) (raceView, error) {
	race, err := s.client.Races.Get(ctx, in.Race)
	if err != nil {
		return raceView{}, err
	}
	view := s.raceOf(race)
	finishers, _ := race.Finishers() // none if the order cannot be read
	for _, p := range finishers {
		view.Runners = append(view.Runners, runner{p.Number, p.Lane, p.Total})
	}
	return view, nil
}

type resultsArgs struct {
	Tier   string `json:"tier,omitempty" jsonschema:"names or ids of tiers, such as Omega or 5; several with commas; default Omega"`
	Since  string `json:"since,omitempty" jsonschema:"none that start before this time, as in 2026-01-31 or 2026-01-31T12:00:00Z; default the whole history"`
	Cursor string `json:"cursor,omitempty" jsonschema:"of the result before, to read on; with it, tier and since are not needed"`
	listArgs
}

func (s *service) results(ctx context.Context, in resultsArgs) (out list[raceView], err error) {
	query, err := s.query(ctx, in.Tier, in.Since, in.Cursor)
	if err != nil {
		return out, err
	}
	return takeFrom(ctx, s.client.Races.Results(query), in.listArgs, s.raceOf)
}

func (s *service) query(ctx context.Context, tier, since, cursor string) (query horseracing.ResultsQuery, err error) {
	tiers, err := s.tiers(ctx, tier)
	for _, t := range tiers {
		query.Tiers = append(query.Tiers, t.id)
	}
	if err == nil && since != "" {
		if query.Since, err = time.Parse(time.DateOnly, since); err != nil {
			query.Since, err = time.Parse(time.RFC3339, since)
		}
		if err != nil {
			err = coded{invalid, fmt.Sprintf("since must be a date or a time, such as 2026-01-31 or 2026-01-31T12:00:00Z, not %q", since)}
		}
	}
	if err == nil && cursor != "" {
		if query.Resume, err = horseracing.ParseCursor(cursor); err != nil {
			err = coded{invalid, "cursor must be that of the result before, unchanged"}
		}
	}
	return query, err
}

type horseArgs struct {
	Horse  horseracing.HorseNumber `json:"horse" jsonschema:"the number of the horse"`
	Traits bool                    `json:"traits,omitempty" jsonschema:"with the traits of its appearance"`
}

func (s *service) horse(ctx context.Context, in horseArgs) (horseView, error) {
	horse, err := s.client.Horses.Get(ctx, in.Horse)
	if err != nil {
		return horseView{}, err
	}
	return horseOf(in.Traits)(horse), nil
}

type ownedArgs struct {
	Traits bool `json:"traits,omitempty" jsonschema:"with the traits of their appearance"`
	listArgs
}

func (s *service) ownedHorses(ctx context.Context, in ownedArgs) (out list[horseView], err error) {
	if s.owner == "" {
		return out, errors.New("the owner is not known: the person has to set HORSERACING_USER_KEY where this program is started")
	}
	horses, err := s.client.Horses.Owned(ctx, s.owner)
	return listOf(horses, err, in.listArgs, horseOf(in.Traits))
}

type missionsArgs struct {
	Horse horseracing.HorseNumber `json:"horse" jsonschema:"the number of the horse"`
	listArgs
}

func (s *service) missions(ctx context.Context, in missionsArgs) (list[missionView], error) {
	missions, err := s.client.Horses.Missions(ctx, in.Horse)
	if err != nil {
		return list[missionView]{}, err
	}
	return listOf(missions.Missions, nil, in.listArgs, missionOf)
}

func (s *service) breeding(ctx context.Context, in listArgs) (list[breedingView], error) {
	listings, err := s.client.Horses.OpenForBreeding(ctx)
	return listOf(listings, err, in, breedingOf)
}

type tournamentsArgs struct {
	Finished bool   `json:"finished,omitempty" jsonschema:"finished ones, newest first, instead of open ones"`
	Tier     string `json:"tier,omitempty" jsonschema:"names or ids of tiers, such as Omega or 5; several with commas; default all open ones, and Omega for finished ones"`
	Cursor   string `json:"cursor,omitempty" jsonschema:"of the finished ones before, to read on"`
	listArgs
}

func (s *service) tournaments(ctx context.Context, in tournamentsArgs) (out list[tournamentView], err error) {
	query, err := s.query(ctx, in.Tier, "", in.Cursor)
	if err != nil {
		return out, err
	}
	if in.Finished {
		return takeFrom(ctx, s.client.Tournaments.Results(query), in.listArgs, tournamentOf)
	}
	open, err := s.client.Tournaments.Open(ctx)
	open = slices.DeleteFunc(open, func(t horseracing.Tournament) bool { return in.Tier != "" && !slices.Contains(query.Tiers, t.Tier) })
	return listOf(open, err, in.listArgs, tournamentOf)
}
