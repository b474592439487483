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
