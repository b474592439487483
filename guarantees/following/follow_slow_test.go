package following_test

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// With one request in ten that succeeds a poll takes hours: races that its first parts
// lacked finish before its last part is read, more than Lookback before the newest.
func TestAPollThatTakesHoursLosesNoRace(t *testing.T) {
	worlds := 5
	switch {
	case os.Getenv("HORSERACING_DEEP") != "":
		worlds = 240
	case testing.Short():
		worlds = 1
	}
	for seed := range worlds {
		synctest.Test(t, func(t *testing.T) {
			server := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithSeed(uint64(seed+1)),
				horseracingtest.WithHistory(30), horseracingtest.WithSchedule(24), horseracingtest.WithClock(time.Now))
			defer server.Close()
			begun := time.Now()
			go func() {
				time.Sleep(4 * time.Hour)
				server.Inject(horseracingtest.Fault{Path: "/api/v2/races/results", Status: 503, Probability: 0.9})
				time.Sleep(5 * time.Hour)
				server.ClearFaults()
			}()
			ctx, cancel := context.WithTimeout(t.Context(), 11*time.Hour)
			defer cancel()
			got := map[horseracing.RaceID]int{}
			for race, err := range server.Client().Races.Follow(horseracing.FollowQuery{Since: begun}).All(ctx) {
				if err == nil {
					got[race.MainRaceID]++
				}
			}
			n, lost := 0, 0
			for race, err := range server.Client().Races.Results(horseracing.ResultsQuery{Since: begun, Before: begun.Add(10 * time.Hour)}).All(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if n++; got[race.MainRaceID] != 1 {
					lost++
				}
			}
			if lost > 0 {
				t.Errorf("seed %d: %d of %d races were not yielded once", seed, lost, n)
			}
		})
	}
}
