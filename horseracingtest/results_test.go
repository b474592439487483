package horseracingtest_test

import (
	"encoding/json"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestResultsArePagedByAnExclusiveInstantNewestFirst(t *testing.T) {
	s := start(t, horseracingtest.WithHistory(500))
	walked, err := s.Client().Races.Results(horseracing.ResultsQuery{}).Take(t.Context(), 1000)
	if err != nil || len(walked) != 500 {
		t.Errorf("%d races, want 500: %v", len(walked), err)
	}
	if diff := cmp.Diff(allRaces(t, s), idsOf(walked)); diff != "" {
		t.Errorf("by offset and by time (-offset +time):\n%s", diff)
	}
	edge := walked[20].StartTime.UnixMilli()
	for _, r := range get[[]horseracing.Race](t, s, resultsPath, `{"start_time_from":`+itoa(edge)+`}`) {
		if r.StartTime.UnixMilli() >= edge {
			t.Errorf("race %d starts at %d, not before %d", r.MainRaceID, r.StartTime.UnixMilli(), edge)
		}
	}
}

func TestResultsStartAtTheTimeOfTheRequestAndAtOffsetZero(t *testing.T) {
	s := start(t)
	for _, body := range []string{"", "{}", `{"tier":5}`} {
		byTime, byOffset := get[[]horseracing.Race](t, s, resultsPath, body), get[[]horseracing.Race](t, s, resultsV1Path, body)
		if len(byTime) != 10 {
			t.Errorf("%d races", len(byTime))
		}
		if diff := cmp.Diff(idsOf(byTime), idsOf(byOffset)); diff != "" {
			t.Errorf("body %s (-time +offset):\n%s", body, diff)
		}
	}
}

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

func TestFeesGoBeyond64BitsAndAreSometimesWrittenWithAnExponent(t *testing.T) {
	s := start(t)
	var big64, exponent int
	for offset := 0; offset < 100; offset += 10 {
		for _, race := range get[[]map[string]json.RawMessage](t, s, resultsV1Path, `{"offset":`+itoa(offset)+`}`) {
			literal := string(race["entry_fee"])
			fee, _, err := big.ParseFloat(literal, 10, 200, big.ToNearestEven)
			if err != nil {
				t.Fatal(err)
			}
			if fee.Cmp(big.NewFloat(1<<63*2)) > 0 {
				big64++
			}
			if slices.Contains([]byte(literal), 'e') {
				exponent++
			}
		}
	}
	if big64 == 0 || exponent == 0 {
		t.Errorf("of 100 fees, %d are above 2^64, %d have an exponent", big64, exponent)
	}
}

func TestTheSameSeedIsTheSameServiceAndAnotherIsNot(t *testing.T) {
	read := func(seed uint64) []string {
		s := start(t, horseracingtest.WithSeed(seed))
		s.Advance(3 * time.Hour)
		var all []string
		for _, path := range []string{resultsPath, resultsV1Path, openPath, "/api/v1/tournaments/results", "/api/v1/tournaments/open", "/api/v1/horses/7", "/api/v1/horses/missions/7", "/api/v1/horses/breeding/open"} {
			_, body := do(t, s, newRequest(t, s, "GET", path, ""))
			all = append(all, body)
		}
		return append(all, s.APIKey, string(s.UserKey(0)))
	}
	one, again, two := read(1), read(1), read(2)
	for i := range one {
		if one[i] != again[i] {
			t.Errorf("response %d differs for the same seed", i)
		}
		if one[i] == two[i] {
			t.Errorf("response %d is the same for another seed", i)
		}
	}
}

func TestAMillionRacesCanBePagedAtAnyDepth(t *testing.T) {
	const n = 1_000_000
	s := start(t, horseracingtest.WithHistory(n))
	for _, offset := range []int{0, 1, 123_456, n - 10, n - 3} {
		byOffset := get[[]horseracing.Race](t, s, resultsV1Path, `{"offset":`+itoa(offset)+`}`)
		if want := min(10, n-offset); len(byOffset) != want {
			t.Fatalf("offset %d: %d races, want %d", offset, len(byOffset), want)
		}
		first := byOffset[0]
		byTime := get[[]horseracing.Race](t, s, resultsPath, `{"start_time_from":`+itoa(first.StartTime.UnixMilli()+1)+`}`)
		if !slices.Contains(idsOf(byTime), first.MainRaceID) {
			t.Errorf("offset %d: race %d is not on the page of its start: %v", offset, first.MainRaceID, idsOf(byTime))
		}
	}
	if rest := get[[]horseracing.Race](t, s, resultsV1Path, `{"offset":1000000}`); len(rest) != 0 {
		t.Errorf("%d races behind the last", len(rest))
	}
}

func TestEachTierHasAHistoryOfItsOwn(t *testing.T) {
	s := start(t)
	seen := map[horseracing.RaceID]int{}
	for tier := 1; tier <= 5; tier++ {
		names := map[horseracing.TierName]bool{}
		for _, r := range get[[]horseracing.Race](t, s, resultsPath, `{"tier":`+itoa(tier)+`}`) {
			names[r.Tier] = true
			seen[r.MainRaceID]++
		}
		if len(names) != 1 || names[horseracing.TierNameOmega] != (tier == 5) {
			t.Errorf("tier %d holds %v", tier, names)
		}
	}
	if len(seen) != 50 {
		t.Errorf("five pages hold %d races", len(seen))
	}
}

func TestAFinishedRaceIsFoundByIDAndAnUnknownOneIsAnEmptyArray(t *testing.T) {
	s := start(t)
	for _, tier := range []string{"5", "1"} {
		want := get[[]horseracing.Race](t, s, resultsPath, `{"tier":`+tier+`}`)[3]
		got := get[[]horseracing.Race](t, s, "/api/v1/races/"+itoa(want.MainRaceID), "")
		if len(got) != 1 || got[0].ID == "" {
			t.Fatalf("tier %s: %+v", tier, got)
		}
		got[0].ID = ""
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Errorf("tier %s: listed and by id (-listed +by id):\n%s", tier, diff)
		}
	}
	if _, body := do(t, s, newRequest(t, s, "GET", "/api/v1/races/999999999", "")); body != "[]" {
		t.Errorf("an unknown race is %s", body)
	}
}
