package horseracingtest_test

import (
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestAnAddedRaceTakesThePlaceOfTheOneWithItsIDUntilItIsRemoved(t *testing.T) {
	s := start(t, horseracingtest.WithSchedule(0), horseracingtest.WithHistory(20))
	old := allRaces(t, s)[5]
	moved, known := raceAt(s, 7, 2*time.Hour), raceAt(s, 9, time.Hour)
	known.Participants, known.FinalOrder = []horseracing.RaceParticipant{{Number: 1, Total: 60, Lane: 1}}, []int{0}
	s.AddRaces(raceAt(s, 7, time.Hour), raceAt(s, 8, time.Hour), raceAt(s, old, 3*time.Hour), moved, raceAt(s, 10, time.Hour), known)
	s.RemoveRaces(10, 123456789)
	open := openRaces(t, s)
	double.Equal(t, "open", []horseracing.RaceID{7, 8, old}, idsOf(open)) // what has a final order never is
	double.Equal(t, "the start of race 7", moved.StartTime, open[0].StartTime)
	s.Advance(time.Hour + time.Millisecond)
	double.Equal(t, "first results", []horseracing.RaceID{9}, allRaces(t, s)[:1])
	s.Advance(3 * time.Hour)
	s.AddRaces(raceAt(s, 8, -48*time.Hour))
	s.RemoveRaces(9)
	all := allRaces(t, s)
	double.Equal(t, "results", 22, len(all))
	double.Equal(t, "the newest results", []horseracing.RaceID{old, 7}, all[:2])
}

const cupResultsPath = "/api/v1/tournaments/results"

type cup struct {
	ID horseracing.TournamentID `json:"_id"`
}

func TestAddedTournamentsAreShownAsTheyAre(t *testing.T) {
	s := start(t, horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0))
	open := horseracing.Tournament{ID: "o/pen", StartTime: horseracing.NewTimestamp(s.Now().Add(time.Hour)), Status: 2}
	over := open
	over.ID, over.Status = "over", 0
	s.AddTournaments(open, over)
	open.Status, over.Status = 0, 2
	s.AddTournaments(open, over) // in their place
	s.Advance(2000 * time.Hour)  // which changes neither
	for path, want := range map[string]horseracing.TournamentID{"/api/v1/tournaments/open": open.ID, cupResultsPath: over.ID} {
		double.Equal(t, path, []cup{{want}}, get[[]cup](t, s, path, ""))
	}
	double.Must(s.Client().Tournaments.Get(t.Context(), open.ID))
}
