package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/horseracing-go/horseracing"
)

const usualLimit, maxLimit = 20, 100

type listArgs struct {
	Limit int `json:"limit,omitempty" jsonschema:"the length of the list, at most 100; default 20"`
}

type list[V any] struct {
	stamp
	Entries []V    `json:"entries"`
	LeftOut int    `json:"left_out,omitempty" jsonschema:"how many more there are: raise limit, or ask for fewer"`
	Cursor  string `json:"cursor,omitempty" jsonschema:"pass it to read on; absent at the end"`
	Note    string `json:"note,omitempty" jsonschema:"what is missing from the entries, and why"`
}

// skipped is the key of a context that holds the errors of unreadable entries, an *[]error.
type skipped struct{}

// noteSkipped is the client's handler of entries that it cannot read.
func noteSkipped(ctx context.Context, err error) {
	if errs, ok := ctx.Value(skipped{}).(*[]error); ok {
		*errs = append(*errs, err)
	}
}

// listOf returns the views of the first entries. Unreadable ones are a note.
func listOf[T, V any](ctx context.Context, all []T, in listArgs, view func(*T) V) list[V] {
	out := list[V]{Entries: []V{}, LeftOut: max(0, len(all)-cmp.Or(in.Limit, usualLimit))}
	if errs, _ := ctx.Value(skipped{}).(*[]error); errs != nil && len(*errs) > 0 {
		out.Note = fmt.Sprintf("some entries could not be read: %.1000q", errors.Join(*errs...))
	}
	for i := range all[:len(all)-out.LeftOut] {
		out.Entries = append(out.Entries, view(&all[i]))
	}
	return out
}

// takeFrom returns the views of the next entries of a pager, and a cursor to read on.
func takeFrom[T, V any](ctx context.Context, pager *horseracing.Pager[T], in listArgs, view func(*T) V) (list[V], error) {
	most := cmp.Or(in.Limit, usualLimit)
	all, err := pager.Take(ctx, most)
	out := listOf(ctx, all, in, view)
	if len(all) == most {
		out.Cursor = pager.Cursor().String()
	}
	return out, err
}

type openArgs struct {
	Tier   string                  `json:"tier,omitempty" jsonschema:"the name of a tier, such as Omega; default all"`
	Horse  horseracing.HorseNumber `json:"horse,omitempty" jsonschema:"only races that the horse with this number may enter now"`
	Level  int                     `json:"level,omitempty" jsonschema:"only races that accept a horse of this level"`
	MaxFee string                  `json:"max_fee,omitempty" jsonschema:"only races whose fee is this or less, in tokens (not units), such as 2.5"`
	Closed bool                    `json:"closed,omitempty" jsonschema:"whether to add listed races whose registration has closed"`
	listArgs
}

func (s *server) openRaces(ctx context.Context, _ *mcp.CallToolRequest, in openArgs) (out list[raceView], err error) {
	maxFee, err := horseracing.ParseUnits(cmp.Or(in.MaxFee, "0"), horseracing.TokenDecimals)
	if err != nil {
		return out, invalidf("max_fee must be a number of tokens, such as 2.5, not %q", in.MaxFee)
	}
	var horse *horseracing.Horse
	if in.Horse != 0 {
		if horse, err = s.client.Horses.Get(ctx, in.Horse); err != nil {
			return out, err
		}
	}
	races, err := s.client.Races.Open(ctx)
	if err != nil {
		return out, err
	}
	isOfTier := func(r horseracing.Race) bool { return in.Tier == "" || strings.EqualFold(string(r.Tier), in.Tier) }
	if in.Tier != "" && !slices.ContainsFunc(races, isOfTier) {
		names := map[string]bool{}
		for _, r := range races {
			names[string(r.Tier)] = true
		}
		return out, invalidf("there are no open races of a tier %q; found: %s", in.Tier, words(strings.Join(slices.Sorted(maps.Keys(names)), ", ")))
	}
	now := s.now()
	races = slices.DeleteFunc(races, func(r horseracing.Race) bool {
		return !isOfTier(r) || in.Level != 0 && !r.AcceptsLevel(in.Level) || in.MaxFee != "" && r.EntryFee.Cmp(maxFee) > 0 ||
			!in.Closed && !r.RegistrationDeadline.IsZero() && !r.RegistrationOpenAt(now) || horse != nil && r.CheckEntry(horse, now) != nil
	})
	full := func(r horseracing.Race) int { return map[bool]int{true: 1}[r.CheckEntry(nil, now) != nil] }
	slices.SortStableFunc(races, func(a, b horseracing.Race) int {
		return cmp.Or(full(a)-full(b), a.RegistrationDeadline.Compare(b.RegistrationDeadline.Time))
	})
	return listOf(ctx, races, in.listArgs, s.raceOf), nil
}

