package horseracingtest_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
)

// members returns the names of an object's members.
func members(object map[string]json.RawMessage) []string {
	var names []string
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestEachListingShowsTheMembersThatTheDocumentGivesIt(t *testing.T) {
	s := start(t)
	all := []string{"_id", "entry_fee", "final_order", "info", "length", "main_race_id", "max_level", "min_level", "no_equipment", "participants", "places",
		"prizes", "registration_deadline", "start_time", "status", "tier", "type", "v2", "winners"}
	without := func(names ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(names, name) })
	}
	finished := get[[]horseracing.Race](t, s, resultsPath, "")[0].MainRaceID
	open := get[[]horseracing.Race](t, s, openPath, "")[0].MainRaceID
	for _, test := range []struct {
		path, status string
		want         []string
		lanes        bool
	}{
		{resultsPath, `""`, without("_id"), true},
		{resultsV1Path, `""`, without("_id", "type", "min_level", "max_level"), true},
		{openPath, `"In progress"`, without("final_order", "winners"), false},
		{"/api/v1/races/" + itoa(open), `"In progress"`, without("final_order", "winners"), false},
		{"/api/v1/races/" + itoa(finished), `""`, all, true},
	} {
		races := get[[]map[string]json.RawMessage](t, s, test.path, "")
		if len(races) == 0 {
			t.Errorf("%s: no races", test.path)
		}
		participants := 0
		for _, race := range races {
			if diff := cmp.Diff(test.want, members(race)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.path, diff)
			}
			if got := string(race["status"]); got != test.status {
				t.Errorf("%s: status %s, want %s", test.path, got, test.status)
			}
			var horses []map[string]json.RawMessage
			if err := json.Unmarshal(race["participants"], &horses); err != nil {
				t.Fatal(err)
			}
			for _, horse := range horses {
				participants++
				if _, lane := horse["lane"]; lane != test.lanes {
					t.Errorf("%s: a participant is %v", test.path, horse)
				}
			}
		}
		if participants == 0 {
			t.Errorf("%s: no participant anywhere", test.path)
		}
	}
}

func TestFinalOrderFollowsTheTotalsAndLanesAreAPermutation(t *testing.T) {
	s := start(t)
	kinds := map[horseracing.RaceType]int{}
	for offset := range 5 {
		for _, race := range get[[]horseracing.Race](t, s, resultsPath, `{"start_time_from":`+itoa(s.Now().UnixMilli()-int64(offset)*7*24*3600*1000)+`}`) {
			kinds[race.Type]++
			finishers, err := race.Finishers()
			if err != nil {
				t.Fatal(err)
			}
			if len(finishers) != len(race.Participants) || len(finishers) == 0 {
				t.Errorf("race %d: %d of %d finished", race.MainRaceID, len(finishers), len(race.Participants))
			}
			ordered := slices.IsSortedFunc(finishers, func(a, b horseracing.RaceParticipant) int {
				if race.Type == horseracing.RaceTypeWorstTime {
					a, b = b, a
				}
				return int(1000*a.Total) - int(1000*b.Total)
			})
			if !ordered {
				t.Errorf("race %d, %s: finishers %v", race.MainRaceID, race.Type, finishers)
			}
			lanes := make([]int, 0, 12)
			seen := map[horseracing.HorseNumber]bool{}
			for _, p := range race.Participants {
				lanes = append(lanes, p.Lane)
				seen[p.Number] = true
			}
			slices.Sort(lanes)
			for i, lane := range lanes {
				if lane != i+1 {
					t.Errorf("race %d: lanes %v", race.MainRaceID, lanes)
					break
				}
			}
			if len(seen) != len(race.Participants) {
				t.Errorf("race %d: a horse runs twice", race.MainRaceID)
			}
			if diff := cmp.Diff(race.FinalOrder[:min(3, len(race.FinalOrder))], race.Winners); diff != "" {
				t.Errorf("race %d: winners (-want +got):\n%s", race.MainRaceID, diff)
			}
		}
	}
	if len(kinds) != 2 {
		t.Errorf("race types %v, want both", kinds)
	}
}
