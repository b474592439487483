package horseracing_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
)

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
