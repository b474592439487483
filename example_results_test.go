package horseracing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// The winners of the last three hours, the latest race first.
func ExampleRacesService_Results() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	client := fake.Client()

	since := fake.Now().Add(-3 * time.Hour) // time.Now in a program
	results := client.Races.Results(horseracing.ResultsQuery{Since: since})
	for race, err := range results.All(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		finishers, err := race.Finishers()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(race.StartTime.Format(time.DateTime), race.Info.Name, "won by horse", finishers[0].Number)
	}
	// Output:
	// 2025-06-01 10:25:22 Amber Handicap won by horse 279
	// 2025-06-01 09:52:21 Amber Handicap won by horse 3307
	// 2025-06-01 09:19:04 Two Rivers won by horse 3891
}

// A pager keeps its place: after an error, ranging again goes on where it
// stopped. Here the second page fails once, and nothing is retried.
func ExamplePager_All() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	fake.Inject(horseracingtest.Fault{Skip: 1, Status: http.StatusServiceUnavailable})
	client := fake.Client(horseracing.WithRetry(horseracing.Retry{Max: -1}))

	results := client.Races.Results(horseracing.ResultsQuery{Since: fake.Now().AddDate(0, 0, -1)})
	for range 2 {
		races := 0
		for _, err := range results.All(context.Background()) {
			if err != nil {
				fmt.Println(err)
				break
			}
			races++
		}
		fmt.Println(races, "races")
	}
	// Output:
	// GET /api/v2/races/results: status 503 Service Unavailable
	// 10 races
	// 19 races
}

// Take comes in handy where races go into a database in batches. A cursor that
// is stored in the same transaction makes the whole thing restartable.
func ExamplePager_Take() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	client := fake.Client()

	results := client.Races.Results(horseracing.ResultsQuery{Since: fake.Now().AddDate(0, 0, -1)})
	for {
		races, err := results.Take(context.Background(), 10)
		if err != nil {
			log.Fatal(err)
		}
		if len(races) == 0 {
			break
		}
		fmt.Println("insert races", races[0].MainRaceID, "to", races[len(races)-1].MainRaceID, "and the cursor", results.Cursor())
	}
	// Output:
	// insert races 3000 to 2991 and the cursor hr3.r2.WzBd.eyJzaW5jZSI6MTc0ODY5MjgwMDAwMCwicG9zaXRpb25zIjpbeyJhdCI6MTc0ODc0MjE5MDQ4MSwic2VlbiI6WyIyOTk0IiwiMjk5MyIsIjI5OTIiLCIyOTkxIl19XX0.73cbb188
	// insert races 2990 to 2981 and the cursor hr3.r2.WzBd.eyJzaW5jZSI6MTc0ODY5MjgwMDAwMCwicG9zaXRpb25zIjpbeyJhdCI6MTc0ODcxODgyMjc0Nywic2VlbiI6WyIyOTgxIl19XX0.e265f60d
	// insert races 2980 to 2972 and the cursor hr3.r2.WzBd.eyJzaW5jZSI6MTc0ODY5MjgwMDAwMCwicG9zaXRpb25zIjpbeyJhdCI6MTc0ODY5MzgxNDkxMywic2VlbiI6WyIyOTcyIl19XX0.fc4842d3
}

// Entries has the JSON of each race, for members that the types do not have. A
// race that cannot be read is an error in its position, with its JSON, and the
// loop goes on.
func ExamplePager_Entries() {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(0))
	defer fake.Close()
	fake.Inject(horseracingtest.Fault{Status: http.StatusOK, Body: `[
		{"main_race_id":9,"start_time":1748770000000,"info":{"name":"Dusk"},"weather":"rain"},
		{"main_race_id":8,"start_time":1748760000000,"info":{"name":"Noon"},"entry_fee":["none"]},
		{"main_race_id":7,"start_time":1748750000000,"info":{"name":"Dawn"},"weather":"sun"}]`})
	client := fake.Client()

	results := client.Races.Results(horseracing.ResultsQuery{})
	for entry, err := range results.Entries(context.Background()) {
		if errors.Is(err, horseracing.ErrSkipped) {
			fmt.Println(err)
			continue // for example, store entry.JSON for later
		}
		if err != nil {
			log.Fatal(err)
		}
		var more struct {
			Weather string `json:"weather"`
		}
		if err := json.Unmarshal(entry.JSON, &more); err != nil {
			log.Fatal(err)
		}
		fmt.Println(entry.Value.Info.Name, "with", more.Weather)
	}
	// Output:
	// Dusk with rain
	// GET /api/v2/races/results: cannot read entry 8 at /1/entry_fee: an array does not fit BigInt: not a number in JSON notation
	// Dawn with sun
}

