package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/tiers"
)

const usualLimit, maxLimit = 20, 100

type listArgs struct {
	Limit int `json:"limit,omitempty" jsonschema:"the length of the list, at most 100; default 20"`
}

type list[T any] struct {
	Entries []T    `json:"entries"`
	LeftOut int    `json:"left_out,omitempty" jsonschema:"how many more there are: raise limit, or ask for fewer"`
	Cursor  string `json:"cursor,omitempty" jsonschema:"pass it to read on; absent at the end"`
	Note    string `json:"note,omitempty" jsonschema:"what is missing from the entries, and why"`
}

func (l list[T]) String() string {
	text := fmt.Sprintf("%d entries, %d left out", len(l.Entries), l.LeftOut)
	if l.Cursor != "" {
		text += ", more with the cursor"
	}
	if l.Note != "" {
		text += "; " + l.Note
	}
	return text
}

// listOf returns the views of the first entries. Unreadable entries are a note, not an
// error.
func listOf[T, V any](all []T, err error, in listArgs, view func(*T) V) (list[V], error) {
	out := list[V]{Entries: []V{}, LeftOut: max(0, len(all)-cmp.Or(in.Limit, usualLimit))}
	if errors.Is(err, horseracing.ErrSkipped) {
		out.Note, err = fmt.Sprintf("some entries could not be read: %q", err), nil
	}
	for i := range all[:len(all)-out.LeftOut] {
		out.Entries = append(out.Entries, view(&all[i]))
	}
	return out, err
}

// takeFrom returns the views of the next entries of a pager, and a cursor to read on.
func takeFrom[T, V any](ctx context.Context, pager *horseracing.Pager[T], in listArgs, view func(*T) V) (list[V], error) {
	most := cmp.Or(in.Limit, usualLimit)
	all, failed := pager.Take(ctx, most)
	out, err := listOf(all, failed, in, view)
	if len(all) == most || failed != nil {
		out.Cursor = pager.Cursor().String()
	}
	return out, err
}

type openArgs struct {
	Tier   string                  `json:"tier,omitempty" jsonschema:"names or ids of tiers, such as Omega or 5; several with commas; default all"`
	Horse  horseracing.HorseNumber `json:"horse,omitempty" jsonschema:"only races that the horse with this number may enter now"`
	Level  int                     `json:"level,omitempty" jsonschema:"only races that accept a horse of this level"`
	MaxFee string                  `json:"max_fee,omitempty" jsonschema:"only races whose fee is this or less, in tokens (not units), such as 2.5"`
	Closed bool                    `json:"closed,omitempty" jsonschema:"also listed races whose registration has closed"`
	listArgs
}

