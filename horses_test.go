package horseracing_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
)

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
