package horseracing_test

import (
	"errors"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
)

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

func TestHorsesGetOfAMissingHorseIsErrNotFound(t *testing.T) {
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
