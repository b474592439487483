package following_test

import (
	"context"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/internal/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// A program without a cursor that crawls again since the newest start that it has
// read, misses no race: neither later ones nor others that share that start.
func TestACrawlSinceTheNewestStartMissesNothing(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		fake.AddRaces(double.Finished(1, -40*time.Minute, -30*time.Minute, -20*time.Minute, -10*time.Minute)...)
		var newest time.Time
		crawl := func(since time.Time) map[horseracing.RaceID]int {
			read := map[horseracing.RaceID]int{}
			for race, err := range fake.Client().Races.Results(horseracing.ResultsQuery{Since: since}).All(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				read[race.MainRaceID]++
				if race.StartTime.After(newest) {
					newest = race.StartTime.Time
				}
			}
			return read
		}
		if diff := gocmp.Diff(once(1, 4), crawl(time.Time{})); diff != "" {
			t.Fatal(diff)
		}
		later := double.Finished(5, 0, -5*time.Minute, -time.Minute)
		later[0].StartTime = horseracing.NewTimestamp(newest)
		fake.AddRaces(later...)
		if diff := gocmp.Diff(once(4, 7), crawl(newest)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}

// A program that is killed between a race and its cursor meets that race once more,
// and no other.
func TestACursorThatIsStoredOneRaceLateRepeatsThatRaceAlone(t *testing.T) {
	const races = 45
	for name, next := range map[string]func(t *testing.T, c *horseracing.Client, saved horseracing.Cursor) (*horseracing.Race, horseracing.Cursor){
		"a pager": func(t *testing.T, c *horseracing.Client, saved horseracing.Cursor) (*horseracing.Race, horseracing.Cursor) {
			pager := c.Races.Results(horseracing.ResultsQuery{Resume: saved, Concurrency: 3})
			for race, err := range pager.All(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				return race, pager.Cursor()
			}
			return nil, saved
		},
		"a follower": func(t *testing.T, c *horseracing.Client, saved horseracing.Cursor) (*horseracing.Race, horseracing.Cursor) {
			follower := c.Races.Follow(horseracing.FollowQuery{Resume: saved, Since: time.Now().Add(-2 * time.Hour)})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for race, err := range follower.All(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				return race, follower.Cursor()
			}
			return nil, saved
		},
	} {
		t.Run(name, func(t *testing.T) {
			double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
				for i := range horseracing.RaceID(races) {
					fake.AddRaces(double.Finished(i+1, -time.Duration(1+i/3)*time.Minute)...) // three share a start
				}
				want := once(1, races)
				got := map[horseracing.RaceID]int{}
				var saved horseracing.Cursor
				for step := 1; ; step++ {
					race, cursor := next(t, fake.Client(), saved)
					if race == nil {
						break
					}
					got[race.MainRaceID]++
					if step%7 == 0 {
						want[race.MainRaceID]++
						continue // killed before the cursor is stored
					}
					saved = cursor
				}
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
		})
	}
}
