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
	}{
		{resultsPath, `""`, without("_id")},
		{resultsV1Path, `""`, without("_id", "type", "min_level", "max_level")},
		{openPath, `"In progress"`, without("final_order", "winners")},
		{"/api/v1/races/" + itoa(open), `"In progress"`, without("final_order", "winners")},
		{"/api/v1/races/" + itoa(finished), `""`, all},
	} {
		races := get[[]map[string]json.RawMessage](t, s, test.path, "")
		if len(races) == 0 {
			t.Errorf("%s: no races", test.path)
		}
		for _, race := range races {
			if diff := cmp.Diff(test.want, members(race)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.path, diff)
			}
			if got := string(race["status"]); got != test.status {
				t.Errorf("%s: status %s, want %s", test.path, got, test.status)
			}
		}
	}
}
