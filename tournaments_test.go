package horseracing_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
)

func TestAdditionalPrizeIsReadWhateverItsCurrencyIsCalled(t *testing.T) {
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

func TestAdditionalPrizeIsWrittenWithTheDocumentedNames(t *testing.T) {
	got, err := json.Marshal(horseracing.AdditionalPrize{Token: bigInt("5"), Sugar: number("0.5"), Items: []horseracing.PrizeItem{{ID: "i", Type: "saddle"}}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"additional_items":[{"_id":"i","type":"saddle"}],"additional_sugar":0.5,"additional_token":5,"additional_treasury_token":0}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What a program sets is written, also in a prize that was read without it.
func TestAdditionalPrizeWritesWhatWasSetAfterItWasRead(t *testing.T) {
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
