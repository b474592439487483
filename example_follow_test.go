package horseracing_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
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
	for race, err := range client.Races.Follow(query).All(ctx) {
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

// Each race is handled exactly once, however often the program is restarted: the
// cursor is stored in the transaction that handles the race.
func ExampleFollower_Cursor() {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	defer fake.Close()
	fake.AddRaces(
		horseracing.Race{MainRaceID: 1, StartTime: inMinutes(fake, -30)},
		horseracing.Race{MainRaceID: 2, StartTime: inMinutes(fake, -20)},
	)

	// With database/sql, store is a transaction that does the work and
	//
	//	UPDATE followers SET cursor = ? WHERE name = 'omega'
	var stored string
	store := func(race *horseracing.Race, cursor horseracing.Cursor) {
		fmt.Println("race", race.MainRaceID)
		stored = cursor.String()
	}

	program := func(until horseracing.RaceID) error {
		resume, err := horseracing.ParseCursor(stored) // empty at first: begin at Since
		if err != nil {
			return err
		}
		follower := fake.Client().Races.Follow(horseracing.FollowQuery{Since: fake.Now().Add(-time.Hour), Resume: resume})
		for race, err := range follower.All(context.Background()) {
			if err != nil {
				slog.Warn("following goes on", "error", err)
				continue
			}
			store(race, follower.Cursor())
			if race.MainRaceID == until {
				break
			}
		}
		return nil
	}

	fmt.Println(program(2))
	fake.AddRaces(
		horseracing.Race{MainRaceID: 3, StartTime: inMinutes(fake, -25)}, // finished late, behind race 2
		horseracing.Race{MainRaceID: 4, StartTime: inMinutes(fake, -10)},
	)
	fmt.Println(program(4)) // restarted
	// Output:
	// race 1
	// race 2
	// <nil>
	// race 3
	// race 4
	// <nil>
}

// One poll of the open races for any number of readers: a page in a browser for
// each, say.
func ExampleRacesService_Watcher() {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	defer fake.Close()
	fake.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: inMinutes(fake, 10), Places: 4, Info: horseracing.RaceInfo{Name: "Dawn"}})

	ctx, stop := context.WithCancel(context.Background()) // signal.NotifyContext in a program
	watcher := fake.Client().Races.Watcher(horseracing.WatchQuery{})
	var running, readers sync.WaitGroup
	running.Go(func() {
		if err := watcher.Run(ctx); err != nil {
			slog.Error("the watcher does not run", "error", err)
		}
	})
	for range 3 {
		readers.Go(func() {
			for change, err := range watcher.Changes(ctx) {
				if err != nil {
					slog.Warn("a poll failed; watching goes on", "error", err)
					continue
				}
				fmt.Println(change.Kind, change.Race.Info.Name)
				return // a browser that leaves
			}
		})
	}
	readers.Wait()
	fmt.Println(len(watcher.Snapshot().Races), "open, after", fake.RequestCount(), "request")
	stop()
	running.Wait()
	// Output:
	// opened Dawn
	// opened Dawn
	// opened Dawn
	// 1 open, after 1 request
}

// A program that reports what happens to the open races.
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
// nothing else shows it.
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

// changedService responds with a member that is new, and without one that is documented.
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
