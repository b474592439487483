package guarantees_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
)

var raceOperations = []operationTest{
	{
		Name: "Races.Results",
		Call: func(ctx context.Context, c *horseracing.Client, of callIDs) (any, error) {
			return c.Races.Results(horseracing.ResultsQuery{Tier: horseracing.TierOmega, Before: time.UnixMilli(1767225600251)}).Take(ctx, 2)
		},
		Further: func(ctx context.Context, c *horseracing.Client, n int) (any, error) {
			return c.Races.Results(horseracing.ResultsQuery{}).Take(ctx, n)
		},
		Method:   http.MethodGet,
		Path:     "/api/v2/races/results",
		Body:     `{"tier":5,"start_time_from":1767225600251}`,
		Response: "races_results_v2.json",
		Want: []horseracing.Race{
			{
				MainRaceID:           880123,
				StartTime:            at(1767225600250),
				RegistrationDeadline: at(1767225300000),
				Type:                 horseracing.RaceTypeBestTime,
				Length:               8,
				V2:                   true,
				EntryFee:             bigInt("1234500000000000000"),
				Prizes:               []horseracing.Number{number("6000000000000000000"), number("3000000000000000000"), number("1500000000000000000")},
				Tier:                 horseracing.TierNameOmega,
				Info:                 horseracing.RaceInfo{Name: "Harbour Stakes", HippodromeType: "coastal", HippodromeName: "Gull Point", Turf: "grass"},
				Places:               4,
				MinLevel:             10,
				MaxLevel:             40,
				Participants: []horseracing.RaceParticipant{
					{Number: 1042, Total: 98.125, Lane: 2},
					{Number: 7, Total: 97.5, Lane: 1},
					{Number: 311, Total: 101.75, Lane: 4},
					{Number: 90071, Total: 99.0625, Lane: 3},
				},
				FinalOrder: []int{1, 0, 3, 2},
				Winners:    []int{1, 0, 3},
			},
			{
				MainRaceID:           880122,
				StartTime:            at(1767225600250),
				RegistrationDeadline: at(1767225300000),
				Type:                 horseracing.RaceTypeWorstTime,
				Length:               15,
				NoEquipment:          true,
				Prizes:               []horseracing.Number{},
				Tier:                 horseracing.TierNameOmega,
				Info:                 horseracing.RaceInfo{Name: "Slow Sunday", HippodromeType: "desert", HippodromeName: "Dry Basin", Turf: "sand"},
				Places:               2,
				MinLevel:             1,
				MaxLevel:             100,
				Participants:         []horseracing.RaceParticipant{{Number: 312, Total: 180.5, Lane: 1}},
				FinalOrder:           []int{0},
				Winners:              []int{},
			},
		},
	},
	{
		Name: "Races.ResultsV1",
		Call: func(ctx context.Context, c *horseracing.Client, of callIDs) (any, error) {
			return c.Races.ResultsV1(horseracing.OffsetQuery{Tier: horseracing.TierOmega, Offset: 20}).Take(ctx, 1)
		},
		Further: func(ctx context.Context, c *horseracing.Client, n int) (any, error) {
			return c.Races.ResultsV1(horseracing.OffsetQuery{}).Take(ctx, n)
		},
		Method:   http.MethodGet,
		Path:     "/api/v1/races/results",
		Body:     `{"tier":5,"offset":20}`,
		Response: "races_results_v1.json",
		Want: []horseracing.Race{{
			MainRaceID:           55001,
			StartTime:            at(1640995200000),
			RegistrationDeadline: at(1640994900000),
			Length:               5,
			NoEquipment:          true,
			EntryFee:             bigInt("500000000000000000"),
			Prizes:               []horseracing.Number{number("1000000000000000000")},
			Tier:                 horseracing.TierNameOmega,
			Info:                 horseracing.RaceInfo{Name: "Old Mile", HippodromeType: "city", HippodromeName: "Clock Square", Turf: "dirt"},
			Places:               2,
			Participants:         []horseracing.RaceParticipant{{Number: 3, Total: 61.25, Lane: 2}, {Number: 4, Total: 60.75, Lane: 1}},
			FinalOrder:           []int{1, 0},
			Winners:              []int{1},
		}},
	},
	{
		Name:     "Races.Open",
		Call:     func(ctx context.Context, c *horseracing.Client, of callIDs) (any, error) { return c.Races.Open(ctx) },
		Method:   http.MethodGet,
		Path:     "/api/v1/races/open",
		Response: "races_open.json",
		Want: []horseracing.Race{
			morningDash(horseracing.RaceParticipant{Number: 1042, Total: 12.5}, horseracing.RaceParticipant{Number: 311, Total: 13.25}),
			{
				ID:                   "65f0c2a1d4e3b2a190817264",
				MainRaceID:           880201,
				StartTime:            at(1767315600000),
				RegistrationDeadline: at(1767315300000),
				Type:                 horseracing.RaceTypeWorstTime,
				Length:               2,
				V2:                   true,
				NoEquipment:          true,
				EntryFee:             bigInt("1000000000000000000"),
				Prizes:               []horseracing.Number{number("2000000000000000000")},
				Tier:                 horseracing.TierNameOmega,
				Info:                 horseracing.RaceInfo{Name: "Crawl", HippodromeType: "city", HippodromeName: "Clock Square", Turf: "dirt"},
				Places:               8,
				MinLevel:             1,
				MaxLevel:             15,
				Participants:         []horseracing.RaceParticipant{},
				Status:               horseracing.RaceStatusInProgress,
			},
		},
	},
	{
		Name: "Races.Get",
		Call: func(ctx context.Context, c *horseracing.Client, of callIDs) (any, error) {
			return c.Races.Get(ctx, of.Race)
		},
		Method:   http.MethodGet,
		Path:     "/api/v1/races/880200",
		Response: "race.json",
		Want: new(morningDash(
			horseracing.RaceParticipant{Number: 1042, Total: 12.5}, horseracing.RaceParticipant{Number: 311, Total: 13.25}, horseracing.RaceParticipant{Number: 7})),
	},
	{
		Name: "Races.Register",
		Call: func(ctx context.Context, c *horseracing.Client, of callIDs) (any, error) {
			return c.Races.Register(ctx, horseracing.Registration{Horse: of.Horse, Race: of.Race, UserKey: of.UserKey})
		},
		Method:   http.MethodPost,
		Path:     "/api/v1/races/register",
		Body:     `{"horse_number":1042,"user_key":"user \"key\" <1>","main_race_id":880200}`,
		Response: "register.json",
		Want: &horseracing.RegistrationReceipt{
			StatusCode: http.StatusOK,
			Body:       []byte(`{"ok": true, "race": {"main_race_id": 880200, "fee": 2000000000000000001}}`),
		},
	},
}

