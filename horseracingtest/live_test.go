package horseracingtest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func race(t *testing.T, s *horseracingtest.Server, id horseracing.RaceID) horseracing.Race {
	t.Helper()
	races := get[[]horseracing.Race](t, s, "/api/v1/races/"+itoa(id), "")
	if len(races) != 1 {
		t.Fatalf("race %d: %d entries", id, len(races))
	}
	return races[0]
}

func openRaces(t *testing.T, s *horseracingtest.Server) []horseracing.Race {
	t.Helper()
	return get[[]horseracing.Race](t, s, openPath, "")
}

func TestARaceOpensFillsUpRunsAndIsPublished(t *testing.T) {
	s := start(t, horseracingtest.WithHistory(0))
	listed := idsOf(openRaces(t, s))
	var id horseracing.RaceID
	for id == 0 {
		s.Advance(5 * time.Minute)
		for _, r := range openRaces(t, s) {
			if !slices.Contains(listed, r.MainRaceID) && r.Tier == horseracing.TierNameOmega {
				id = r.MainRaceID
			}
		}
	}
	opened := race(t, s, id)
	if !opened.RegistrationOpenAt(s.Now()) || len(opened.FinalOrder) > 0 {
		t.Errorf("the race does not begin open: %+v", opened)
	}
	s.Advance(opened.RegistrationDeadline.Sub(s.Now()))
	full := race(t, s, id)
	if len(full.Participants) <= len(opened.Participants) || len(full.Participants) < 2 {
		t.Errorf("%d participants at first, %d at the deadline", len(opened.Participants), len(full.Participants))
	}
	if !slices.Contains(idsOf(openRaces(t, s)), id) {
		t.Error("the race left the open list before its start")
	}
	s.Advance(opened.StartTime.Sub(s.Now()))
	if slices.Contains(idsOf(openRaces(t, s)), id) {
		t.Error("the race is open after its start")
	}
	if running := race(t, s, id); running.Status != horseracing.RaceStatusInProgress || slices.Contains(allRaces(t, s), id) {
		t.Errorf("the race is not running: %+v", running)
	}
	s.Advance(35 * time.Minute)
	finished := race(t, s, id)
	if order, err := finished.Finishers(); err != nil || len(order) != len(full.Participants) {
		t.Errorf("%d of %d finished: %v", len(order), len(full.Participants), err)
	}
	if !slices.Contains(allRaces(t, s), id) {
		t.Error("the race is not in the results")
	}
}

func TestALongAdvanceEndsWhereManySmallOnesDo(t *testing.T) {
	slow, fast := start(t), start(t)
	for range 24 * 4 {
		slow.Advance(15 * time.Minute)
		openRaces(t, slow)
	}
	fast.Advance(24 * time.Hour)
	for _, path := range []string{openPath, resultsPath, "/api/v1/tournaments/open", "/api/v1/tournaments/results"} {
		_, a := do(t, slow, newRequest(t, slow, "GET", path, ""))
		_, b := do(t, fast, newRequest(t, fast, "GET", path, ""))
		if a != b {
			t.Errorf("%s differs:\n%s\n%s", path, a, b)
		}
	}
	if diff := cmp.Diff(allRaces(t, slow), allRaces(t, fast)); diff != "" {
		t.Errorf("results (-slow +fast):\n%s", diff)
	}
}

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
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			add()
		}()
	}
	// None of them may leave the fake locked.
	openRaces(t, s)
}
