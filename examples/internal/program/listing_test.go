package program

import (
	"strings"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func TestNewestGoesOnBehindAHole(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	defer fake.Close()
	start := func(ago time.Duration) horseracing.Timestamp { return horseracing.NewTimestamp(fake.Now().Add(-ago)) }
	for id := horseracing.RaceID(10); id < 22; id++ { // more at an instant than a page holds
		fake.AddRaces(horseracing.Race{MainRaceID: id, StartTime: start(time.Hour)})
	}
	fake.AddRaces(horseracing.Race{MainRaceID: 2, StartTime: start(2 * time.Hour)}, horseracing.Race{MainRaceID: 1, StartTime: start(3 * time.Hour)})

	var out strings.Builder
	races, err := Newest(t.Context(), fake.Client().Races.Results(horseracing.ResultsQuery{}), 11, &out)
	if err != nil || len(races) != 11 || races[10].MainRaceID != 2 || strings.Count(out.String(), "Left out: ") != 1 {
		t.Errorf("%d races, error %v, and it printed %q; want the ten of a page, race 2, and one line", len(races), err, out.String())
	}
}
