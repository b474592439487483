package horseracing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"os"
	"path/filepath"
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
	client := fake.Client(horseracing.WithRetry(horseracing.Retry{}))

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

// Pages come in handy where races go into a database in batches. A cursor that
// is stored in the same transaction makes the whole thing restartable.
func ExamplePager_Pages() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	client := fake.Client()

	results := client.Races.Results(horseracing.ResultsQuery{Since: fake.Now().AddDate(0, 0, -1)})
	for races, err := range results.Pages(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("insert races", races[0].MainRaceID, "to", races[len(races)-1].MainRaceID, "and the cursor", results.Cursor())
	}
	// Output:
	// insert races 3000 to 2991 and the cursor hr1.r2.5.mbczy5xt.0.2b6.2b5.2b4.2b3.6090ba7c
	// insert races 2990 to 2981 and the cursor hr1.r2.5.mbcm1ba3.0.2at.3ae8c349
	// insert races 2980 to 2972 and the cursor hr1.r2.5.mbc75b41.0.2ak.ae4307ed
}

// Entries has the JSON of each race, for members that the types do not know. One
// that cannot be read is an error at its place, with its JSON, and the loop goes
// on behind it.
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
		if err != nil && entry.JSON == nil {
			log.Fatal(err) // of no entry: the loop ends
		}
		if err != nil {
			fmt.Println(err)
			continue // store entry.JSON for later, say
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

// The three latest finished tournaments, then the next three.
func ExamplePager_Take() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	client := fake.Client()

	results := client.Tournaments.Results(horseracing.ResultsQuery{})
	for range 2 {
		tournaments, err := results.Take(context.Background(), 3)
		if err != nil {
			log.Fatal(err)
		}
		for _, tournament := range tournaments {
			fmt.Println(tournament.StartTime.Format(time.DateTime), tournament.Name)
		}
		fmt.Println("--")
	}
	// Output:
	// 2025-05-31 10:03:03 Midnight Gallop Tournament
	// 2025-05-30 21:20:45 Amber Handicap Tournament
	// 2025-05-30 15:51:45 Midnight Gallop Tournament
	// --
	// 2025-05-30 01:22:47 Midnight Gallop Tournament
	// 2025-05-29 11:25:57 Northern Mile Tournament
	// 2025-05-28 11:10:46 Midnight Gallop Tournament
	// --
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

// The older listing counts entries from the newest one on: here it skips a
// hundred. It shifts while races finish; Results does not.
func ExampleRacesService_ResultsV1() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	client := fake.Client()

	races, err := client.Races.ResultsV1(horseracing.OffsetQuery{Offset: 100}).Take(context.Background(), 3)
	if err != nil {
		log.Fatal(err)
	}
	for _, race := range races {
		fmt.Println(race.MainRaceID, race.Info.Name, "in", race.Info.HippodromeName)
	}
	// Output:
	// 2900 Two Rivers in Larkspur Downs
	// 2899 Founders Dash in Three Elms Park
	// 2898 Amber Handicap in Saltmarsh Mile
}

// Several pages at once: the same races in the same order, sooner.
func ExampleResultsQuery_concurrency() {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(500), horseracingtest.WithLatency(time.Millisecond))
	defer fake.Close()
	client := fake.Client()

	results := client.Races.Results(horseracing.ResultsQuery{Concurrency: 8})
	count, ordered, last := 0, true, fake.Now()
	for race, err := range results.All(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		count++
		ordered = ordered && !race.StartTime.After(last)
		last = race.StartTime.Time
	}
	fmt.Println(count, "races; newest first:", ordered)
	fmt.Println("several requests at a time:", fake.MaxInFlight() > 1)
	// Output:
	// 500 races; newest first: true
	// several requests at a time: true
}

// A full page that starts on one instant ends the loop with an error, for the
// listing cannot show whether there is more. Ranging again goes on behind it.
func ExampleTieOverflowError() {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	defer fake.Close()
	noon := fake.Now()
	fake.AddRaces(horseracing.Race{MainRaceID: 1, StartTime: horseracing.NewTimestamp(noon.Add(-2 * time.Hour))})
	for id := horseracing.RaceID(2); id <= 12; id++ {
		fake.AddRaces(horseracing.Race{MainRaceID: id, StartTime: horseracing.NewTimestamp(noon.Add(-time.Hour))})
	}
	client := fake.Client()

	results := client.Races.Results(horseracing.ResultsQuery{})
	var tie *horseracing.TieOverflowError
	for again := true; again; {
		again = false
		for race, err := range results.All(context.Background()) {
			switch {
			case errors.As(err, &tie):
				fmt.Println(tie.Seen, "races at", tie.StartTime.Format(time.TimeOnly), "and perhaps more")
				again = true
			case err != nil:
				log.Fatal(err)
			case race.MainRaceID == 1:
				fmt.Println("race 1, which started earlier")
			}
		}
	}
	// Output:
	// 10 races at 11:00:00 and perhaps more
	// race 1, which started earlier
}
