package horseracingtest_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
)

func TestAHorseHasAllTraitsInTheDocumentsOrder(t *testing.T) {
	want := []string{"body_type", "base_color", "base_pattern_type", "base_pattern_color", "muzzle_pattern_type", "muzzle_pattern_color", "ear_type",
		"eye_type", "mane_type", "mane_color", "tail_type", "tail_color", "hoof_color", "head_type", "head_pattern_type", "head_pattern_color",
		"leg_pattern_type", "leg_pattern_color", "thigh_mark"}
	s := start(t)
	for _, number := range []string{"1", "4096"} {
		var got []string
		for _, trait := range get[horseracing.Horse](t, s, "/api/v1/horses/"+number, "").Appearance {
			got = append(got, trait.Type)
			if trait.Value == "" {
				t.Errorf("%s is empty", trait.Type)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("horse %s (-want +got):\n%s", number, diff)
		}
	}
}

func TestABreedingCooldownIsATimestampUntilItHasPassed(t *testing.T) {
	s := start(t)
	for number := 1; ; number++ {
		path := "/api/v1/horses/" + itoa(number)
		text := string(get[map[string]json.RawMessage](t, s, path, "")["breeding_cooldown"])
		if text == "null" {
			continue
		}
		at, err := time.Parse(`"2006-01-02T15:04:05.000Z"`, text)
		if err != nil || !at.After(s.Now()) {
			t.Fatalf("cooldown %s: %v", text, err)
		}
		s.Advance(at.Sub(s.Now()))
		if text := string(get[map[string]json.RawMessage](t, s, path, "")["breeding_cooldown"]); text != "null" {
			t.Errorf("the cooldown that ends now is %s", text)
		}
		return
	}
}

func TestOnlyHorsesThatCanBreedAreListedForIt(t *testing.T) {
	s := start(t)
	listed := get[[]horseracing.BreedingListing](t, s, "/api/v1/horses/breeding/open", "")
	if len(listed) < 10 {
		t.Fatalf("%d horses", len(listed))
	}
	for _, entry := range listed {
		horse := get[horseracing.Horse](t, s, "/api/v1/horses/"+itoa(entry.Number), "")
		if !horse.CanBreedAt(s.Now()) || horse.Name != entry.Name || horse.Tier != entry.Tier || horse.Gender != entry.Gender || horse.Generation != entry.Generation {
			t.Errorf("listed %+v, but the horse is %+v", entry, horse)
		}
		if entry.TotalRaceCount < entry.WinsFirstCount+entry.WinsSecondCount+entry.WinsThirdCount {
			t.Errorf("more wins than races: %+v", entry)
		}
	}
}

func TestMissionsHaveTheDocumentsKindsMonthlyFirst(t *testing.T) {
	s := start(t)
	extras := map[string]string{"take_prize_place_in_x_races": "place", "run_all_on_z_hippodrome": "hippodrome", "run_x_furlong_race": "furlongs", "run_x_races_y_furlong": "furlongs"}
	kinds, shapes := map[string]bool{}, map[byte]bool{}
	for number := range 30 {
		record := get[struct {
			Number   int
			Missions []map[string]json.RawMessage
		}](t, s, "/api/v1/horses/missions/"+itoa(number+1), "")
		if record.Number != number+1 {
			t.Errorf("number %d", record.Number)
		}
		var periods []int
		for _, m := range record.Missions {
			var period, kind string
			json.Unmarshal(m["type"], &period)
			json.Unmarshal(m["mission"], &kind)
			kinds[kind] = true
			periods = append(periods, slices.Index([]string{"monthly", "weekly", "daily"}, period))
			for _, extra := range []string{"place", "hippodrome", "furlongs"} {
				if _, has := m[extra]; has != (extras[kind] == extra) {
					t.Errorf("%s and %s: %v", kind, extra, has)
				}
			}
			var progress []json.RawMessage
			if err := json.Unmarshal(m["progress"], &progress); err != nil {
				t.Error(err)
			}
			for _, p := range progress {
				shapes[p[0]] = true
			}
		}
		if !slices.IsSorted(periods) || slices.Contains(periods, -1) {
			t.Errorf("horse %d: periods %v", number+1, periods)
		}
	}
	want := map[string]bool{"all_weekly": true, "all_daily": true, "take_prize_place_in_x_races": true, "run_x_races": true,
		"run_all_on_z_hippodrome": true, "run_x_furlong_race": true, "run_x_races_y_furlong": true}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if len(shapes) < 4 {
		t.Errorf("progress has elements that begin with %v only", shapes)
	}
}

func TestTheCatalogueHoldsTheDocumentsTable(t *testing.T) {
	s := start(t)
	catalogue := get[horseracing.MissionCatalogue](t, s, "/api/v1/missions", "")
	if d, w, m := len(catalogue.Daily), len(catalogue.Weekly), len(catalogue.Monthly); d != 6 || w != 5 || m != 6 {
		t.Fatalf("%d daily, %d weekly, %d monthly", d, w, m)
	}
	two, fifteen, none, place := 2, 15, 0, 12
	third := catalogue.Daily[3]
	third.Description = ""
	want := horseracing.MissionTemplate{Type: "run_x_races_of_y_furlongs_on_z", Min: 1, Max: 3, XPBase: 83, XPModifier: 33, SugarBase: 8, SugarModifier: 3,
		FurlongMin: &two, FurlongMax: &fifteen, HippodromeTypeMin: &none, HippodromeTypeMax: &two}
	if diff := cmp.Diff(want, third); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if first := catalogue.Monthly[0]; first.XPBase != -5666 || first.SugarBase != -550 || first.FurlongMin != nil {
		t.Errorf("%+v", first)
	}
	if last := catalogue.Monthly[5]; last.PlaceMax == nil || *last.PlaceMax != place || last.XPModifier != 400 {
		t.Errorf("%+v", last)
	}
}
