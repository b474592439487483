package horseracing_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestTournamentsResultsReadsATournament(t *testing.T) {
	got := documented[[]horseracing.Tournament](t, "Tournaments.Results")
	start := at(1764637200500)
	double.Equal(t, "tournaments", []horseracing.Tournament{{
		ID: "64aa10f2c3d4e5f601234567", Name: "Spring Crown", Description: "Three rounds, the slower half drops out after each.", HippodromeID: "63ff00aa11bb22cc33dd44ee", HippodromeName: "Gull Point", Turf: 1,
		RegistrationOpen: at(1764547200000), RegistrationDeadline: at(1764633600000), StartTime: start, Length: 10, Places: 64, MinPlaces: 8,
		EntryFee: bigInt("25000000000000000000"), Prizes: []horseracing.Number{number("500000000000000000000"), number("250000000000000000000")}, NoEquipment: true,
		MinLevel: 30, MaxLevel: 90, MaxParticipantsPerWallet: 3, MinRaceCount: 5, MaxRaceCount: new(1000), Type: horseracing.RaceTypeBestTime, Status: 2, Tier: horseracing.TierOmega,
		Stages: []horseracing.Stage{{
			RaceCount: 4, StartTime: start, MinutesBetweenRaces: 7.5, Name: "First round", Status: 2, CurrentRound: 4,
			Results: []horseracing.StageResult{{Number: 7, Total: 390.25, MainRaceID: 870001}, {Number: 1042, Total: 391.5, MainRaceID: 870002}},
		}},
		Participants: []horseracing.TournamentParticipant{{Number: 7, DroppedAtIndex: 2, Total: 1170.75}, {Number: 1042, DroppedAtIndex: 1, Total: 1175.5}},
		AdditionalPrizes: []horseracing.AdditionalPrize{{
			Token: bigInt("18446744073709551617"), TreasuryToken: number("12.75"), Sugar: number("300"),
			Items: []horseracing.PrizeItem{{ID: "62bb77aa", Type: "saddle"}, {ID: "62bb77ab", Type: "horseshoe"}},
		}},
	}}, got)
}

// The shape of the response is not documented. An object without an id says something else.
func TestTournamentsOpenAcceptsASingleTournamentWithAnID(t *testing.T) {
	got := double.Must(responding(t, string(payload(t, "tournament.json"))).Tournaments.Open(t.Context()))
	double.Equal(t, "tournaments", []horseracing.Tournament{*documented[*horseracing.Tournament](t, "Tournaments.Get")}, got)
	got, err := responding(t, `{"status":503,"message":"asleep"}`).Tournaments.Open(t.Context())
	double.Equal(t, fmt.Sprintf("%+v, %v: an error and no tournament", got, err), true, got == nil && strings.Contains(fmt.Sprint(err), "asleep"))
}

// A documented name counts before another, and of several unknown ones none does.
func TestAdditionalPrizeIsReadWhateverItsCurrencyIsCalled(t *testing.T) {
	for text, want := range map[string]horseracing.AdditionalPrize{
		`{"additional_token":1,"additional_treasury_token":2,"additional_sugar":3,"additional_items":[]}`: {Token: bigInt("1"), TreasuryToken: number("2"), Sugar: number("3")},

		`{"additional_coin":1e+21,"additional_treasury_coin":0.5}`: {Token: bigInt("1000000000000000000000"), TreasuryToken: number("0.5")},

		`{"additional_coin":7,"additional_token":1,"additional_apple":8,"additional_treasury_coin":9,"additional_treasury_token":2}`: {Token: bigInt("1"), TreasuryToken: number("2")},

		`{"additional_pear":7,"additional_apple":8,"additional_treasury_pear":9,"additional_sugar":1}`: {Sugar: number("1")},

		`{"additional_badges":["x"],"additional_coin":3,"additional_note":"gold","additional_treasury_key":{}}`: {Token: bigInt("3")},

		`{"additional_token":null,"additional_treasury_token":null,"additional_sugar":null,"additional_items":null}`: {},
	} {
		var got horseracing.AdditionalPrize
		double.Error(t, text, nil, "", json.Unmarshal([]byte(text), &got))
		double.Equal(t, text, want, got)
	}
}

// A prize that was read is written as it was, with what a program set afterwards, and any
// other with the documented names.
func TestAdditionalPrizeIsWrittenWithItsOwnNames(t *testing.T) {
	var read horseracing.AdditionalPrize
	double.Error(t, "reading", nil, "", json.Unmarshal([]byte(`{"additional_coin":5}`), &read))
	read.Sugar, read.TreasuryToken = horseracing.NewNumber(7), horseracing.NewNumber(8)
	for want, prize := range map[string]horseracing.AdditionalPrize{
		`{"additional_coin":5,"additional_sugar":7,"additional_treasury_coin":8}`: read,
		`{"additional_items":[{"_id":"i","type":"saddle"}],"additional_sugar":0.5,"additional_token":5,"additional_treasury_token":0}`: {
			Token: bigInt("5"), Sugar: number("0.5"), Items: []horseracing.PrizeItem{{ID: "i", Type: "saddle"}}},
	} {
		double.Equal(t, "written", want, string(double.Must(json.Marshal(prize))))
	}
}
