package horseracingtest_test

import (
	"fmt"
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
	open := len(openRaces(t, s))
	s.Advance(time.Hour + time.Millisecond)
	if finished := allRaces(t, s); open != 0 || len(finished) != 1 {
		t.Errorf("%d open, then %v", open, finished)
	}
}

func TestRemovedRacesAreGone(t *testing.T) {
	s := start(t, horseracingtest.WithHistory(3))
	all, open := allRaces(t, s), idsOf(openRaces(t, s))
	s.RemoveRaces(all[0], all[2], open[1], 123456789)
	if diff := cmp.Diff(all[1:2], allRaces(t, s)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Delete(open, 1, 2), idsOf(openRaces(t, s))); diff != "" {
		t.Errorf("open (-want +got):\n%s", diff)
	}
}

func TestSenselessCallsPanic(t *testing.T) {
	s := start(t)
	type fault = horseracingtest.Fault
	when := horseracing.NewTimestamp(s.Now())
	calls := map[string]func(){
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
	}
	for _, f := range []fault{
		{Method: "GET"}, {Path: "api/v1", Status: 500}, {Skip: -1, Status: 500}, {Probability: 1.5, Status: 500}, {Status: 42},
		{Body: "x", ResetAfter: true}, {TakesEffectAfter: 1, ResetAfter: true}, {ResetBefore: true, Status: 500}, {ResetAfter: true, CutBody: 5},
	} {
		calls[fmt.Sprintf("%+v", f)] = func() { s.Inject(f) }
	}
	for name, call := range calls {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
	openRaces(t, s) // the fake is not locked
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
	listed := func() (ids [][]horseracing.TournamentID) {
		for _, path := range []string{"/api/v1/tournaments/open", cupResultsPath} {
			list := []horseracing.TournamentID{}
			for _, cup := range get[[]horseracing.Tournament](t, s, path, "") {
				list = append(list, cup.ID)
			}
			ids = append(ids, list)
		}
		return ids
	}
	if diff := cmp.Diff([][]horseracing.TournamentID{{"o/pen"}, {"over"}}, listed()); diff != "" {
		t.Errorf("open and results (-want +got):\n%s", diff)
	}
	if _, err := s.Client().Tournaments.Get(t.Context(), "o/pen"); err != nil {
		t.Error(err)
	}
	open.Status = 2
	s.AddTournaments(open)
	if diff := cmp.Diff([][]horseracing.TournamentID{{}, {"over", "o/pen"}}, listed()); diff != "" {
		t.Errorf("open and results (-want +got):\n%s", diff)
	}
}
