package horseracingtest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

var noon = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

// ranAt is a recorded race of four horses, of which the last wins.
func ranAt(id horseracing.RaceID, start time.Time, horses ...horseracing.HorseNumber) horseracing.Race {
	race := horseracing.Race{
		MainRaceID: id, StartTime: horseracing.NewTimestamp(start), RegistrationDeadline: horseracing.NewTimestamp(start.Add(-3 * time.Minute)),
		Type: horseracing.RaceTypeBestTime, Length: 8, V2: true, EntryFee: horseracing.NewBigInt(5), Prizes: []horseracing.Number{},
		Tier: "Omega", Places: 4, MinLevel: 1, MaxLevel: 100, FinalOrder: []int{}, Winners: []int{},
	}
	for i, horse := range horses {
		race.Participants = append(race.Participants, horseracing.RaceParticipant{Number: horse, Total: 99.5 - float64(i), Lane: i + 1})
		race.FinalOrder = append(race.FinalOrder, len(horses)-1-i)
	}
	race.Winners = race.FinalOrder[:1]
	return race
}

func TestARecordedRaceIsPlayedAsALiveOne(t *testing.T) {
	recorded := ranAt(7, noon, 9001, 9002, 3000, 9003)
	s := start(t, horseracingtest.WithHistoryOf(slices.Values([]horseracing.Race{recorded, ranAt(8, noon.Add(48*time.Hour), 5000)})))
	for _, test := range []struct {
		at                     time.Duration
		open, finished, horses int
	}{
		{-63 * time.Minute, 1, 0, 0}, // the clock begins where the first race opens
		{-30 * time.Minute, 1, 0, 2},
		{-time.Millisecond, 1, 0, 4},
		{5*time.Minute - time.Millisecond, 0, 0, 4},
		{5 * time.Minute, 0, 1, 4},
	} {
		s.Advance(noon.Add(test.at).Sub(s.Now()))
		race := get[[]horseracing.Race](t, s, "/api/v1/races/7", "")[0]
		double.Equal(t, test.at.String()+": open, finished, horses", []int{test.open, test.finished, test.horses}, []int{len(openRaces(t, s)), len(allRaces(t, s)), len(race.Participants)})
		isKnown := len(race.FinalOrder) > 0 || slices.ContainsFunc(race.Participants, func(p horseracing.RaceParticipant) bool { return p.Total > 0 })
		double.Equal(t, test.at.String()+": the result is known", test.finished > 0, isKnown)
	}
	played := get[[]horseracing.Race](t, s, resultsPath, `{"start_time_from":`+itoa(s.Now().UnixMilli())+`}`)
	double.Equal(t, "the result", []horseracing.Race{recorded}, played)
}

func TestOnlyHorsesThatReallyRanHaveAPlace(t *testing.T) {
	recorded := ranAt(7, noon, 9001, 9002, 3000, 9003)
	recorded.MinLevel = 90
	s := start(t, horseracingtest.WithHistoryOf(slices.Values([]horseracing.Race{recorded})))
	s.AddHorses(0, horseracing.Horse{Number: 9003, Level: 1}, horseracing.Horse{Number: 700, Level: 95}, horseracing.Horse{Number: 701, Level: 1})
	s.Advance(59 * time.Minute) // nearly full
	for horse, want := range map[horseracing.HorseNumber]int{9003: 200, 700: 200, 701: 409, 9002: 403} {
		status, body := register(t, s, horse, s.UserKey(0), 7)
		double.Equal(t, body, want, status)
	}
	s.Advance(2 * time.Hour)
	race := get[[]horseracing.Race](t, s, "/api/v1/races/7", "")[0]
	finishers := double.Must(race.Finishers())
	double.Equal(t, "finishers", 4, len(finishers))
	double.Equal(t, "the first", horseracing.HorseNumber(9003), finishers[0].Number)
	double.Equal(t, "participants", append(recorded.Participants, horseracing.RaceParticipant{Number: 700}), race.Participants)
}
