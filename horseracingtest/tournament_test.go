package horseracingtest_test

import (
	"encoding/json"
	"slices"
	"strings"
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

func TestFinishedTournamentsShowTheirStagesByAscendingTotal(t *testing.T) {
	s := start(t)
	page := get[[]horseracing.Tournament](t, s, cupResultsPath, "")
	if len(page) != 10 {
		t.Fatalf("%d tournaments", len(page))
	}
	for i, cup := range page {
		if cup.Status != 2 || cup.Tier != 5 || len(cup.Stages) != 3 || len(cup.Participants) != 16 {
			t.Errorf("%+v", cup)
		}
		if i > 0 && cup.StartTime.After(page[i-1].StartTime.Time) {
			t.Error("not newest first")
		}
		if !slices.IsSortedFunc(cup.Participants, func(a, b horseracing.TournamentParticipant) int { return int(1000*a.Total) - int(1000*b.Total) }) {
			t.Errorf("participants %v", cup.Participants)
		}
		field := 16
		for _, stage := range cup.Stages {
			if stage.Status != 2 || len(stage.Results) != field || stage.CurrentRound != stage.RaceCount {
				t.Errorf("stage %+v", stage)
			}
			if !slices.IsSortedFunc(stage.Results, func(a, b horseracing.StageResult) int { return int(1000*a.Total) - int(1000*b.Total) }) {
				t.Errorf("results %v", stage.Results)
			}
			field /= 2
		}
		for _, p := range cup.Participants {
			ran := 0
			for _, stage := range cup.Stages {
				if slices.ContainsFunc(stage.Results, func(r horseracing.StageResult) bool { return r.Number == p.Number }) {
					ran++
				}
			}
			if p.DroppedAtIndex != ran-1 {
				t.Errorf("horse %d ran %d stages and dropped at %d", p.Number, ran, p.DroppedAtIndex)
			}
		}
	}
}

func TestFinishedTournamentsArePagedByAnExclusiveInstant(t *testing.T) {
	s := start(t, horseracingtest.WithHistory(4000))
	cups, err := s.Client().Tournaments.Results(horseracing.ResultsQuery{}).Take(t.Context(), 1000)
	if err != nil || len(cups) != 100 {
		t.Errorf("%d tournaments, want 100: %v", len(cups), err)
	}
	before := itoa(cups[0].StartTime.UnixMilli())
	if page := get[[]horseracing.Tournament](t, s, cupResultsPath, `{"start_time_from":`+before+`}`); page[0].ID != cups[1].ID {
		t.Errorf("before the start of the newest comes %s, want %s", page[0].ID, cups[1].ID)
	}
}

func TestATournamentOpensRunsItsStagesAndIsPublished(t *testing.T) {
	s := start(t)
	open := get[[]horseracing.Tournament](t, s, cupOpenPath, "")
	if len(open) < 2 {
		t.Fatalf("%d tournaments are open", len(open))
	}
	statuses := map[int]bool{}
	cup := open[len(open)-1]
	at := func() horseracing.Tournament {
		now := get[horseracing.Tournament](t, s, "/api/v1/tournaments/"+string(cup.ID), "")
		statuses[now.Status] = true
		return now
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

func TestATournamentByIDIsTheListedOne(t *testing.T) {
	s := start(t)
	for _, path := range []string{cupResultsPath, cupOpenPath} {
		for _, listed := range get[[]json.RawMessage](t, s, path, "") {
			var cup horseracing.Tournament
			if err := json.Unmarshal(listed, &cup); err != nil {
				t.Fatal(err)
			}
			if _, body := do(t, s, newRequest(t, s, "GET", "/api/v1/tournaments/"+string(cup.ID), "")); body != string(listed) {
				t.Errorf("listed:\n%s\nby id:\n%s", listed, body)
			}
		}
	}
}

func TestATournamentIDIsTakenAsAWhole(t *testing.T) {
	s := start(t)
	id := string(cupIDs(get[[]horseracing.Tournament](t, s, cupResultsPath, ""))[0])
	for _, wrong := range []string{"0000" + id[4:], id[:23], id + "0", strings.ToUpper(id[:8]) + "Z" + id[9:], id[:8] + "0000000000000000", "x"} {
		if response, body := do(t, s, newRequest(t, s, "GET", "/api/v1/tournaments/"+wrong, "")); response.StatusCode != 404 {
			t.Errorf("%s: status %d: %.100s", wrong, response.StatusCode, body)
		}
	}
}

func TestSomePrizesCarryTheNameOfACurrency(t *testing.T) {
	s := start(t, horseracingtest.WithHistory(4000))
	names := map[string]bool{}
	for day := range 30 {
		for _, cup := range get[[]map[string]json.RawMessage](t, s, cupResultsPath, `{"start_time_from":`+itoa(s.Now().AddDate(0, 0, -7*day).UnixMilli())+`}`) {
			var prizes []map[string]json.RawMessage
			if err := json.Unmarshal(cup["additional_prizes"], &prizes); err != nil {
				t.Fatal(err)
			}
			for _, prize := range prizes {
				names[strings.Join(members(prize), " ")] = true
			}
		}
	}
	want := map[string]bool{
		"additional_items additional_sugar additional_token additional_treasury_token":         true,
		"additional_horseshoe additional_items additional_sugar additional_treasury_horseshoe": true,
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAddedTournamentsAreShownAsTheyAre(t *testing.T) {
	s := start(t, horseracingtest.WithSchedule(0), horseracingtest.WithHistory(0))
	most := 7
	open := horseracing.Tournament{
		ID: "open", Name: "n", StartTime: horseracing.NewTimestamp(s.Now().Add(time.Hour)), Tier: 5, MaxRaceCount: &most, Type: "best_time",
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
	open.Status = 2
	s.AddTournaments(open)
	if got := cupIDs(get[[]horseracing.Tournament](t, s, cupResultsPath, "")); !slices.Equal(got, []horseracing.TournamentID{"open", "over"}) {
		t.Errorf("results %v", got)
	}
	if got := get[[]horseracing.Tournament](t, s, cupOpenPath, ""); len(got) != 0 {
		t.Errorf("open %v", got)
	}
}
