package horseracingtest_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// The fake shows every member of the library's types, except for those that the API reference
// does not have in a response.
func TestEveryResponseHasTheDocumentedMembers(t *testing.T) {
	type list = []horseracing.Race
	s := start(t)
	cup := get[[]horseracing.Tournament](t, s, cupResultsPath, "")[0].ID
	for _, test := range []struct {
		path, body string
		as         any
		lacks      string
	}{
		{"/api/v1/horses/7", "", horseracing.Horse{}, ""},
		{"/api/v1/horses/user", `{"user_key":"` + string(s.UserKey(0)) + `"}`, horseracing.Horse{}, ""},
		{"/api/v1/horses/missions/7", "", horseracing.HorseMissions{}, ""},
		{"/api/v1/horses/breeding/open", "", horseracing.BreedingListing{}, ""},
		{openPath, "", list{}, "final_order winners participants.lane"},
		{"/api/v1/races/" + itoa(openRaces(t, s)[0].MainRaceID), "", list{}, "final_order winners participants.lane"},
		{"/api/v1/races/1500", "", list{}, ""}, // a finished one
		{resultsPath, "", list{}, "_id"},
		{resultsV1Path, "", list{}, "_id type min_level max_level"},
		{cupResultsPath, "", horseracing.Tournament{}, ""},
		{"/api/v1/tournaments/" + string(cup), "", horseracing.Tournament{}, ""},
		{missionsPath, "", horseracing.MissionCatalogue{}, "daily.place_min daily.place_max"},
	} {
		want, got := map[string]bool{}, map[string]bool{}
		double.EachMember(reflect.TypeOf(test.as), "", func(path string, _ reflect.StructField) {
			if !slices.Contains(strings.Fields(test.lacks), path) {
				want[path] = true
			}
		})
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

func TestReadings(t *testing.T) {
	const race = "/api/v1/races/20"
	finished := itoa(time.Date(2025, 6, 1, 11, 0, 0, 0, time.UTC).UnixMilli())
	for name, test := range map[string]struct {
		readings           horseracingtest.Readings
		method, path, body string
		status             int
		has, lacks         string
	}{
		"participants in the result":   {horseracingtest.Readings{Participants: "in result"}, "GET", "/api/v1/races/10", "", 200, `"number":4000`, `"participants":[]`},
		"participants until the start": {horseracingtest.Readings{Participants: "until start"}, "GET", "/api/v1/races/10", "", 200, `"participants":[]`, `"number"`},
		"others first":                 {horseracingtest.Readings{Participants: "others first"}, "GET", race, "", 200, `"number":4000`, `"number":1`},
		"a confirmation":               {horseracingtest.Readings{Confirmation: "OK"}, "POST", registerPath, "ENTRY", 200, "OK", "true"},
		"a refusal":                    {horseracingtest.Readings{Refusal: `{"success":false}`}, "POST", registerPath, `{"horse_number":1,"main_race_id":20,"user_key":"x"}`, 200, `{"success":false}`, "error"},
		"heats":                        {horseracingtest.Readings{Heats: true}, "GET", race, "", 200, `"entry_fee":7`, `"main_race_id":21`},
		"the id of a second heat":      {horseracingtest.Readings{Heats: true}, "GET", "/api/v1/races/21", "", 200, "[]", "main_race_id"},
		"early results":                {horseracingtest.Readings{EarlyResults: true}, "GET", resultsPath, `{"tier":4}`, 200, `"final_order":[]`, "error"},
		"inclusive":                    {horseracingtest.Readings{Inclusive: true}, "GET", resultsPath, `{"start_time_from":` + finished + `}`, 200, `"main_race_id":10`, "error"},
		"the tier's name":              {horseracingtest.Readings{TierName: "Second"}, "GET", openPath, "", 200, `"tier":"Second"`, "Omega"},
		"an empty list is null":        {horseracingtest.Readings{EmptyList: "null"}, "GET", resultsPath, `{"tier":1}`, 200, "null", "["},
		"an empty list is 204":         {horseracingtest.Readings{EmptyList: "204"}, "GET", resultsPath, `{"tier":1}`, 204, "", "["},
		"another type":                 {horseracingtest.Readings{Members: map[string]string{"participants.total": `"x"`, "tier": "5"}}, "GET", race, "", 200, `"total":"x"`, "Omega"},
	} {
		s := start(t, horseracingtest.WithReadings(test.readings), horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
		open, second, over := raceAt(s, 20, time.Hour), raceAt(s, 21, 2*time.Hour), raceAt(s, 10, -time.Hour)
		open.Participants = []horseracing.RaceParticipant{{Number: 4000}}
		open.EntryFee, second.EntryFee = horseracing.NewBigInt(5), horseracing.NewBigInt(7)
		over.Participants, over.FinalOrder = []horseracing.RaceParticipant{{Number: 4000, Total: 60}}, []int{0}
		running := raceAt(s, 9, time.Millisecond)
		running.Participants, running.Tier = open.Participants, "Delta"
		s.AddRaces(open, second, over, running)
		s.Advance(time.Second)
		register(t, s, 1, s.UserKey(0), 20)
		response, body := do(t, s, newRequest(t, s, test.method, test.path, strings.ReplaceAll(test.body, "ENTRY", registration(2, s.UserKey(0), 20))))
		if response.StatusCode != test.status || !strings.Contains(body, test.has) || strings.Contains(body, test.lacks) {
			t.Errorf("%s: status %d, %s", name, response.StatusCode, body)
		}
	}
}
