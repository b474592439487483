package horseracing_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// A program that prints races as they finish.
func ExampleRacesService_Follow() {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	defer fake.Close()
	fake.AddRaces(
		horseracing.Race{MainRaceID: 2, StartTime: inMinutes(fake, -5), Info: horseracing.RaceInfo{Name: "Dusk"}},
		horseracing.Race{MainRaceID: 1, StartTime: inMinutes(fake, -9), Info: horseracing.RaceInfo{Name: "Dawn"}},
	)
	client := fake.Client()

	ctx, stop := context.WithCancel(context.Background()) // signal.NotifyContext in a program
	defer stop()
	query := horseracing.FollowQuery{Since: fake.Now().Add(-time.Hour)}
	for race, err := range client.Races.Follow(ctx, query) {
		if err != nil {
			slog.Warn("a poll failed; Follow goes on", "error", err)
			continue
		}
		fmt.Println(race.MainRaceID, race.Info.Name)
		if race.Info.Name == "Dusk" {
			stop() // ends the loop at once, without an error
		}
	}
	// Output:
	// 1 Dawn
	// 2 Dusk
}

// Each race handled exactly once, however often the program is restarted: a
// unique key in the database refuses the second time, and the following begins
// so early that nothing is missed.
func ExampleRacesService_Follow_exactlyOnce() {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	defer fake.Close()
	fake.AddRaces(
		horseracing.Race{MainRaceID: 1, StartTime: inMinutes(fake, -30)},
		horseracing.Race{MainRaceID: 2, StartTime: inMinutes(fake, -20)},
	)

	// With database/sql, insert is
	//
	//	INSERT INTO races (main_race_id, start_time) VALUES (?, ?) ON CONFLICT DO NOTHING
	//
	// in the transaction that does the work, with RowsAffected() == 1 as its
	// result, and newest is SELECT max(start_time) FROM races.
	table := map[horseracing.RaceID]time.Time{}
	insert := func(race *horseracing.Race) (isNew bool) {
		_, exists := table[race.MainRaceID]
		table[race.MainRaceID] = race.StartTime.Time
		return !exists
	}
	newest := func() (newest time.Time) {
		for _, start := range table {
			if start.After(newest) {
				newest = start
			}
		}
		return newest
	}

	const lookback = time.Hour // longer than any race takes from its start to its result
	program := func(until horseracing.RaceID) {
		query := horseracing.FollowQuery{Lookback: lookback, Since: fake.Now().Add(-24 * time.Hour)}
		if last := newest(); !last.IsZero() {
			query.Since = last.Add(-lookback)
		}
		for race, err := range fake.Client().Races.Follow(context.Background(), query) {
			if err != nil {
				continue // log it; past a DecodeError newest is no place to resume from, see Follow
			}
			if insert(race) {
				fmt.Println("race", race.MainRaceID)
			} else {
				fmt.Println("race", race.MainRaceID, "was handled before the restart")
			}
			if race.MainRaceID == until {
				return
			}
		}
	}

	program(2)
	fmt.Println("restart")
	fake.AddRaces(
		horseracing.Race{MainRaceID: 3, StartTime: inMinutes(fake, -25)}, // finished late, behind race 2
		horseracing.Race{MainRaceID: 4, StartTime: inMinutes(fake, -10)},
	)
	program(4)
	// Output:
	// race 1
	// race 2
	// restart
	// race 1 was handled before the restart
	// race 3
	// race 2 was handled before the restart
	// race 4
}

// A program that tells what happens to the open races.
func ExampleRacesService_WatchOpen() {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	defer fake.Close()
	race := horseracing.Race{MainRaceID: 7, StartTime: inMinutes(fake, 10), Places: 4, Info: horseracing.RaceInfo{Name: "Dawn"}}
	fake.AddRaces(race)
	client := fake.Client()

	query := horseracing.WatchQuery{Interval: time.Millisecond} // every 15 seconds without it
	for change, err := range client.Races.WatchOpen(context.Background(), query) {
		if err != nil {
			slog.Warn("a poll failed; WatchOpen goes on", "error", err)
			continue
		}
		switch change.Kind {
		case horseracing.RaceOpened:
			fmt.Printf("%s takes %d horses\n", change.Race.Info.Name, change.Race.FreePlaces())
			race.Participants = []horseracing.RaceParticipant{{Number: 12}}
			fake.AddRaces(race) // a horse comes in
		case horseracing.RaceUpdated:
			fmt.Printf("%s: %d places free, %d before\n", change.Race.Info.Name, change.Race.FreePlaces(), change.Previous.FreePlaces())
			fake.Advance(10 * time.Minute) // it starts
		case horseracing.RaceClosed:
			fmt.Printf("%s closed with %d horses\n", change.Race.Info.Name, len(change.Race.Participants))
			return
		}
	}
	// Output:
	// Dawn takes 4 horses
	// Dawn: 3 places free, 4 before
	// Dawn closed with 1 horses
}

// In production, drift is worth a line in the log: the service has changed, and
// nothing else tells.
func ExampleWithDriftHandler() {
	fake := changedService()
	defer fake.Close()
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))

	client := fake.Client(horseracing.WithDriftHandler(func(ctx context.Context, d horseracing.Drift) {
		log.WarnContext(ctx, "the service has changed", "kind", d.Kind, "route", d.Route, "path", d.Path)
	}))
	races, err := client.Races.Open(context.Background())
	fmt.Println(len(races), err) // reading goes on regardless
	// Output:
	// level=WARN msg="the service has changed" kind=unknown_field route=/api/v1/races/open path=[].info.weather
	// level=WARN msg="the service has changed" kind=missing_field route=/api/v1/races/open path=[].registration_deadline
	// 2 <nil>
}

// In a test against the real service, drift is a failure.
func ExampleWithDriftHandler_test() {
	fake := changedService()
	defer fake.Close()
	var t printingT // the test's *testing.T, whose Errorf is safe for concurrent use

	client := fake.Client(horseracing.WithDriftHandler(func(_ context.Context, d horseracing.Drift) {
		t.Errorf("%s: %s %s", d.Route, d.Kind, d.Path)
	}))
	if _, err := client.Races.Open(context.Background()); err != nil {
		t.Errorf("%v", err)
	}
	// Output:
	// FAIL: /api/v1/races/open: unknown_field [].info.weather
	// FAIL: /api/v1/races/open: missing_field [].registration_deadline
}

// changedService answers with a member that is new, and without one that is documented.
func changedService() *horseracingtest.Server {
	const race = `{"_id":"a","main_race_id":7,"start_time":1,"type":"best_time","length":8,"v2":true,"no_equipment":false,` +
		`"entry_fee":5,"prizes":[3,2],"tier":"Omega","info":{"name":"Dawn","hippodrome_type":"Oval","hippodrome_name":"North",` +
		`"turf":"Grass","weather":"rain"},"places":12,"min_level":1,"max_level":9,"participants":[],"status":"In progress"}`
	fake := horseracingtest.NewServer()
	fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/open", Times: -1, Status: http.StatusOK, Body: "[" + race + "," + race + "]"})
	return fake
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

type printingT struct{}

func (printingT) Errorf(format string, args ...any) { fmt.Printf("FAIL: "+format+"\n", args...) }

// inMinutes returns an instant by the fake's clock, before now where n is negative.
func inMinutes(fake *horseracingtest.Server, n int) horseracing.Timestamp {
	return horseracing.NewTimestamp(fake.Now().Add(time.Duration(n) * time.Minute))
}