// morningDash is the open race that several payloads hold.
func morningDash(participants ...horseracing.RaceParticipant) horseracing.Race {
	return horseracing.Race{
		ID:                   "65f0c2a1d4e3b2a190817263",
		MainRaceID:           880200,
		StartTime:            at(1767312000000),
		RegistrationDeadline: at(1767311700000),
		Type:                 horseracing.RaceTypeBestTime,
		Length:               6,
		V2:                   true,
		EntryFee:             bigInt("2000000000000000001"),
		Prizes:               []horseracing.Number{number("10000000000000000000"), number("5000000000000000000")},
		Tier:                 horseracing.TierNameOmega,
		Info:                 horseracing.RaceInfo{Name: "Morning Dash", HippodromeType: "coastal", HippodromeName: "Gull Point", Turf: "grass"},
		Places:               12,
		MinLevel:             20,
		MaxLevel:             60,
		Participants:         participants,
		Status:               horseracing.RaceStatusInProgress,
	}
}

func TestFinishersFollowTheFinalOrder(t *testing.T) {
	three := []horseracing.RaceParticipant{{Number: 10}, {Number: 20}, {Number: 30}}
	for _, test := range []struct {
		name    string
		order   []int
		want    []horseracing.HorseNumber
		problem bool
	}{
		{name: "every place", order: []int{2, 0, 1}, want: []horseracing.HorseNumber{30, 10, 20}},
		{name: "the first only", order: []int{1}, want: []horseracing.HorseNumber{20}},
		{name: "none yet", order: nil},
		{name: "beyond the last", order: []int{0, 3}, problem: true},
		{name: "before the first", order: []int{-1}, problem: true},
		{name: "twice the same", order: []int{1, 1}, problem: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			race := horseracing.Race{Participants: three, FinalOrder: test.order}
			finishers, err := race.Finishers()
			if (err != nil) != test.problem {
				t.Fatalf("error %v", err)
			}
			winner, ok := race.Winner()
			if wins := len(test.want) > 0; ok != wins || wins && winner.Number != test.want[0] || !wins && winner != (horseracing.RaceParticipant{}) {
				t.Errorf("Winner is %+v, %t", winner, ok)
			}
			var got []horseracing.HorseNumber
			for _, p := range finishers {
				got = append(got, p.Number)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRaceHelpers(t *testing.T) {
	deadline := time.UnixMilli(1767311700000)
	open := horseracing.Race{RegistrationDeadline: at(1767311700000), Places: 2, MinLevel: 10, MaxLevel: 20}
	finished := open
	finished.FinalOrder = []int{0}
	crowded := horseracing.Race{Places: 1, Participants: make([]horseracing.RaceParticipant, 3)}
	unbounded := horseracing.Race{MinLevel: 10}
	entered := horseracing.Race{Participants: []horseracing.RaceParticipant{{Number: 9}, {Number: 7}}}
	for name, ok := range map[string]bool{
		"open just before the deadline":         open.RegistrationOpenAt(deadline.Add(-time.Millisecond)),
		"closed at the deadline":                !open.RegistrationOpenAt(deadline),
		"closed when it has finished":           !finished.RegistrationOpenAt(deadline.Add(-time.Hour)),
		"closed without a deadline":             !new(horseracing.Race).RegistrationOpenAt(deadline),
		"two places free":                       open.FreePlaces() == 2,
		"never less than none free":             crowded.FreePlaces() == 0,
		"both bounds of the level belong to it": open.AcceptsLevel(10) && open.AcceptsLevel(20),
		"too low and too high a level":          !open.AcceptsLevel(9) && !open.AcceptsLevel(21),
		"has who is in it, and nobody else":     entered.Has(7) && !entered.Has(8) && !entered.Has(0) && !open.Has(7),
		"an absent bound does not bind":         unbounded.AcceptsLevel(999) && !unbounded.AcceptsLevel(9),
	} {
		if !ok {
			t.Errorf("does not hold: %s", name)
		}
	}
}