func (s *server) openRaces(ctx context.Context, _ *mcp.CallToolRequest, in openArgs) (out list[raceView], err error) {
	maxFee, err := horseracing.ParseUnits(cmp.Or(in.MaxFee, "0"), tokenPlaces)
	if err != nil {
		return out, invalidf("max_fee must be a number of tokens, such as 2.5, not %q", in.MaxFee)
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
	wanted, err := s.tiers.Find(ctx, in.Tier, races)
	if err != nil {
		return out, err
	}
	now := s.clock.now()
	undated := 0 // left out because it is unknown whether registration is open
	races = slices.DeleteFunc(races, func(r horseracing.Race) bool {
		if in.Level != 0 && !r.AcceptsLevel(in.Level) || in.MaxFee != "" && r.EntryFee.Cmp(maxFee) > 0 ||
			in.Tier != "" && !slices.ContainsFunc(wanted, func(t tiers.Tier) bool { return t.Name == r.Tier }) {
			return true
		}
		isOut := !in.Closed && !r.RegistrationOpenAt(now) || horse != nil && r.CheckEntry(horse, now) != nil
		if isOut && r.RegistrationDeadline.IsZero() {
			undated++
		}
		return isOut
	})
	full := func(r horseracing.Race) int { return map[bool]int{true: 1}[r.CheckEntry(nil, now) != nil] }
	slices.SortStableFunc(races, func(a, b horseracing.Race) int {
		return cmp.Or(full(a)-full(b), a.RegistrationDeadline.Compare(b.RegistrationDeadline.Time))
	})
	out, err = listOf(races, skipped, in.listArgs, s.raceOf)
	if undated > 0 {
		note := fmt.Sprintf("%d races without a registration deadline are left out: closed without horse lists them; %s", undated, out.Note)
		out.Note = strings.TrimSuffix(note, "; ")
	}
	return out, err
}

type raceArgs struct {
	Race horseracing.RaceID `json:"race" jsonschema:"the id of the race"`
}

func (s *server) race(ctx context.Context, _ *mcp.CallToolRequest, in raceArgs) (raceView, error) {
	race, err := s.client.Races.Get(ctx, in.Race)
	if err != nil {
		return raceView{}, err
	}
	return s.wholeRaceOf(race), nil
}

type resultsArgs struct {
	Tier   string `json:"tier,omitempty" jsonschema:"names or ids of tiers, such as Omega or 5; several with commas; default Omega for finished ones, all for open ones"`
	Since  string `json:"since,omitempty" jsonschema:"only those that start at this time or later, as in 2026-01-31 or 2026-01-31T12:00:00Z; default the whole history"`
	Cursor string `json:"cursor,omitempty" jsonschema:"of the result before, to read on; with it, tier and since are not needed"`
	listArgs
}

func (s *server) results(ctx context.Context, _ *mcp.CallToolRequest, in resultsArgs) (out list[raceView], err error) {
	query, err := s.query(ctx, in)
	if err != nil {
		return out, err
	}
	return takeFrom(ctx, s.client.Races.Results(query), in.listArgs, s.raceOf)
}

func (s *server) query(ctx context.Context, in resultsArgs) (query horseracing.ResultsQuery, err error) {
	found, err := s.tiers.Find(ctx, in.Tier, nil)
	for _, t := range found {
		query.Tiers = append(query.Tiers, t.ID)
	}
	if len(in.Since) == len(time.DateOnly) {
		in.Since += "T00:00:00Z"
	}
	if err == nil && in.Since != "" {
		if query.Since, err = time.Parse(time.RFC3339, in.Since); err != nil {
			err = invalidf("since must be a date or a time, such as 2026-01-31 or 2026-01-31T12:00:00Z, not %q", in.Since)
		}
	}
	if err == nil && in.Cursor != "" {
		if query.Resume, err = horseracing.ParseCursor(in.Cursor); err != nil {
			err = invalidf("cursor must be that of the result before, unchanged")
		}
	}
	return query, err
}

type horseArgs struct {
	Horse  horseracing.HorseNumber `json:"horse" jsonschema:"the number of the horse"`
	Traits bool                    `json:"traits,omitempty" jsonschema:"with the traits of its appearance"`
}

func (s *server) horse(ctx context.Context, _ *mcp.CallToolRequest, in horseArgs) (horseracing.Horse, error) {
	horse, err := s.client.Horses.Get(ctx, in.Horse)
	if err != nil {
		return horseracing.Horse{}, err
	}
	return horseOf(in.Traits)(horse), nil
}

type ownedArgs struct {
	Traits bool `json:"traits,omitempty" jsonschema:"with the traits of their appearance"`
	listArgs
}

func (s *server) ownedHorses(ctx context.Context, _ *mcp.CallToolRequest, in ownedArgs) (out list[horseracing.Horse], err error) {
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

func (s *server) missions(ctx context.Context, _ *mcp.CallToolRequest, in missionsArgs) (list[missionView], error) {
	missions, err := s.client.Horses.Missions(ctx, in.Horse)
	if err != nil {
		return list[missionView]{}, err
	}
	return listOf(missions.Missions, nil, in.listArgs, missionOf)
}

func (s *server) breeding(ctx context.Context, _ *mcp.CallToolRequest, in listArgs) (list[breedingView], error) {
	listings, err := s.client.Horses.OpenForBreeding(ctx)
	return listOf(listings, err, in, breedingOf)
}

type tournamentsArgs struct {
	Finished bool `json:"finished,omitempty" jsonschema:"finished ones, newest first, instead of open ones; only these have since and cursor"`
	resultsArgs
}

func (s *server) tournaments(ctx context.Context, _ *mcp.CallToolRequest, in tournamentsArgs) (out list[tournamentView], err error) {
	query, err := s.query(ctx, in.resultsArgs)
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
