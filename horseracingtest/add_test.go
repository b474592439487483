package horseracingtest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	if !open[0].StartTime.Equal(moved.StartTime.Time) {
		t.Errorf("race 7 starts at %v", open[0].StartTime)
	}
	s.Advance(time.Hour + time.Millisecond)
	double.Equal(t, "first results", []horseracing.RaceID{9}, allRaces(t, s)[:1])
	s.Advance(3 * time.Hour)
	s.AddRaces(raceAt(s, 8, -48*time.Hour))
	s.RemoveRaces(9)
	if all := allRaces(t, s); len(all) != 22 || !slices.Equal(all[:2], []horseracing.RaceID{old, 7}) {
		t.Errorf("results %v", all)
	}
}

func TestAnAddedHorseBelongsToItsUserAndRacesAtItsLevel(t *testing.T) {
	s := start(t, horseracingtest.WithSchedule(0))
	s.AddHorses(1, horseracing.Horse{Number: 5001, Level: 42}, horseracing.Horse{Number: 2, Level: 7}) // 2 was user 0's
	s.AddHorses(-1, horseracing.Horse{Number: 9})
	for user, want := range [][]horseracing.HorseNumber{{1, 3, 4, 5, 6}, {2, 7, 8, 10, 11, 12, 5001}} {
		owned, err := s.Client().Horses.Owned(t.Context(), s.UserKey(user))
		if diff := cmp.Diff(want, s.Horses(user)); diff != "" || err != nil || len(owned) != len(want) {
			t.Errorf("user %d has %v: %v (-want +got):\n%s", user, owned, err, diff)
		}
	}
	narrow := raceAt(s, 7, time.Hour)
	narrow.MinLevel, narrow.MaxLevel = 40, 45
	s.AddRaces(narrow)
	for _, test := range []struct {
		user  int
		horse horseracing.HorseNumber
		want  int
	}{{0, 5001, 403}, {0, 2, 403}, {1, 9, 403}, {1, 2, 409}, {1, 5001, 200}} {
		if status, body := register(t, s, test.horse, s.UserKey(test.user), 7); status != test.want {
			t.Errorf("user %d, horse %d: status %d, want %d: %s", test.user, test.horse, status, test.want, body)
		}
	}
}

const cupResultsPath = "/api/v1/tournaments/results"

func TestAddedTournamentsAreShownAsTheyAre(t *testing.T) {
	s := start(t, horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0))
	open := horseracing.Tournament{ID: "o/pen", StartTime: horseracing.NewTimestamp(s.Now().Add(time.Hour)), Tier: 5}
	over := open
	over.ID, over.Status = "over", 2
	s.AddTournaments(open, over)
	s.Advance(48 * time.Hour)
	expect := func(path string, want ...horseracing.TournamentID) {
		t.Helper()
		var got []horseracing.TournamentID
		for _, cup := range get[[]horseracing.Tournament](t, s, path, "") {
			got = append(got, cup.ID)
		}
		double.Equal(t, path, want, got)
	}
	expect("/api/v1/tournaments/open", "o/pen")
	expect(cupResultsPath, "over")
	if _, err := s.Client().Tournaments.Get(t.Context(), "o/pen"); err != nil {
		t.Error(err)
	}
	open.Status = 2
	s.AddTournaments(open)
	expect("/api/v1/tournaments/open")
	expect(cupResultsPath, "over", "o/pen")
}
