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

var tournamentOperations = []operationTest{
	{
		Name: "Tournaments.Results",
		Call: func(ctx context.Context, c *horseracing.Client, of callIDs) (any, error) {
			return c.Tournaments.Results(horseracing.ResultsQuery{Tier: horseracing.TierOmega, Before: time.UnixMilli(1764637200501)}).Take(ctx, 1)
		},
		Further: func(ctx context.Context, c *horseracing.Client, n int) (any, error) {
			return c.Tournaments.Results(horseracing.ResultsQuery{}).Take(ctx, n)
		},
		Method:   http.MethodGet,
		Path:     "/api/v1/tournaments/results",
		Body:     `{"tier":5,"start_time_from":1764637200501}`,
		Response: "tournaments_results.json",
		Want: []horseracing.Tournament{{
			ID:                       "64aa10f2c3d4e5f601234567",
			Name:                     "Spring Crown",
			Description:              "Three rounds, the slower half drops out after each.",
			HippodromeID:             "63ff00aa11bb22cc33dd44ee",
			HippodromeName:           "Gull Point",
			Turf:                     1,
			RegistrationOpen:         at(1764547200000),
			RegistrationDeadline:     at(1764633600000),
			StartTime:                at(1764637200500),
			Length:                   10,
			Places:                   64,
			MinPlaces:                8,
			EntryFee:                 bigInt("25000000000000000000"),
			Prizes:                   []horseracing.Number{number("500000000000000000000"), number("250000000000000000000")},
			NoEquipment:              true,
			MinLevel:                 30,
			MaxLevel:                 90,
			MaxParticipantsPerWallet: 3,
			MinRaceCount:             5,
			MaxRaceCount:             new(1000),
			Type:                     horseracing.RaceTypeBestTime,
			Status:                   2,
			Tier:                     horseracing.TierOmega,
			Stages: []horseracing.Stage{{
				RaceCount:           4,
				StartTime:           at(1764637200500),
				MinutesBetweenRaces: 7.5,
				Name:                "First round",
				Results: []horseracing.StageResult{
					{Number: 7, Total: 390.25, MainRaceID: 870001},
					{Number: 1042, Total: 391.5, MainRaceID: 870002},
				},
				Status:       2,
				CurrentRound: 4,
			}},
			Participants: []horseracing.TournamentParticipant{
				{Number: 7, DroppedAtIndex: 2, Total: 1170.75},
				{Number: 1042, DroppedAtIndex: 1, Total: 1175.5},
			},
			AdditionalPrizes: []horseracing.AdditionalPrize{{
				Token:         bigInt("18446744073709551617"),
				TreasuryToken: number("12.75"),
				Sugar:         number("300"),
				Items:         []horseracing.PrizeItem{{ID: "62bb77aa", Type: "saddle"}, {ID: "62bb77ab", Type: "horseshoe"}},
			}},
		}},
	},
	{
		Name: "Tournaments.Open",
		Call: func(ctx context.Context, c *horseracing.Client, of callIDs) (any, error) {
			return c.Tournaments.Open(ctx)
		},
		Method:   http.MethodGet,
		Path:     "/api/v1/tournaments/open",
		Response: "tournaments_open.json",
		Want:     []horseracing.Tournament{summerCrown()},
	},
	{
		Name: "Tournaments.Get",
		Call: func(ctx context.Context, c *horseracing.Client, of callIDs) (any, error) {
			return c.Tournaments.Get(ctx, of.Tournament)
		},
		Method:   http.MethodGet,
		Path:     "/api/v1/tournaments/64aa10f2c3d4e5f601234999",
		Response: "tournament.json",
		Want:     new(summerCrown()),
	},
}

