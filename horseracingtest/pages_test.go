package horseracingtest_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// The library's types write most responses. A member that they lack, or that has another
// name there, is missed here.
func TestEveryResponseHasTheDocumentedMembers(t *testing.T) {
	s := start(t)
	cup := get[[]horseracing.Tournament](t, s, cupResultsPath, "")[0].ID
	for _, test := range []struct{ path, body, documented string }{
		{"/api/v1/horses/7", "", "horse"},
		{"/api/v1/horses/user", `{"user_key":"` + string(s.UserKey(0)) + `"}`, "horses_user"},
		{"/api/v1/horses/missions/7", "", "horse_missions"},
		{"/api/v1/horses/breeding/open", "", "breeding_open"},
		{openPath, "", "races_open"},
		{"/api/v1/races/" + itoa(openRaces(t, s)[0].MainRaceID), "", "race"},
		{"/api/v1/races/1500", "", "races_unseen_values"}, // a finished one
		{resultsPath, "", "races_results_v2"},
		{resultsV1Path, "", "races_results_v1"},
		{cupResultsPath, "", "tournaments_results"},
		{"/api/v1/tournaments/" + string(cup), "", "tournaments_results"},
		{missionsPath, "", "missions"},
	} {
		data := double.Must(os.ReadFile("../testdata/" + test.documented + ".json"))
		var documented any
		double.Error(t, test.documented, nil, "", json.Unmarshal(data, &documented))
		want, got := map[string]bool{}, map[string]bool{}
		collectMembers(documented, "", want)
		collectMembers(get[any](t, s, test.path, test.body), "", got)
		double.Equal(t, test.path, want, got)
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
			if name != "progress" { // its shape is undocumented
				collectMembers(member, prefix+name+".", to)
			}
		}
	}
}

func TestTiesStartAtOneInstant(t *testing.T) {
	s := start(t, horseracingtest.WithTies(6), horseracingtest.WithHistory(60))
	starts := map[time.Time]int{}
	for _, race := range get[[]horseracing.Race](t, s, resultsPath, "") {
		starts[race.StartTime.Time]++
	}
	double.Equal(t, "instants of ten races", 2, len(starts))
}
