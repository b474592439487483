package guarantees_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
)

var horseOperations = []operationTest{
	{
		Name: "Horses.Get",
		Call: func(ctx context.Context, c *horseracing.Client, of callIDs) (any, error) {
			return c.Horses.Get(ctx, of.Horse)
		},
		Method:   http.MethodGet,
		Path:     "/api/v1/horses/1042",
		Response: "horse.json",
		Want: &horseracing.Horse{
			Name:        "Moss Lantern",
			Image:       "https://img.example.test/horses/1042.png",
			ExternalURL: "https://play.example.test/horse/1042",
			Number:      1042,
			Gender:      horseracing.GenderStallion,
			Height:      1.62,
			Weight:      487.5,
			Level:       37,
			Appearance: []horseracing.Trait{
				{Type: "body_type", Value: "Lean"}, {Type: "base_color", Value: "Chestnut"},
				{Type: "base_pattern_type", Value: "Dapple"}, {Type: "base_pattern_color", Value: "Cream"},
				{Type: "muzzle_pattern_type", Value: "Snip"}, {Type: "muzzle_pattern_color", Value: "White"},
				{Type: "ear_type", Value: "Pointed"}, {Type: "eye_type", Value: "Amber"},
				{Type: "mane_type", Value: "Braided"}, {Type: "mane_color", Value: "Black"},
				{Type: "tail_type", Value: "Long"}, {Type: "tail_color", Value: "Black"},
				{Type: "hoof_color", Value: "Slate"}, {Type: "head_type", Value: "Straight"},
				{Type: "head_pattern_type", Value: "Star"}, {Type: "head_pattern_color", Value: "White"},
				{Type: "leg_pattern_type", Value: "Sock"}, {Type: "leg_pattern_color", Value: "White"},
				{Type: "thigh_mark", Value: "Crescent"},
			},
			BreedingCooldown: nil,
			Breed:            "Meadow",
			Generation:       3,
			Tier:             horseracing.TierNameBeta,
		},
	},
	{
		Name: "Horses.Owned",
		Call: func(ctx context.Context, c *horseracing.Client, of callIDs) (any, error) {
			return c.Horses.Owned(ctx, of.UserKey)
		},
		Method:   http.MethodGet,
		Path:     "/api/v1/horses/user",
		Body:     `{"user_key":"user \"key\" <1>"}`,
		Response: "horses_user.json",
		Want: []horseracing.Horse{
			{
				Name:             "Quiet Ferry",
				Image:            "https://img.example.test/horses/7.png",
				ExternalURL:      "https://play.example.test/horse/7",
				Number:           7,
				Gender:           horseracing.GenderStallion,
				Height:           1.5,
				Weight:           430,
				Level:            12,
				Appearance:       []horseracing.Trait{{Type: "mane_color", Value: "Silver"}},
				BreedingCooldown: new(time.Date(2026, 3, 1, 8, 15, 30, 250e6, time.UTC)),
				Breed:            "Fjord",
				Generation:       1,
				Tier:             horseracing.TierNameOmega,
			},
			{
				Name:        `Ash "Ω" <Rider>`,
				Image:       "https://img.example.test/horses/90071.png?size=2&x=1",
				ExternalURL: "https://play.example.test/horse/90071",
				Number:      90071,
				Gender:      "Mare",
				Height:      1.71,
				Weight:      512.25,
				Level:       88,
				Appearance:  []horseracing.Trait{},
				Breed:       "Steppe",
				Generation:  5,
				Tier:        horseracing.TierNameBeta,
			},
		},
	},
	{
		Name: "Horses.Missions",
		Call: func(ctx context.Context, c *horseracing.Client, of callIDs) (any, error) {
			return c.Horses.Missions(ctx, of.Horse)
		},
		Method:   http.MethodGet,
		Path:     "/api/v1/horses/missions/1042",
		Response: "horse_missions.json",
		Want: &horseracing.HorseMissions{
			Number: 1042,
			Missions: []horseracing.HorseMission{
				{
					Type: horseracing.MissionPeriodMonthly, Mission: horseracing.MissionKindRunXRaces, Name: "Run 90 races",
					Count: 90, RewardXP: 3334, RewardSugar: 350, Progress: []json.RawMessage{},
				},
				{
					Type: horseracing.MissionPeriodWeekly, Mission: horseracing.MissionKindAllWeekly, Name: "Finish every weekly mission",
					Count: 4, RewardXP: 900, RewardSugar: 80, Progress: rawValues("1", "1", "0", "0"),
				},
				{
					Type: horseracing.MissionPeriodWeekly, Mission: horseracing.MissionKindTakePrizePlaceInXRaces, Name: "Take a prize place in 3 races",
					Count: 3, RewardXP: 833, RewardSugar: 81, Progress: rawValues(`{"race": 880123, "place": 2}`), Place: new(2),
				},
				{
					Type: horseracing.MissionPeriodWeekly, Mission: horseracing.MissionKindRunAllOnZHippodrome, Name: "Run every length on sand",
					Count: 14, RewardXP: 823, RewardSugar: 89, Progress: rawValues("2", "3", "15"), Hippodrome: new(1),
				},
				{
					Type: horseracing.MissionPeriodDaily, Mission: horseracing.MissionKindAllDaily, Name: "Finish every daily mission",
					Count: 3, RewardXP: 200, RewardSugar: 20, Progress: []json.RawMessage{}, Processed: true, Completed: true,
				},
				{
					Type: horseracing.MissionPeriodDaily, Mission: horseracing.MissionKindRunXFurlongRace, Name: "Run a race of 9 furlongs",
					Count: 1, RewardXP: 116, RewardSugar: 11, Progress: rawValues("880119"), Processed: true, Completed: true, Furlongs: new(9),
				},
				{
					Type: horseracing.MissionPeriodDaily, Mission: horseracing.MissionKindRunXRacesYFurlong, Name: "Run 4 races of 6 furlongs",
					Count: 4, RewardXP: 176, RewardSugar: 18, Progress: rawValues(`"880120"`, `"880121"`), Furlongs: new(6),
				},
			},
		},
	},
	{
		Name: "Horses.OpenForBreeding",
		Call: func(ctx context.Context, c *horseracing.Client, of callIDs) (any, error) {
			return c.Horses.OpenForBreeding(ctx)
		},
		Method:   http.MethodGet,
		Path:     "/api/v1/horses/breeding/open",
		Response: "breeding_open.json",
		Want: []horseracing.BreedingListing{
			{
				Name: "Copper Tide", Number: 311, Gender: horseracing.GenderStallion,
				WinsFirstCount: 41, WinsSecondCount: 33, WinsThirdCount: 27, TotalRaceCount: 402,
				Price: number("12.5"), Generation: 2, Tier: horseracing.TierNameOmega,
			},
			{
				Name: "Low Cloud", Number: 312, Gender: horseracing.GenderStallion,
				WinsThirdCount: 1, TotalRaceCount: 9,
				Price: number("2000000000000000001"), Generation: 7, Tier: horseracing.TierNameOmega,
			},
		},
	},
}