type raceArgs struct {
	Race horseracing.RaceID `json:"race" jsonschema:"the id of the race"`
}

func (s *server) race(ctx context.Context, _ *mcp.CallToolRequest, in raceArgs) (out wholeRace, err error) {
	race, err := s.client.Races.Get(ctx, in.Race)
	if err != nil {
		return out, err
	}
	out.raceView = s.raceOf(race)
	finishers, _ := race.Finishers() // none if their order cannot be read
	for _, p := range finishers {
		out.Runners = append(out.Runners, runner{p.Number, p.Lane, p.Total})
	}
	return out, nil
}

type resultsArgs struct {
	Tier   horseracing.TierID `json:"tier,omitempty" jsonschema:"the number of a tier; 5 is Omega; default 5 for finished ones, all for open ones"`
	Since  string             `json:"since,omitempty" jsonschema:"only those that start at this time or later, as in 2026-01-31 or 2026-01-31T12:00:00Z; default the whole history"`
	Cursor string             `json:"cursor,omitempty" jsonschema:"the cursor of the result before, to read on; with it, tier and since are not needed"`
	listArgs
}

func (in resultsArgs) query() (query horseracing.ResultsQuery, err error) {
	query.Tier = in.Tier
	if len(in.Since) == len(time.DateOnly) {
		in.Since += "T00:00:00Z"
	}
	if in.Since != "" {
		if query.Since, err = time.Parse(time.RFC3339, in.Since); err != nil {
			return query, invalidf("since must be a date or a time, such as 2026-01-31 or 2026-01-31T12:00:00Z, not %q", in.Since)
		}
	}
	if in.Cursor != "" {
		if query.Resume, err = horseracing.ParseCursor(in.Cursor); err != nil {
			return query, invalidf("cursor must be that of the result before, unchanged")
		}
	}
	return query, nil
}

func (s *server) results(ctx context.Context, _ *mcp.CallToolRequest, in resultsArgs) (out list[raceView], err error) {
	query, err := in.query()
	if err != nil {
		return out, err
	}
	return takeFrom(ctx, s.client.Races.Results(query), in.listArgs, s.raceOf)
}

type horseArgs struct {
	Horse  horseracing.HorseNumber `json:"horse" jsonschema:"the number of the horse"`
	Traits bool                    `json:"traits,omitempty" jsonschema:"with the traits of its appearance"`
}

func (s *server) horse(ctx context.Context, _ *mcp.CallToolRequest, in horseArgs) (out oneHorse, err error) {
	horse, err := s.client.Horses.Get(ctx, in.Horse)
	if err == nil {
		out.horseView = horseOf(in.Traits)(horse)
	}
	return out, err
}

type ownedArgs struct {
	Traits bool `json:"traits,omitempty" jsonschema:"with the traits of their appearance"`
	listArgs
}

func (s *server) ownedHorses(ctx context.Context, _ *mcp.CallToolRequest, in ownedArgs) (out list[horseView], err error) {
	if s.owner == "" {
		return out, errors.New("the owner is not known: the person has to set HORSERACING_USER_KEY where this program is started")
	}
	horses, err := s.client.Horses.Owned(ctx, s.owner)
	return listOf(ctx, horses, in.listArgs, horseOf(in.Traits)), err
}

type missionsArgs struct {
	Horse horseracing.HorseNumber `json:"horse" jsonschema:"the number of the horse"`
	listArgs
}

func (s *server) missions(ctx context.Context, _ *mcp.CallToolRequest, in missionsArgs) (out list[missionView], err error) {
	missions, err := s.client.Horses.Missions(ctx, in.Horse)
	if err != nil {
		return out, err
	}
	return listOf(ctx, missions.Missions, in.listArgs, missionOf), nil
}

func (s *server) breeding(ctx context.Context, _ *mcp.CallToolRequest, in listArgs) (list[breedingView], error) {
	listings, err := s.client.Horses.OpenForBreeding(ctx)
	return listOf(ctx, listings, in, breedingOf), err
}

type tournamentsArgs struct {
	Finished bool `json:"finished,omitempty" jsonschema:"finished ones, newest first, instead of open ones; only these have since and cursor"`
	resultsArgs
}

func (s *server) tournaments(ctx context.Context, _ *mcp.CallToolRequest, in tournamentsArgs) (out list[tournamentView], err error) {
	query, err := in.query()
	if err != nil {
		return out, err
	}
	if in.Finished {
		return takeFrom(ctx, s.client.Tournaments.Results(query), in.listArgs, tournamentOf)
	}
	open, err := s.client.Tournaments.Open(ctx)
	open = slices.DeleteFunc(open, func(t horseracing.Tournament) bool { return in.Tier != 0 && t.Tier != in.Tier })
	return listOf(ctx, open, in.listArgs, tournamentOf), err
}
