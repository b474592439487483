package horseracing_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestHorsesReadEachMember(t *testing.T) {
	horse := documented[*horseracing.Horse](t, "Horses.Get")
	horse.Appearance = horse.Appearance[:1]
	end := time.UnixMilli(1772352930250).UTC()
	for name, test := range map[string]struct{ want, got any }{
		"Horses.Get": {&horseracing.Horse{
			Name: "Moss Lantern", Image: "https://img.example.test/horses/1042.png", ExternalURL: "https://play.example.test/horse/1042", Number: 1042,
			Gender: horseracing.GenderStallion, Height: 1.62, Weight: 487.5, Level: 37, Appearance: []horseracing.Trait{{Type: "body_type", Value: "Lean"}},
			Breed: "Meadow", Generation: 3, Tier: "Beta",
		}, horse},
		"Horses.Owned": {horseracing.Horse{
			Name: "Quiet Ferry", Image: "https://img.example.test/horses/7.png", ExternalURL: "https://play.example.test/horse/7", Number: 7,
			Gender: "Stallion", Height: 1.5, Weight: 430, Level: 12, Appearance: []horseracing.Trait{{Type: "mane_color", Value: "Silver"}},
			BreedingCooldown: &end, Breed: "Fjord", Generation: 1, Tier: "Omega",
		}, documented[[]horseracing.Horse](t, "Horses.Owned")[0]},
		"Horses.OpenForBreeding": {horseracing.BreedingListing{
			Name: "Copper Tide", Number: 311, Gender: "Stallion", WinsFirstCount: 41, WinsSecondCount: 33, WinsThirdCount: 27,
			TotalRaceCount: 402, Price: number("12.5"), Generation: 2, Tier: "Omega",
		}, documented[[]horseracing.BreedingListing](t, "Horses.OpenForBreeding")[0]},
		"Horses.Missions": {horseracing.HorseMission{
			Type: horseracing.MissionPeriodWeekly, Mission: horseracing.MissionKindTakePrizePlaceInXRaces, Name: "Take a prize place in 3 races", Count: 3,
			RewardXP: 833, RewardSugar: 81, Progress: []json.RawMessage{[]byte(`{"race": 880123, "place": 2}`)}, Place: new(2),
		}, documented[*horseracing.HorseMissions](t, "Horses.Missions").Missions[2]},
	} {
		double.Equal(t, name, test.want, test.got)
	}
}

// By id, nothing is ErrNotFound, whatever it looks like.
func TestGetOfNothingIsErrNotFound(t *testing.T) {
	for _, name := range []string{"Horses.Get", "Horses.Missions", "Races.Get", "Tournaments.Get"} {
		for body, status := range map[string]int{"404": 404, "": 204, " null\n": 200, "[\n]": 200} {
			c := double.Client(t, httpmock.NewStringResponder(status, body))
			_, err := operations()[name].Call(t.Context(), c)
			double.Error(t, name+", "+body, horseracing.ErrNotFound, "", err)
		}
	}
}

func TestHorseTraitIsTheFirstOfItsType(t *testing.T) {
	h := horseracing.Horse{Appearance: []horseracing.Trait{{Type: "mane_color", Value: "Black"}, {Type: "tail_color"}, {Type: "mane_color", Value: "White"}}}
	for name, want := range map[string]string{"mane_color": "Black true", "tail_color": " true", "Mane_Color": " false", "": " false"} {
		value, ok := h.Trait(name)
		double.Equal(t, name, want, fmt.Sprint(value, " ", ok))
	}
}

func TestHorseCanBreedFromTheEndOfItsCooldownOn(t *testing.T) {
	end := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	h := horseracing.Horse{BreedingCooldown: &end}
	double.Equal(t, "never bred, before, at the end, after", []bool{true, false, true, true}, []bool{
		new(horseracing.Horse).CanBreedAt(end), h.CanBreedAt(end.Add(-time.Nanosecond)), h.CanBreedAt(end), h.CanBreedAt(end.Add(time.Hour))})
}
