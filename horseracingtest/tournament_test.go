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
