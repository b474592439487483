package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/units"
)

const usualLimit, maxLimit = 20, 100

type listArgs struct {
	Limit int `json:"limit,omitempty" jsonschema:"the length of the list, at most 100; default 20"`
}

type list[V any] struct {
	stamp
	Entries []V    `json:"entries"`
	LeftOut int    `json:"left_out,omitempty" jsonschema:"how many more there are: raise limit, ask for fewer, or pass the cursor"`
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

// sortedArgs are those of a list that is read as a whole.
type sortedArgs struct {
	OrderBy string `json:"order_by,omitempty" jsonschema:"the member to sort by, with a - before it the highest first, as in -level"`
	Cursor  string `json:"cursor,omitempty" jsonschema:"the cursor of the result before, to read on; pass the other arguments unchanged"`
	listArgs
}

// order is how the values of a list are sorted by one of their members.
type order[T any] func(a, b *T) int

// by sorts by a member.
func by[T any, V cmp.Ordered](member func(*T) V) order[T] {
	return func(a, b *T) int { return cmp.Compare(member(a), member(b)) }
}

// pageOf returns the views of the entries after a cursor, which is their number, in the order
// that is asked for.
func pageOf[T, V any](ctx context.Context, all []T, in sortedArgs, orders map[string]order[T], view func(*T) V) (list[V], error) {
	if in.OrderBy != "" {
		name, isDown := strings.CutPrefix(in.OrderBy, "-")
		compare := orders[name]
		if compare == nil {
			return list[V]{}, invalidf("order_by must be one of %s, not %q", strings.Join(slices.Sorted(maps.Keys(orders)), ", "), in.OrderBy)
		}
		slices.SortStableFunc(all, func(a, b T) int {
			if isDown {
				a, b = b, a
			}
			return compare(&a, &b)
		})
	}
	from, err := strconv.Atoi(cmp.Or(in.Cursor, "0"))
	if err != nil || from < 0 {
		return list[V]{}, invalidf("cursor must be that of the result before, unchanged")
	}
	out := listOf(ctx, all[min(from, len(all)):], in.listArgs, view)
	if out.LeftOut > 0 {
		out.Cursor = strconv.Itoa(from + len(out.Entries))
	}
	return out, nil
}

// isOf reports whether a name is the one that is asked for, if one is.
func isOf[S ~string](wanted string, name S) bool {
	return wanted == "" || strings.EqualFold(wanted, string(name))
}

// isNumber reports whether a number is the one that is asked for, if one is.
func isNumber(wanted, n int) bool { return wanted == 0 || wanted == n }

// atMost returns the highest amount that an argument allows, or nil without the argument.
func atMost(name, text string) (*horseracing.BigInt, error) {
	if text == "" {
		return nil, nil
	}
	most, err := horseracing.ParseUnits(text, horseracing.TokenDecimals)
	if err != nil {
		return nil, invalidf("%s must be a number of tokens, such as 2.5, not %q", name, text)
	}
	return &most, nil
}

type openArgs struct {
	Tier   string                  `json:"tier,omitempty" jsonschema:"the name of a tier, such as Omega; default all"`
	Horse  horseracing.HorseNumber `json:"horse,omitempty" jsonschema:"only races that the horse with this number may enter now"`
	Level  int                     `json:"level,omitempty" jsonschema:"only races that accept a horse of this level"`
	MaxFee string                  `json:"max_fee,omitempty" jsonschema:"only races whose fee is this or less, in tokens (not units), such as 2.5"`
	Length int                     `json:"length,omitempty" jsonschema:"only races of this many furlongs"`
	Closed bool                    `json:"closed,omitempty" jsonschema:"whether to add listed races whose registration has closed"`
	sortedArgs
}

var raceOrders = map[string]order[horseracing.Race]{
	"race":      by(func(r *horseracing.Race) horseracing.RaceID { return r.MainRaceID }),
	"start":     by(func(r *horseracing.Race) int64 { return r.StartTime.UnixMilli() }),
	"closes":    by(func(r *horseracing.Race) int64 { return r.RegistrationDeadline.UnixMilli() }),
	"fee":       func(a, b *horseracing.Race) int { return a.EntryFee.Cmp(b.EntryFee) },
	"furlongs":  by(func(r *horseracing.Race) int { return r.Length }),
	"min_level": by(func(r *horseracing.Race) int { return r.MinLevel }),
}

func (s *server) openRaces(ctx context.Context, _ *mcp.CallToolRequest, in openArgs) (out list[raceView], err error) {
	maxFee, err := atMost("max_fee", in.MaxFee)
	if err != nil {
		return out, err
	}
	var horse *horseracing.Horse
	if in.Horse != 0 {
		if horse, err = s.remote.Horses.Get(ctx, in.Horse); err != nil {
			return out, err
		}
	}
	races, err := s.remote.Races.Open(ctx)
	if err != nil {
		return out, err
	}
	isOfTier := func(r horseracing.Race) bool { return isOf(in.Tier, r.Tier) }
	if in.Tier != "" && len(races) > 0 && !slices.ContainsFunc(races, isOfTier) {
		names := map[string]bool{}
		for _, r := range races {
			names[string(r.Tier)] = true
		}
		return out, invalidf("there are no open races of a tier %q; found: %s", in.Tier, words(strings.Join(slices.Sorted(maps.Keys(names)), ", ")))
	}
	now := s.now()
	races = slices.DeleteFunc(races, func(r horseracing.Race) bool {
		return !isOfTier(r) || in.Level != 0 && !r.AcceptsLevel(in.Level) || maxFee != nil && r.EntryFee.Cmp(*maxFee) > 0 || !isNumber(in.Length, r.Length) ||
			!in.Closed && !r.RegistrationDeadline.IsZero() && !r.RegistrationOpenAt(now) || horse != nil && r.CheckEntry(horse, now) != nil
	})
	full := func(r horseracing.Race) int { return map[bool]int{true: 1}[r.CheckEntry(nil, now) != nil] }
	slices.SortStableFunc(races, func(a, b horseracing.Race) int {
		return cmp.Or(full(a)-full(b), a.RegistrationDeadline.Compare(b.RegistrationDeadline.Time))
	})
	return pageOf(ctx, races, in.sortedArgs, raceOrders, s.raceOf)
}

type raceArgs struct {
	Race horseracing.RaceID `json:"race" jsonschema:"the id of the race"`
}

func (s *server) race(ctx context.Context, _ *mcp.CallToolRequest, in raceArgs) (out wholeRace, err error) {
	race, err := s.remote.Races.Get(ctx, in.Race)
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
	return takeFrom(ctx, s.remote.Races.Results(query), in.listArgs, s.raceOf)
}

type horseArgs struct {
	Horse  horseracing.HorseNumber `json:"horse" jsonschema:"the number of the horse"`
	Traits bool                    `json:"traits,omitempty" jsonschema:"with the traits of its appearance"`
}

func (s *server) horse(ctx context.Context, _ *mcp.CallToolRequest, in horseArgs) (out oneHorse, err error) {
	horse, err := s.remote.Horses.Get(ctx, in.Horse)
	if err == nil {
		out.horseView = horseOf(in.Traits)(horse)
	}
	return out, err
}

type ownedArgs struct {
	Traits     bool   `json:"traits,omitempty" jsonschema:"with the traits of their appearance"`
	Tier       string `json:"tier,omitempty" jsonschema:"only horses of the tier with this name, such as Omega"`
	Gender     string `json:"gender,omitempty" jsonschema:"only horses of this gender, such as Stallion"`
	Level      int    `json:"level,omitempty" jsonschema:"only horses of this level"`
	Generation int    `json:"generation,omitempty" jsonschema:"only horses of this generation"`
	sortedArgs
}

var horseOrders = map[string]order[horseracing.Horse]{
	"horse":      by(func(h *horseracing.Horse) horseracing.HorseNumber { return h.Number }),
	"name":       by(func(h *horseracing.Horse) string { return h.Name }),
	"level":      by(func(h *horseracing.Horse) int { return h.Level }),
	"generation": by(func(h *horseracing.Horse) int { return h.Generation }),
}

func (s *server) ownedHorses(ctx context.Context, _ *mcp.CallToolRequest, in ownedArgs) (out list[horseView], err error) {
	if s.remote.UserKey == "" {
		return out, errors.New("the owner is not known: the person has to set HORSERACING_USER_KEY where this program is started")
	}
	horses, err := s.remote.Horses.Owned(ctx, s.remote.UserKey)
	if err != nil {
		return out, err
	}
	horses = slices.DeleteFunc(horses, func(h horseracing.Horse) bool {
		return !isOf(in.Tier, h.Tier) || !isOf(in.Gender, h.Gender) || !isNumber(in.Level, h.Level) || !isNumber(in.Generation, h.Generation)
	})
	return pageOf(ctx, horses, in.sortedArgs, horseOrders, horseOf(in.Traits))
}

type missionsArgs struct {
	Horse horseracing.HorseNumber `json:"horse" jsonschema:"the number of the horse"`
	listArgs
}

func (s *server) missions(ctx context.Context, _ *mcp.CallToolRequest, in missionsArgs) (out list[missionView], err error) {
	missions, err := s.remote.Horses.Missions(ctx, in.Horse)
	if err != nil {
		return out, err
	}
	return listOf(ctx, missions.Missions, in.listArgs, missionOf), nil
}

type breedingArgs struct {
	Tier       string `json:"tier,omitempty" jsonschema:"only horses of the tier with this name, such as Omega"`
	Gender     string `json:"gender,omitempty" jsonschema:"only horses of this gender, such as Stallion"`
	Generation int    `json:"generation,omitempty" jsonschema:"only horses of this generation"`
	MaxPrice   string `json:"max_price,omitempty" jsonschema:"only horses whose price is this or less, in tokens (not units), such as 2.5"`
	sortedArgs
}

var breedingOrders = map[string]order[horseracing.BreedingListing]{
	"horse":      by(func(b *horseracing.BreedingListing) horseracing.HorseNumber { return b.Number }),
	"price":      func(a, b *horseracing.BreedingListing) int { return units.Price(a.Price).Cmp(units.Price(b.Price)) },
	"generation": by(func(b *horseracing.BreedingListing) int { return b.Generation }),
	"races":      by(func(b *horseracing.BreedingListing) int { return b.TotalRaceCount }),
	"wins":       by(func(b *horseracing.BreedingListing) int { return b.WinsFirstCount }),
}

func (s *server) breeding(ctx context.Context, _ *mcp.CallToolRequest, in breedingArgs) (out list[breedingView], err error) {
	maxPrice, err := atMost("max_price", in.MaxPrice)
	if err != nil {
		return out, err
	}
	listings, err := s.remote.Horses.OpenForBreeding(ctx)
	if err != nil {
		return out, err
	}
	listings = slices.DeleteFunc(listings, func(b horseracing.BreedingListing) bool {
		return !isOf(in.Tier, b.Tier) || !isOf(in.Gender, b.Gender) || !isNumber(in.Generation, b.Generation) || maxPrice != nil && units.Price(b.Price).Cmp(*maxPrice) > 0
	})
	return pageOf(ctx, listings, in.sortedArgs, breedingOrders, breedingOf)
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
		return takeFrom(ctx, s.remote.Tournaments.Results(query), in.listArgs, tournamentOf)
	}
	open, err := s.remote.Tournaments.Open(ctx)
	open = slices.DeleteFunc(open, func(t horseracing.Tournament) bool { return in.Tier != 0 && t.Tier != in.Tier })
	return listOf(ctx, open, in.listArgs, tournamentOf), err
}
