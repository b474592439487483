package horseracing_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// The tournaments that a horse could enter now.
func ExampleTournamentsService_Open() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	client := fake.Client()

	tournaments, err := client.Tournaments.Open(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range tournaments {
		fmt.Printf("%s starts at %s: %d of %d places taken, a fee of %v\n",
			t.Name, t.StartTime.Format(time.DateTime), len(t.Participants), t.Places, t.EntryFee)
	}
	// Output:
	// Clover Cup Tournament starts at 2025-06-01 12:00:00: 16 of 16 places taken, a fee of 1000000000000000000000
	// Two Rivers Tournament starts at 2025-06-01 18:00:00: 12 of 16 places taken, a fee of 1000000000000000000
	// Northern Mile Tournament starts at 2025-06-02 00:00:00: 8 of 16 places taken, a fee of 2500000000000000000
	// Amber Handicap Tournament starts at 2025-06-02 06:00:00: 4 of 16 places taken, a fee of 2500000000000000000
	// Amber Handicap Tournament starts at 2025-06-02 12:00:00: 0 of 16 places taken, a fee of 2500000000000000000
}

// The three first of the latest finished tournament. Participants come in the
// order of their Total.
func ExampleTournamentsService_Results() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	client := fake.Client()

	latest, err := client.Tournaments.Results(horseracing.ResultsQuery{}).Take(context.Background(), 1)
	if err != nil {
		log.Fatal(err)
	}
	for _, tournament := range latest {
		fmt.Println(tournament.Name, "of", len(tournament.Participants), "horses")
		for _, p := range tournament.Participants[:3] {
			fmt.Printf("horse %d: %.2f\n", p.Number, p.Total)
		}
	}
	// Output:
	// Midnight Gallop Tournament of 16 horses
	// horse 287: 65.77
	// horse 2332: 76.73
	// horse 2741: 84.03
}

// A horse's missions, and what is left to do of them.
func ExampleHorsesService_Missions() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	client := fake.Client()

	missions, err := client.Horses.Missions(context.Background(), 1)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range missions.Missions {
		if !m.Completed {
			fmt.Printf("%s: %s, for %d XP\n", m.Type, m.Name, m.RewardXP)
		}
	}
	// Output:
	// monthly: Finish among the winners, for 1096 XP
	// weekly: Run every distance on one hippodrome, for 277 XP
	// weekly: Run races this week, for 3576 XP
	// daily: Complete all daily missions, for 1788 XP
	// daily: Run one race of a distance, for 3847 XP
}

// Every mission that the service hands out, by period.
func ExampleMissionsService_Catalogue() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	client := fake.Client()

	catalogue, err := client.Missions.Catalogue(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for period, mission := range catalogue.All() {
		if mission.FurlongMin != nil && mission.FurlongMax != nil {
			fmt.Println(period, mission.Type, "over", *mission.FurlongMin, "to", *mission.FurlongMax, "furlongs")
		}
	}
	// Output:
	// daily run_x_furlong_race over 2 to 15 furlongs
	// daily run_x_races_of_y_furlongs_on_z over 2 to 15 furlongs
	// daily run_x_races_y_furlong over 2 to 15 furlongs
	// weekly run_x_races_of_y_furlongs_on_z over 2 to 15 furlongs
	// monthly run_x_races_of_y_furlongs_on_z over 2 to 15 furlongs
}