// summerCrown is the open tournament that several payloads hold.
func summerCrown() horseracing.Tournament {
	return horseracing.Tournament{
		ID:                       "64aa10f2c3d4e5f601234999",
		Name:                     "Summer Crown",
		HippodromeID:             "63ff00aa11bb22cc33dd44ef",
		HippodromeName:           "Dry Basin",
		RegistrationOpen:         at(1767225600000),
		RegistrationDeadline:     at(1767312000000),
		StartTime:                at(1767315600000),
		Length:                   4,
		Places:                   16,
		MinPlaces:                4,
		EntryFee:                 bigInt("1000000000000000000"),
		Prizes:                   []horseracing.Number{number("10000000000000000000")},
		MinLevel:                 1,
		MaxLevel:                 50,
		MaxParticipantsPerWallet: 1,
		Type:                     horseracing.RaceTypeBestTime,
		Tier:                     horseracing.TierOmega,
		Stages: []horseracing.Stage{{
			RaceCount: 2, StartTime: at(1767315600000), MinutesBetweenRaces: 10, Name: "Final", Results: []horseracing.StageResult{},
		}},
		Participants:     []horseracing.TournamentParticipant{},
		AdditionalPrizes: []horseracing.AdditionalPrize{},
	}
}

func TestAnAdditionalPrizeIsReadWhateverItsCurrencyIsCalled(t *testing.T) {
	for _, test := range []struct {
		name, json string
		want       horseracing.AdditionalPrize
	}{
		{
			"the documented names",
			`{"additional_token":1,"additional_treasury_token":2,"additional_sugar":3,"additional_items":[]}`,
			horseracing.AdditionalPrize{Token: bigInt("1"), TreasuryToken: horseracing.NewNumber(2), Sugar: horseracing.NewNumber(3)},
		},
		{
			"another currency",
			`{"additional_coin":1e+21,"additional_treasury_coin":0.5}`,
			horseracing.AdditionalPrize{Token: bigInt("1000000000000000000000"), TreasuryToken: number("0.5")},
		},
		{
			"the documented name before another",
			`{"additional_coin":7,"additional_token":1,"additional_apple":8,"additional_treasury_coin":9,"additional_treasury_token":2}`,
			horseracing.AdditionalPrize{Token: bigInt("1"), TreasuryToken: horseracing.NewNumber(2)},
		},
		{
			"of several unknown ones none",
			`{"additional_pear":7,"additional_apple":8,"additional_treasury_pear":9}`,
			horseracing.AdditionalPrize{TreasuryToken: horseracing.NewNumber(9)},
		},
		{
			"no member that is no number",
			`{"additional_badges":["x"],"additional_coin":3,"additional_note":"gold","additional_treasury_key":{}}`,
			horseracing.AdditionalPrize{Token: bigInt("3")},
		},
		{"null members", `{"additional_token":null,"additional_treasury_token":null,"additional_sugar":null,"additional_items":null}`, horseracing.AdditionalPrize{}},
		{"nothing", `{}`, horseracing.AdditionalPrize{}},
		{"a member without a name", `{"":7}`, horseracing.AdditionalPrize{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got horseracing.AdditionalPrize
			if err := json.Unmarshal([]byte(test.json), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestANewPrizeIsWrittenWithTheDocumentedNames(t *testing.T) {
	got, err := json.Marshal(horseracing.AdditionalPrize{Token: bigInt("5"), Sugar: number("0.5"), Items: []horseracing.PrizeItem{{ID: "i", Type: "saddle"}}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"additional_items":[{"_id":"i","type":"saddle"}],"additional_sugar":0.5,"additional_token":5,"additional_treasury_token":0}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestABrokenAdditionalPrizeNamesItsMember(t *testing.T) {
	_, err := responding(t, `[{"_id":"x","additional_prizes":[{"additional_coin":1.5}]}]`).Tournaments.Open(t.Context())
	broken, ok := errors.AsType[*horseracing.DecodeError](err)
	if !ok {
		t.Fatalf("%v, want a *DecodeError", err)
	}
	if text := broken.Error(); !containsAll(text, "/0/additional_prizes/0", "additional_coin") {
		t.Errorf("%s: does not name the member", text)
	}
}

// What a program sets is written, also in a prize that was read without it.
func TestAPrizeWritesWhatWasSetAfterItWasRead(t *testing.T) {
	var p horseracing.AdditionalPrize
	if err := json.Unmarshal([]byte(`{"additional_coin":5}`), &p); err != nil {
		t.Fatal(err)
	}
	p.Sugar, p.TreasuryToken = horseracing.NewNumber(7), horseracing.NewNumber(8)
	text, err := json.Marshal(p)
	if want := `{"additional_coin":5,"additional_sugar":7,"additional_treasury_token":8}`; err != nil || string(text) != want {
		t.Errorf("written as %s (%v), want %s", text, err, want)
	}
}
