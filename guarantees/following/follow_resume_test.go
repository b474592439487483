package following_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestFollowContinuesWhereALoopWasLeft(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		fake.AddRaces(double.Finished(1, -9*time.Minute, -7*time.Minute, -5*time.Minute, -3*time.Minute)...)
		f := fake.Client().Races.Follow(horseracing.FollowQuery{Since: time.Now().Add(-time.Hour)})
		var got []horseracing.RaceID
		for range 4 {
			for race, err := range f.All(double.ADay(t)) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, race.MainRaceID)
				for _, err := range f.All(t.Context()) {
					if !errors.Is(err, horseracing.ErrInvalidArgument) {
						t.Errorf("a loop within a loop: %v", err)
					}
				}
				break
			}
		}
		if !slices.Equal(got, []horseracing.RaceID{1, 2, 3, 4}) {
			t.Errorf("races %v", got)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

func TestFollowFromNowCanBeStoppedBeforeTheFirstRace(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		fake.AddRaces(double.Finished(1, -10*time.Minute)...)
		f := fake.Client().Races.Follow(horseracing.FollowQuery{})
		if !f.Cursor().IsZero() {
			t.Error("a cursor before the first poll")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for race, err := range f.All(ctx) {
			t.Errorf("race %v, error %v", race, err)
		}
		fake.AddRaces(double.Finished(2, -time.Second)...)
		if got := take(t, fake.Client(), horseracing.FollowQuery{Resume: f.Cursor()}, 1); got[0] != 2 {
			t.Errorf("races %v", got)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

func TestFollowRefusesACursorOfSomethingElse(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithInMemory())
	defer fake.Close()
	races := fake.Client().Races
	pager := races.Results(horseracing.ResultsQuery{})
	if _, err := pager.Take(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	follow := races.Follow(horseracing.FollowQuery{Since: time.Now()}).Cursor()
	for name, q := range map[string]horseracing.FollowQuery{
		"a pager's":      {Resume: pager.Cursor()},
		"another tier":   {Resume: follow, Tier: 4},
		"more tiers":     {Resume: follow, Tiers: []horseracing.TierID{4, 5}},
		"tier and tiers": {Tier: 4, Tiers: []horseracing.TierID{4}},
	} {
		n := 0
		f := races.Follow(q)
		for race, err := range f.All(t.Context()) {
			if n++; race != nil || !errors.Is(err, horseracing.ErrInvalidArgument) || !strings.Contains(err.Error(), "GET /api/v2/races/results") {
				t.Errorf("%s: race %v, error %v", name, race, err)
			}
		}
		if n != 1 || !f.Cursor().Equal(q.Resume) {
			t.Errorf("%s: %d yields, cursor %v", name, n, f.Cursor())
		}
	}
	n := 0
	for _, err := range races.Results(horseracing.ResultsQuery{Resume: follow}).All(t.Context()) {
		if n++; !errors.Is(err, horseracing.ErrInvalidArgument) {
			t.Errorf("a pager goes on from a follower's cursor: %v", err)
		}
	}
	for race, err := range races.Follow(horseracing.FollowQuery{Resume: follow, Tiers: []horseracing.TierID{5, 5}}).All(cancelled(t)) {
		t.Errorf("Tiers{5} is not Tier 5: race %v, error %v", race, err)
	}
}

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestFollowLosesNoRaceIfItsContextEndsWhileTheCallerIsAtWork(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		fake.AddRaces(double.Finished(1, -9*time.Minute, -7*time.Minute, -5*time.Minute)...)
		query := horseracing.FollowQuery{Since: time.Now().Add(-time.Hour)}
		for id := horseracing.RaceID(1); id <= 3; id++ {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			follower := fake.Client().Races.Follow(query)
			for race, err := range follower.All(ctx) {
				if err != nil || race.MainRaceID != id {
					t.Errorf("race %v, error %v, want race %d", race, err, id)
				}
				cancel()
			}
			cancel()
			query.Resume = follower.Cursor()
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}