// A program that stops after a few races and goes on there when it is started
// again: its place is a short text in a file.
func ExampleCursor() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "cursor")

	program := func() {
		saved, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			log.Fatal(err)
		}
		cursor, err := horseracing.ParseCursor(string(saved)) // of no text: the beginning
		if err != nil {
			log.Fatal(err)
		}
		results := fake.Client().Races.Results(horseracing.ResultsQuery{Resume: cursor})
		races, err := results.Take(context.Background(), 3)
		if err != nil {
			log.Fatal(err)
		}
		for _, race := range races {
			fmt.Println("race", race.MainRaceID)
		}
		if err := os.WriteFile(file, []byte(results.Cursor().String()), 0o600); err != nil {
			log.Fatal(err)
		}
	}

	program()
	fmt.Println("another process")
	program()
	// Output:
	// race 3000
	// race 2999
	// race 2998
	// another process
	// race 2997
	// race 2996
	// race 2995
}

// The latest races of two tiers, as one listing. A query without a tier reads
// TierOmega alone.
func ExampleResultsQuery_tiers() {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	defer fake.Close()
	fake.AddRaces(
		horseracing.Race{MainRaceID: 3, StartTime: inMinutes(fake, -10), Tier: "Omega"},
		horseracing.Race{MainRaceID: 2, StartTime: inMinutes(fake, -20), Tier: "Delta"},
		horseracing.Race{MainRaceID: 1, StartTime: inMinutes(fake, -30), Tier: "Omega"},
	)
	client := fake.Client()

	results := client.Races.Results(horseracing.ResultsQuery{Tiers: []horseracing.TierID{horseracing.TierOmega, 4}})
	for race, err := range results.All(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("race", race.MainRaceID, "of", race.Tier)
	}
	// Output:
	// race 3 of Omega
	// race 2 of Delta
	// race 1 of Omega
}

// After a full page that starts on one instant the listing cannot show whether
// there is more. The error does not end the loop.
func ExampleTieOverflowError() {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	defer fake.Close()
	noon := fake.Now()
	fake.AddRaces(horseracing.Race{MainRaceID: 1, StartTime: horseracing.NewTimestamp(noon.Add(-2 * time.Hour))})
	for id := horseracing.RaceID(2); id <= 12; id++ {
		fake.AddRaces(horseracing.Race{MainRaceID: id, StartTime: horseracing.NewTimestamp(noon.Add(-time.Hour))})
	}
	client := fake.Client()

	for race, err := range client.Races.Results(horseracing.ResultsQuery{}).All(context.Background()) {
		if tie, ok := errors.AsType[*horseracing.TieOverflowError](err); ok {
			fmt.Println(tie.Seen, "races at", tie.StartTime.Format(time.TimeOnly), "and perhaps more")
		} else if err != nil {
			log.Fatal(err)
		} else if race.MainRaceID == 1 {
			fmt.Println("race 1, which started earlier")
		}
	}
	// Output:
	// 10 races at 11:00:00 and perhaps more
	// race 1, which started earlier
}

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

// One poll of the open races for any number of readers, such as the browsers of a
// web server.
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
			var before []horseracing.Race
			for snapshot := range watcher.Snapshots(ctx) {
				if snapshot.Err != nil {
					slog.Warn("a poll failed; watching continues", "error", snapshot.Err)
				}
				for _, change := range horseracing.Changes(before, snapshot.Races) {
					fmt.Println(change.Kind, change.Race.Info.Name)
				}
				if before = snapshot.Races; len(before) > 0 {
					return // a browser that leaves
				}
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

// inMinutes returns an instant by the fake's clock, before now where n is negative.
func inMinutes(fake *horseracingtest.Server, n int) horseracing.Timestamp {
	return horseracing.NewTimestamp(fake.Now().Add(time.Duration(n) * time.Minute))
}
