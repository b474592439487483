package reading_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
)

func TestTraitFindsTheFirstOfItsType(t *testing.T) {
	h := horseracing.Horse{Appearance: []horseracing.Trait{{Type: "mane_color", Value: "Black"}, {Type: "tail_color", Value: ""}, {Type: "mane_color", Value: "White"}}}
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
	resting, rested := horseracing.Horse{BreedingCooldown: &end}, horseracing.Horse{}
	for _, test := range []struct {
		horse *horseracing.Horse
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
		c := responding(t, body)
		if _, err := c.Horses.Get(t.Context(), 1); !errors.Is(err, horseracing.ErrNotFound) {
			t.Errorf("Get after %q: %v, want ErrNotFound", body, err)
		}
		if _, err := c.Horses.Missions(t.Context(), 1); !errors.Is(err, horseracing.ErrNotFound) {
			t.Errorf("Missions after %q: %v, want ErrNotFound", body, err)
		}
	}
}

func TestMissionCatalogueAllGoesThroughThePeriodsInOrder(t *testing.T) {
	catalogue := horseracing.MissionCatalogue{
		Daily:   []horseracing.MissionTemplate{{Type: "a"}, {Type: "b"}},
		Monthly: []horseracing.MissionTemplate{{Type: "c"}},
	}
	var got []string
	for period, template := range catalogue.All() {
		got = append(got, string(period)+" "+string(template.Type))
	}
	if diff := cmp.Diff([]string{"daily a", "daily b", "monthly c"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for range catalogue.All() {
		break // must not go on calling a loop that has ended
	}
}