func rawValues(values ...string) []json.RawMessage {
	raw := make([]json.RawMessage, len(values))
	for i, v := range values {
		raw[i] = json.RawMessage(v)
	}
	return raw
}

func TestTraitFindsTheFirstOfItsType(t *testing.T) {
	h := horseracing.Horse{Appearance: []horseracing.Trait{{Type: "mane_color", Value: "Black"}, {Type: "tail_color", Value: ""}, {Type: "mane_color", Value: "White"}}}
	for _, test := range []struct {
		name, want string
		found      bool
	}{
		{"mane_color", "Black", true},
		{"tail_color", "", true},
		{"Mane_Color", "", false},
		{"", "", false},
	} {
		if got, found := h.Trait(test.name); got != test.want || found != test.found {
			t.Errorf("Trait(%q) = %q, %t; want %q, %t", test.name, got, found, test.want, test.found)
		}
	}
}

func TestCanBreedAtIsTrueFromTheEndOfTheCooldownOn(t *testing.T) {
	end := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	resting, rested := horseracing.Horse{BreedingCooldown: &end}, horseracing.Horse{}
	for _, test := range []struct {
		horse *horseracing.Horse
		at    time.Time
		want  bool
	}{
		{&rested, end, true},
		{&resting, end.Add(-time.Nanosecond), false},
		{&resting, end, true},
		{&resting, end.Add(time.Hour), true},
	} {
		if got := test.horse.CanBreedAt(test.at); got != test.want {
			t.Errorf("cooldown %v: CanBreedAt(%v) = %t", test.horse.BreedingCooldown, test.at, got)
		}
	}
}

func TestAHorseThatIsNotThereIsErrNotFound(t *testing.T) {
	for _, body := range []string{"null", "[]", " null\n", "[ ]", "[\n]\n"} {
		c := responding(t, body)
		if _, err := c.Horses.Get(t.Context(), 1); !errors.Is(err, horseracing.ErrNotFound) {
			t.Errorf("Get after %q: %v, want ErrNotFound", body, err)
		}
		if _, err := c.Horses.Missions(t.Context(), 1); !errors.Is(err, horseracing.ErrNotFound) {
			t.Errorf("Missions after %q: %v, want ErrNotFound", body, err)
		}
	}
}

