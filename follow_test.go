package horseracing_test

import (
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestDefaultOfFollowQueryIsTwoPollsAMinuteAndAnHour(t *testing.T) {
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		ctx := double.Within(t, time.Hour)
		var came []horseracing.RaceID
		fake.AddRaces(double.Finished(1, -10*time.Minute)...)
		for race, err := range fake.Client().Races.Follow(horseracing.FollowQuery{Since: time.Now().Add(-3 * time.Hour)}).All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			if came = append(came, race.MainRaceID); len(came) == 1 {
				fake.AddRaces(double.Finished(2, -10*time.Minute-59*time.Minute, -10*time.Minute-61*time.Minute)...)
			}
		}
		if len(came) != 2 || came[1] != 2 {
			t.Errorf("races %v came, want 1 and the one that started 59 minutes before it", came)
		}
		if n := fake.RequestCount(); n < 120 || n > 140 {
			t.Errorf("%d requests in an hour", n)
		}
	}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
}
