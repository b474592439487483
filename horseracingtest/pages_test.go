package horseracingtest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// The documented members of the resources, by the API reference's section 2: "a.b" is b in
// a, or in the elements of a.
const (
	horseMembers = "name image external_url number gender height weight level appearance appearance.trait_type appearance.value breeding_cooldown breed generation tier"

	resultV1Members = "main_race_id start_time registration_deadline length v2 no_equipment entry_fee prizes tier info info.name info.hippodrome_type info.hippodrome_name info.turf " +
		"places participants participants.number participants.total participants.lane status final_order winners"
	resultMembers = resultV1Members + " type min_level max_level"
	openMembers   = "_id main_race_id start_time registration_deadline type length v2 no_equipment entry_fee prizes tier info info.name info.hippodrome_type info.hippodrome_name info.turf " +
		"places min_level max_level participants participants.number participants.total status"

	cupMembers = "_id name description hippodrome_id hippodrome_name turf registration_open registration_deadline start_time length places min_places entry_fee prizes no_equipment " +
		"min_level max_level max_participants_per_wallet min_race_count max_race_count type status tier stages stages.race_count stages.start_time stages.minutes_between_races stages.name " +
		"stages.results stages.results.number stages.results.total stages.results.main_race_id stages.status stages.current_round participants participants.number " +
		"participants.dropped_at_index participants.total additional_prizes additional_prizes.additional_token additional_prizes.additional_treasury_token " +
		"additional_prizes.additional_sugar additional_prizes.additional_items additional_prizes.additional_items._id additional_prizes.additional_items.type"

	breedingMembers = "name number gender wins_first_count wins_second_count wins_third_count total_race_count price generation tier"

	missionMembers = "number missions missions.type missions.mission missions.name missions.count missions.reward_xp missions.reward_sugar missions.progress missions.processed " +
		"missions.completed missions.place missions.hippodrome missions.furlongs"
	templateMembers = "type min max description xp_base xp_modifier sugar_base sugar_modifier furlong_min furlong_max hippodrome_type_min hippodrome_type_max"
)

// The library's types write most responses. A member that they lack, or that has another
// name there, is missed here.
func TestEveryResponseHasTheDocumentedMembers(t *testing.T) {
	s := start(t)
	open := openRaces(t, s)[0]
	key := `{"user_key":"` + string(s.UserKey(0)) + `"}`
	catalogue := []string{"daily", "weekly", "monthly"}
	for _, name := range strings.Fields(templateMembers) {
		catalogue = append(catalogue, "daily."+name, "weekly."+name, "monthly."+name)
	}
	catalogue = append(catalogue, "weekly.place_min", "weekly.place_max", "monthly.place_min", "monthly.place_max")
	cup := get[[]horseracing.Tournament](t, s, cupResultsPath, "")[0].ID
	for _, test := range []struct{ path, body, want string }{
		{"/api/v1/horses/7", "", horseMembers},
		{"/api/v1/horses/user", key, horseMembers},
		{"/api/v1/horses/missions/7", "", missionMembers},
		{"/api/v1/horses/breeding/open", "", breedingMembers},
		{openPath, "", openMembers},
		{"/api/v1/races/" + itoa(open.MainRaceID), "", openMembers},
		{"/api/v1/races/1500", "", resultMembers + " _id"},
		{resultsPath, "", resultMembers},
		{resultsV1Path, "", resultV1Members},
		{cupResultsPath, "", cupMembers},
		{"/api/v1/tournaments/" + string(cup), "", cupMembers},
		{"/api/v1/missions", "", strings.Join(catalogue, " ")},
	} {
		got := map[string]bool{}
		collectMembers(get[any](t, s, test.path, test.body), "", got)
		delete(got, "missions.progress.race") // the shape of progress is undocumented
		delete(got, "missions.progress.place")
		want := strings.Fields(test.want)
		slices.Sort(want)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
			t.Errorf("%s (-documented +shown):\n%s", test.path, diff)
		}
	}
}

// collectMembers adds the paths of all members of a JSON value.
func collectMembers(value any, prefix string, to map[string]bool) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			collectMembers(element, prefix, to)
		}
	case map[string]any:
		for name, member := range value {
			to[prefix+name] = true
			collectMembers(member, prefix+name+".", to)
		}
	}
}

func TestAFeeAboveTenToTheEighteenIsExact(t *testing.T) {
	s := start(t)
	race := raceAt(s, 7, time.Hour)
	race.EntryFee, _ = horseracing.ParseUnits("5.000000000000000001", 18)
	s.AddRaces(race)
	if _, body := do(t, s, newRequest(t, s, "GET", "/api/v1/races/7", "")); !strings.Contains(body, `"entry_fee":5000000000000000001,`) {
		t.Error(body)
	}
}

func TestTiesStartAtOneInstant(t *testing.T) {
	s := start(t, horseracingtest.WithTies(6), horseracingtest.WithHistory(60))
	starts := map[time.Time]int{}
	for _, race := range get[[]horseracing.Race](t, s, resultsPath, "") {
		starts[race.StartTime.Time]++
	}
	if len(starts) != 2 {
		t.Errorf("%v", starts)
	}
}