var missionOperations = []operationTest{{
	Name: "Missions.Catalogue",
	Call: func(ctx context.Context, c *horseracing.Client, of callIDs) (any, error) {
		return c.Missions.Catalogue(ctx)
	},
	Method:   http.MethodGet,
	Path:     "/api/v1/missions",
	Response: "missions.json",
	Want: &horseracing.MissionCatalogue{
		Daily: []horseracing.MissionTemplate{
			missionTemplate(horseracing.MissionKindRunXRaces, "run some races", 1, 10, 106, 10, 10, 1),
			missionTemplate(horseracing.MissionKindRunXFurlongRace, "run a race of one length", 1, 1, 116, 0, 11, 0, furlongs),
			missionTemplate(horseracing.MissionKindRunOnXHippodrome, "run on one hippodrome", 1, 1, 116, 0, 11, 0, hippodromes),
			missionTemplate(horseracing.MissionKindRunXRacesOfYFurlongsOnZ, "run races of one length on one hippodrome", 1, 3, 83, 33, 8, 3, hippodromes, furlongs),
			missionTemplate(horseracing.MissionKindRunXRacesYFurlong, "run races of one length", 1, 5, 96, 20, 10, 2, furlongs),
			missionTemplate(horseracing.MissionKindRunXRacesOnZ, "run races on one hippodrome", 1, 5, 96, 20, 10, 2, hippodromes),
		},
		Weekly: []horseracing.MissionTemplate{
			missionTemplate(horseracing.MissionKindRunXRaces, "run some races", 20, 50, 250, 16, 25, 1),
			missionTemplate(horseracing.MissionKindRunXRacesOfYFurlongsOnZ, "run races of one length on one hippodrome", 10, 20, 83, 50, 8, 5, hippodromes, furlongs),
			missionTemplate(horseracing.MissionKindTakePrizePlaceInXRaces, "take a prize place", 1, 5, 458, 125, 45, 12, places(3)),
			missionTemplate(horseracing.MissionKindRunAllOnZHippodrome, "run every length on one hippodrome", 14, 14, 809, 1, 75, 1, hippodromes),
			missionTemplate(horseracing.MissionKindRunXRacesOnZHippodrome, "run many races on one hippodrome", 15, 25, -166, 50, -16, 2),
		},
		Monthly: []horseracing.MissionTemplate{
			missionTemplate(horseracing.MissionKindRunXRaces, "run some races", 80, 100, -5666, 100, -550, 10),
			missionTemplate(horseracing.MissionKindRunXRacesOfYFurlongsOnZ, "run races of one length on one hippodrome", 20, 40, 333, 100, 33, 10, hippodromes, furlongs),
			missionTemplate(horseracing.MissionKindTakePrizePlaceInXRaces, "take a prize place", 10, 25, 1000, 133, 100, 13, places(3)),
			missionTemplate(horseracing.MissionKindRunAll, "run every length", 30, 30, 3306, 1, 320, 1),
			missionTemplate(horseracing.MissionKindRunXRacesOnZHippodrome, "run many races on one hippodrome", 25, 40, 333, 100, 33, 10, hippodromes),
			missionTemplate(horseracing.MissionKindTakeIPlaceXRaces, "take one place again and again", 5, 10, 333, 400, 33, 40, places(12)),
		},
	},
}}

// missionTemplate builds a template from a line of the table in the interface
// document, section 4.13.
func missionTemplate(kind horseracing.MissionKind, words string, min, max int, xp, xpPer, sugar, sugarPer float64, bounds ...func(*horseracing.MissionTemplate)) horseracing.MissionTemplate {
	t := horseracing.MissionTemplate{
		Type: kind, Description: words, Min: min, Max: max,
		XPBase: xp, XPModifier: xpPer, SugarBase: sugar, SugarModifier: sugarPer,
	}
	for _, bound := range bounds {
		bound(&t)
	}
	return t
}

func furlongs(t *horseracing.MissionTemplate) { t.FurlongMin, t.FurlongMax = new(2), new(15) }
func hippodromes(t *horseracing.MissionTemplate) {
	t.HippodromeTypeMin, t.HippodromeTypeMax = new(0), new(2)
}
func places(last int) func(*horseracing.MissionTemplate) {
	return func(t *horseracing.MissionTemplate) { t.PlaceMin, t.PlaceMax = new(1), new(last) }
}

func TestMissionCatalogueAllGoesThroughThePeriodsInOrder(t *testing.T) {
	catalogue := horseracing.MissionCatalogue{
		Daily:   []horseracing.MissionTemplate{{Type: "a"}, {Type: "b"}},
		Monthly: []horseracing.MissionTemplate{{Type: "c"}},
	}
	var got []string
	for period, template := range catalogue.All() {
		got = append(got, string(period)+" "+string(template.Type))
	}
	if diff := cmp.Diff([]string{"daily a", "daily b", "monthly c"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for range catalogue.All() {
		break // must not go on calling a loop that has ended
	}
}
