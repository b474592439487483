package horseracing_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// serving returns a client of a mock that responds to one request, with a file of testdata.
func serving(t *testing.T, path, file string) *horseracing.Client {
	t.Helper()
	mock := httpmock.NewMockTransport()
	mock.RegisterResponder(http.MethodGet, double.Service+path, httpmock.NewBytesResponder(http.StatusOK, payload(t, file)))
	return double.Connect(t, double.Service, &http.Client{Transport: mock})
}

func TestHorsesGetReadsAHorse(t *testing.T) {
	got, err := serving(t, "/api/v1/horses/1042", "horse.json").Horses.Get(t.Context(), 1042)
	if err != nil || len(got.Appearance) != 19 {
		t.Fatalf("%+v, %v", got, err)
	}
	got.Appearance = got.Appearance[:1]
	double.Equal(t, "horse", &horseracing.Horse{
		Name: "Moss Lantern", Image: "https://img.example.test/horses/1042.png", ExternalURL: "https://play.example.test/horse/1042", Number: 1042,
		Gender: horseracing.GenderStallion, Height: 1.62, Weight: 487.5, Level: 37, Appearance: []horseracing.Trait{{Type: "body_type", Value: "Lean"}},
		Breed: "Meadow", Generation: 3, Tier: "Beta",
	}, got)
}

func TestHorsesOpenForBreedingReadsOffers(t *testing.T) {
	got, err := serving(t, "/api/v1/horses/breeding/open", "breeding_open.json").Horses.OpenForBreeding(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	double.Equal(t, "offers", []horseracing.BreedingListing{
		{Name: "Copper Tide", Number: 311, Gender: "Stallion", WinsFirstCount: 41, WinsSecondCount: 33, WinsThirdCount: 27, TotalRaceCount: 402, Price: number("12.5"), Generation: 2, Tier: "Omega"},
		{Name: "Low Cloud", Number: 312, Gender: "Stallion", WinsThirdCount: 1, TotalRaceCount: 9, Price: number("2000000000000000001"), Generation: 7, Tier: "Omega"},
	}, got)
}

func TestHorsesMissionsReadsMissions(t *testing.T) {
	got, err := serving(t, "/api/v1/horses/missions/1042", "horse_missions.json").Horses.Missions(t.Context(), 1042)
	if err != nil || got.Number != 1042 {
		t.Fatalf("%+v, %v", got, err)
	}
	double.Equal(t, "third mission", horseracing.HorseMission{
		Type: horseracing.MissionPeriodWeekly, Mission: horseracing.MissionKindTakePrizePlaceInXRaces, Name: "Take a prize place in 3 races", Count: 3,
		RewardXP: 833, RewardSugar: 81, Progress: []json.RawMessage{[]byte(`{"race": 880123, "place": 2}`)}, Place: new(2),
	}, got.Missions[2])
}

// By id, nothing is ErrNotFound, whatever it looks like.
func TestGetOfNothingIsErrNotFound(t *testing.T) {
	for name, get := range map[string]func(context.Context, *horseracing.Client) error{
		"a horse": double.OneHorse, "a race": double.OneRace, "a tournament": double.OneCup,
		"missions": func(ctx context.Context, c *horseracing.Client) error {
			_, err := c.Horses.Missions(ctx, 7)
			return err
		},
	} {
		for response, respond := range map[string]httpmock.Responder{
			"404": httpmock.NewStringResponder(404, ""), "204": httpmock.NewStringResponder(204, ""), "null": httpmock.NewStringResponder(200, " null\n"), "[]": httpmock.NewStringResponder(200, "[\n]"),
		} {
			mock := httpmock.NewMockTransport()
			mock.RegisterNoResponder(respond)
			if err := get(t.Context(), double.Connect(t, double.Service, &http.Client{Transport: mock})); !errors.Is(err, horseracing.ErrNotFound) {
				t.Errorf("%s, %s: %v", name, response, err)
			}
		}
	}
}

func TestHorseMethods(t *testing.T) {
	end := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	h := horseracing.Horse{BreedingCooldown: &end, Appearance: []horseracing.Trait{{Type: "mane_color", Value: "Black"}, {Type: "tail_color", Value: ""}, {Type: "mane_color", Value: "White"}}}
	trait := func(name, want string, found bool) bool {
		got, ok := h.Trait(name)
		return got == want && ok == found
	}
	for name, ok := range map[string]bool{
		"the first trait of a type":            trait("mane_color", "Black", true),
		"an empty one":                         trait("tail_color", "", true),
		"a type is matched as it is":           trait("Mane_Color", "", false),
		"no type":                              trait("", "", false),
		"a rested horse can breed":             new(horseracing.Horse).CanBreedAt(end),
		"a resting one cannot":                 !h.CanBreedAt(end.Add(-time.Nanosecond)),
		"it can at the end of its cooldown on": h.CanBreedAt(end) && h.CanBreedAt(end.Add(time.Hour)),
	} {
		if !ok {
			t.Errorf("does not hold: %s", name)
		}
	}
}
