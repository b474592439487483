package horseracingtest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestAnAddedRaceTakesThePlaceOfTheOneWithItsID(t *testing.T) {
	s := start(t, horseracingtest.WithSchedule(0), horseracingtest.WithHistory(20))
	old := allRaces(t, s)[5]
	moved := raceAt(s, 7, 2*time.Hour)
	s.AddRaces(raceAt(s, 7, time.Hour), raceAt(s, 8, time.Hour), raceAt(s, old, 3*time.Hour), moved)
	open := openRaces(t, s)
	if diff := cmp.Diff([]horseracing.RaceID{7, 8, old}, idsOf(open)); diff != "" || !open[0].StartTime.Equal(moved.StartTime.Time) {
		t.Fatalf("open %v (-want +got):\n%s", open, diff)
	}
	s.Advance(4 * time.Hour)
	s.AddRaces(raceAt(s, 8, -48*time.Hour))
	if all := allRaces(t, s); len(all) != 22 || !slices.Equal(all[:2], []horseracing.RaceID{old, 7}) {
		t.Errorf("results %v", all)
	}
}

func TestAnAddedRaceWithAFinalOrderIsFinishedWheneverItStarts(t *testing.T) {
	s := start(t, horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0))
	early := raceAt(s, 7, time.Hour)
	early.Participants, early.FinalOrder = []horseracing.RaceParticipant{{Number: 1, Total: 60, Lane: 1}}, []int{0}
	s.AddRaces(early)
	if open := openRaces(t, s); len(open) != 0 {
		t.Errorf("open: %+v", open)
	}
	if got := get[[]horseracing.Race](t, s, resultsPath, ""); len(got) != 0 {
		t.Errorf("before now: %v", idsOf(got))
	}
	s.Advance(time.Hour + time.Millisecond)
	if got := get[[]horseracing.Race](t, s, resultsPath, ""); len(got) != 1 {
		t.Errorf("an hour later: %v", idsOf(got))
	}
}

func TestRemovedRacesAreGone(t *testing.T) {
	s := start(t, horseracingtest.WithHistory(40))
	all := allRaces(t, s)
	open := idsOf(openRaces(t, s))
	s.RemoveRaces(all[0], all[7], all[39], open[1], 123456789)
	want := slices.Delete(slices.Clone(all[1:39]), 6, 7)
	if diff := cmp.Diff(want, allRaces(t, s)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Delete(slices.Clone(open), 1, 2), idsOf(openRaces(t, s))); diff != "" {
		t.Errorf("open (-want +got):\n%s", diff)
	}
}

func TestWhatCannotBeAddedPanics(t *testing.T) {
	s := start(t)
	when := horseracing.NewTimestamp(s.Now())
	for name, add := range map[string]func(){
		"race without id":           func() { s.AddRaces(horseracing.Race{StartTime: when}) },
		"race without start":        func() { s.AddRaces(horseracing.Race{MainRaceID: 1}) },
		"race of no tier":           func() { s.AddRaces(horseracing.Race{MainRaceID: 1, StartTime: when, Tier: "Zeta"}) },
		"tournament without id":     func() { s.AddTournaments(horseracing.Tournament{StartTime: when}) },
		"tournament without start":  func() { s.AddTournaments(horseracing.Tournament{ID: "x"}) },
		"tournament of no tier":     func() { s.AddTournaments(horseracing.Tournament{ID: "x", StartTime: when, Tier: 9}) },
		"clock put back":            func() { s.Advance(-1) },
		"key of an unknown user":    func() { s.UserKey(s.NumUsers()) },
		"horses of an unknown user": func() { s.Horses(-1) },
		"horse without number":      func() { s.AddHorses(0, horseracing.Horse{}) },
		"horse of an unknown user":  func() { s.AddHorses(s.NumUsers(), horseracing.Horse{Number: 5001}) },
		"missions of no horse":      func() { s.SetHorseMissions(horseracing.HorseMissions{Number: 5001}) },
		"handler without a path":    func() { s.Handle("GET", nil) },
		"negative history":          func() { horseracingtest.NewServer(horseracingtest.WithHistory(-1)) },
	} {
		if !panics(add) {
			t.Errorf("%s: no panic", name)
		}
	}
	// None of them may leave the fake locked.
	openRaces(t, s)
}

func panics(f func()) (isPanic bool) {
	defer func() { isPanic = recover() != nil }()
	f()
	return false
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

const (
	cupResultsPath = "/api/v1/tournaments/results"
	cupOpenPath    = "/api/v1/tournaments/open"
)

func cupIDs(tournaments []horseracing.Tournament) []horseracing.TournamentID {
	var ids []horseracing.TournamentID
	for _, t := range tournaments {
		ids = append(ids, t.ID)
	}
	return ids
}

func TestAddedTournamentsAreShownAsTheyAre(t *testing.T) {
	s := start(t, horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0))
	open := horseracing.Tournament{ID: "o/pen", Name: "n", StartTime: horseracing.NewTimestamp(s.Now().Add(time.Hour)), Tier: 5}
	over := open
	over.ID, over.Status, over.StartTime = "over", 2, horseracing.NewTimestamp(s.Now().Add(-time.Hour))
	s.AddTournaments(open, over)
	s.Advance(48 * time.Hour)
	if open, over := cupIDs(get[[]horseracing.Tournament](t, s, cupOpenPath, "")), cupIDs(get[[]horseracing.Tournament](t, s, cupResultsPath, "")); !slices.Equal(open, []horseracing.TournamentID{"o/pen"}) || !slices.Equal(over, []horseracing.TournamentID{"over"}) {
		t.Errorf("open %v, results %v", open, over)
	}
	if got, err := s.Client().Tournaments.Get(t.Context(), "o/pen"); err != nil || got.Name != "n" {
		t.Errorf("by its id: %+v, %v", got, err)
	}
	open.Status = 2
	s.AddTournaments(open)
	if got := cupIDs(get[[]horseracing.Tournament](t, s, cupResultsPath, "")); !slices.Equal(got, []horseracing.TournamentID{"o/pen", "over"}) {
		t.Errorf("results %v", got)
	}
	if got := get[[]horseracing.Tournament](t, s, cupOpenPath, ""); len(got) != 0 {
		t.Errorf("open %v", got)
	}
}
