package horseracingtest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

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

func TestATournamentOpensRunsItsStagesAndIsPublished(t *testing.T) {
	s := start(t)
	open := get[[]horseracing.Tournament](t, s, cupOpenPath, "")
	if len(open) < 2 {
		t.Fatalf("%d tournaments are open", len(open))
	}
	cup := open[len(open)-1]
	at := func() horseracing.Tournament {
		return get[horseracing.Tournament](t, s, "/api/v1/tournaments/"+string(cup.ID), "")
	}
	first := at()
	s.Advance(cup.RegistrationDeadline.Sub(s.Now()))
	if full := at(); full.Status != 0 || len(full.Participants) <= len(first.Participants) || len(full.Participants) != full.Places {
		t.Errorf("at the deadline: %+v", full)
	}
	s.Advance(cup.Stages[1].StartTime.Sub(s.Now()))
	if now := at(); now.Status != 1 || len(now.Stages[0].Results) != 16 || len(now.Stages[1].Results) != 0 || now.Stages[1].CurrentRound != 1 {
		t.Errorf("in the second stage: %+v", now)
	}
	if !slices.Contains(cupIDs(get[[]horseracing.Tournament](t, s, cupOpenPath, "")), cup.ID) {
		t.Error("an ongoing tournament is not among the open ones")
	}
	s.Advance(6 * time.Hour)
	if now := at(); now.Status != 2 || len(now.Stages[2].Results) != 4 {
		t.Errorf("in the end: %+v", now)
	}
	if slices.Contains(cupIDs(get[[]horseracing.Tournament](t, s, cupOpenPath, "")), cup.ID) {
		t.Error("a finished tournament is open")
	}
	body := `{"tier":` + itoa(cup.Tier) + `}`
	if !slices.Contains(cupIDs(get[[]horseracing.Tournament](t, s, cupResultsPath, body)), cup.ID) {
		t.Error("a finished tournament is not in the results")
	}
}

func TestAddedTournamentsAreShownAsTheyAre(t *testing.T) {
	s := start(t, horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0))
	most := 7
	open := horseracing.Tournament{
		ID: "o/pen", Name: "n", StartTime: horseracing.NewTimestamp(s.Now().Add(time.Hour)), Tier: 5, MaxRaceCount: &most, Type: "best_time",
		Prizes: []horseracing.Number{}, Participants: []horseracing.TournamentParticipant{}, AdditionalPrizes: []horseracing.AdditionalPrize{},
		Stages: []horseracing.Stage{{Name: "one", Results: []horseracing.StageResult{}}},
	}
	over := open
	over.ID, over.Status, over.StartTime = "over", 2, horseracing.NewTimestamp(s.Now().Add(-time.Hour))
	s.AddTournaments(open, over)
	s.Advance(48 * time.Hour)
	if diff := cmp.Diff([]horseracing.Tournament{open}, get[[]horseracing.Tournament](t, s, cupOpenPath, "")); diff != "" {
		t.Errorf("open (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]horseracing.Tournament{over}, get[[]horseracing.Tournament](t, s, cupResultsPath, "")); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
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
