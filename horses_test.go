package horseracing

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var horseOperations = []OperationTest{
	{
		Name:     "Horses.Get",
		Call:     func(ctx context.Context, c *Client, of IDs) (any, error) { return c.Horses.Get(ctx, of.Horse) },
		Method:   http.MethodGet,
		Path:     "/api/v1/horses/1042",
		Response: "horse.json",
		Want: &Horse{
			Name:        "Moss Lantern",
			Image:       "https://img.example.test/horses/1042.png",
			ExternalURL: "https://play.example.test/horse/1042",
			Number:      1042,
			Gender:      GenderStallion,
			Height:      1.62,
			Weight:      487.5,
			Level:       37,
			Appearance: []Trait{
				{"body_type", "Lean"}, {"base_color", "Chestnut"},
				{"base_pattern_type", "Dapple"}, {"base_pattern_color", "Cream"},
				{"muzzle_pattern_type", "Snip"}, {"muzzle_pattern_color", "White"},
				{"ear_type", "Pointed"}, {"eye_type", "Amber"},
				{"mane_type", "Braided"}, {"mane_color", "Black"},
				{"tail_type", "Long"}, {"tail_color", "Black"},
				{"hoof_color", "Slate"}, {"head_type", "Straight"},
				{"head_pattern_type", "Star"}, {"head_pattern_color", "White"},
				{"leg_pattern_type", "Sock"}, {"leg_pattern_color", "White"},
				{"thigh_mark", "Crescent"},
			},
			BreedingCooldown: nil,
			Breed:            "Meadow",
			Generation:       3,
			Tier:             TierNameBeta,
		},
	},
	{
		Name:     "Horses.Owned",
		Call:     func(ctx context.Context, c *Client, of IDs) (any, error) { return c.Horses.Owned(ctx, of.UserKey) },
		Method:   http.MethodGet,
		Path:     "/api/v1/horses/user",
		Body:     `{"user_key":"user \"key\" <1>"}`,
		Response: "horses_user.json",
		Want: []Horse{
			{
				Name:             "Quiet Ferry",
				Image:            "https://img.example.test/horses/7.png",
				ExternalURL:      "https://play.example.test/horse/7",
				Number:           7,
				Gender:           GenderStallion,
				Height:           1.5,
				Weight:           430,
				Level:            12,
				Appearance:       []Trait{{"mane_color", "Silver"}},
				BreedingCooldown: new(time.Date(2026, 3, 1, 8, 15, 30, 250e6, time.UTC)),
				Breed:            "Fjord",
				Generation:       1,
				Tier:             TierNameOmega,
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
				Appearance:  []Trait{},
				Breed:       "Steppe",
				Generation:  5,
				Tier:        TierNameBeta,
			},
		},
	},
	{
		Name:     "Horses.Missions",
		Call:     func(ctx context.Context, c *Client, of IDs) (any, error) { return c.Horses.Missions(ctx, of.Horse) },
		Method:   http.MethodGet,
		Path:     "/api/v1/horses/missions/1042",
		Response: "horse_missions.json",
		Want: &HorseMissions{
			Number: 1042,
			Missions: []HorseMission{
				{
					Type: MissionPeriodMonthly, Mission: MissionKindRunXRaces, Name: "Run 90 races",
					Count: 90, RewardXP: 3334, RewardSugar: 350, Progress: []json.RawMessage{},
				},
				{
					Type: MissionPeriodWeekly, Mission: MissionKindAllWeekly, Name: "Finish every weekly mission",
					Count: 4, RewardXP: 900, RewardSugar: 80, Progress: rawValues("1", "1", "0", "0"),
				},
				{
					Type: MissionPeriodWeekly, Mission: MissionKindTakePrizePlaceInXRaces, Name: "Take a prize place in 3 races",
					Count: 3, RewardXP: 833, RewardSugar: 81, Progress: rawValues(`{"race": 880123, "place": 2}`), Place: new(2),
				},
				{
					Type: MissionPeriodWeekly, Mission: MissionKindRunAllOnZHippodrome, Name: "Run every length on sand",
					Count: 14, RewardXP: 823, RewardSugar: 89, Progress: rawValues("2", "3", "15"), Hippodrome: new(1),
				},
				{
					Type: MissionPeriodDaily, Mission: MissionKindAllDaily, Name: "Finish every daily mission",
					Count: 3, RewardXP: 200, RewardSugar: 20, Progress: []json.RawMessage{}, Processed: true, Completed: true,
				},
				{
					Type: MissionPeriodDaily, Mission: MissionKindRunXFurlongRace, Name: "Run a race of 9 furlongs",
					Count: 1, RewardXP: 116, RewardSugar: 11, Progress: rawValues("880119"), Processed: true, Completed: true, Furlongs: new(9),
				},
				{
					Type: MissionPeriodDaily, Mission: MissionKindRunXRacesYFurlong, Name: "Run 4 races of 6 furlongs",
					Count: 4, RewardXP: 176, RewardSugar: 18, Progress: rawValues(`"880120"`, `"880121"`), Furlongs: new(6),
				},
			},
		},
	},
	{
		Name:     "Horses.OpenForBreeding",
		Call:     func(ctx context.Context, c *Client, of IDs) (any, error) { return c.Horses.OpenForBreeding(ctx) },
		Method:   http.MethodGet,
		Path:     "/api/v1/horses/breeding/open",
		Response: "breeding_open.json",
		Want: []BreedingListing{
			{
				Name: "Copper Tide", Number: 311, Gender: GenderStallion,
				WinsFirstCount: 41, WinsSecondCount: 33, WinsThirdCount: 27, TotalRaceCount: 402,
				Price: number("12.5"), Generation: 2, Tier: TierNameOmega,
			},
			{
				Name: "Low Cloud", Number: 312, Gender: GenderStallion,
				WinsThirdCount: 1, TotalRaceCount: 9,
				Price: number("2000000000000000001"), Generation: 7, Tier: TierNameOmega,
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

func TestMissionProgressOfAnyShapeIsKeptAsItCame(t *testing.T) {
	var record HorseMissions
	if err := unmarshal(payload(t, "horse_missions_optionals.json"), &record); err != nil {
		t.Fatal(err)
	}
	want := rawValues("null", "true", `"three"`, "4", "1e+21", "0.1", `{"race": {"id": 5, "at": null}}`, "[]", "[[6]]", "{}")
	if diff := cmp.Diff(want, record.Missions[3].Progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

func TestAnOptionalThatIsNullReadsLikeAnAbsentOneAndNotLikeZero(t *testing.T) {
	var record HorseMissions
	if err := unmarshal(payload(t, "horse_missions_optionals.json"), &record); err != nil {
		t.Fatal(err)
	}
	for i, want := range []*int{nil, nil, new(0)} {
		m := record.Missions[i]
		got := []*int{m.Place, m.Hippodrome, m.Furlongs}
		if diff := cmp.Diff([]*int{want, want, want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", m.Name, diff)
		}
	}
}

func TestTraitFindsTheFirstOfItsType(t *testing.T) {
	h := Horse{Appearance: []Trait{{"mane_color", "Black"}, {"tail_color", ""}, {"mane_color", "White"}}}
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
	resting, rested := Horse{BreedingCooldown: &end}, Horse{}
	for _, test := range []struct {
		horse *Horse
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
		c := answering(t, body)
		if _, err := c.Horses.Get(t.Context(), 1); !errors.Is(err, ErrNotFound) {
			t.Errorf("Get answered with %q: %v, want ErrNotFound", body, err)
		}
		if _, err := c.Horses.Missions(t.Context(), 1); !errors.Is(err, ErrNotFound) {
			t.Errorf("Missions answered with %q: %v, want ErrNotFound", body, err)
		}
	}
}

func TestAHorseCallWithoutAnIDOrKeyMakesNoRequest(t *testing.T) {
	c := answering(t, "{}")
	calls := map[string]func() error{
		"Get(0)":       func() error { _, err := c.Horses.Get(t.Context(), 0); return err },
		"Get(-1)":      func() error { _, err := c.Horses.Get(t.Context(), -1); return err },
		"Missions(0)":  func() error { _, err := c.Horses.Missions(t.Context(), 0); return err },
		"Owned(empty)": func() error { _, err := c.Horses.Owned(t.Context(), ""); return err },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%s: %v, want ErrInvalidArgument", name, err)
		}
	}
}
