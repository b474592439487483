package horseracing_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
)

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
