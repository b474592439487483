package following_test

import (
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// Tournaments take longer than races, and their ids are texts: one that finishes late is
// found a day after its start, also after a restart.
func TestFollowLooksBackADayForTournaments(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		cup := func(id string, ago time.Duration) horseracing.Tournament {
			return horseracing.Tournament{ID: horseracing.TournamentID(id), StartTime: horseracing.NewTimestamp(time.Now().Add(-ago)), Status: 2}
		}
		fake.AddTournaments(cup("n.e_w é", 10*time.Minute))
		query := horseracing.FollowQuery{Since: time.Now().AddDate(0, 0, -3)}
		var ids []horseracing.TournamentID
		for range 2 {
			follower := fake.Client().Tournaments.Follow(query)
			for tournament, err := range follower.CatchUp(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, tournament.ID)
			}
			query.Resume = follower.Cursor()
			fake.AddTournaments(cup("late", 24*time.Hour), cup("too late", 25*time.Hour))
		}
		double.Equal(t, "tournaments", []horseracing.TournamentID{"n.e_w é", "late"}, ids)
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}
