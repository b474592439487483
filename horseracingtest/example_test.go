package horseracingtest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// enterFirst is what a user wants to test: it enters a horse into the first
// open race that takes it.
func enterFirst(ctx context.Context, client *horseracing.Client, key horseracing.UserKey, number horseracing.HorseNumber, now time.Time) (horseracing.RaceID, error) {
	horse, err := client.Horses.Get(ctx, number)
	if err != nil {
		return 0, err
	}
	races, err := client.Races.Open(ctx)
	if err != nil {
		return 0, err
	}
	for _, race := range races {
		if race.RegistrationOpenAt(now) && race.FreePlaces() > 0 && race.AcceptsLevel(horse.Level) {
			_, err := client.Races.Register(ctx, horseracing.Registration{Horse: number, Race: race.MainRaceID, UserKey: key})
			return race.MainRaceID, err
		}
	}
	return 0, errors.New("no race to enter")
}

// A user's own test: start the fake, put it into the state that the test is
// about, run the program under test with the fake's client, look at what came
// of it.
func Example() {
	server := horseracingtest.NewServer(horseracingtest.WithSchedule(0)) // nothing happens by itself
	defer server.Close()
	at := func(d time.Duration) horseracing.Timestamp { return horseracing.NewTimestamp(server.Now().Add(d)) }
	server.AddRaces(
		horseracing.Race{MainRaceID: 1, StartTime: at(time.Hour), RegistrationDeadline: at(50 * time.Minute), MinLevel: 40, MaxLevel: 60},
		horseracing.Race{MainRaceID: 2, StartTime: at(time.Hour), RegistrationDeadline: at(50 * time.Minute), MinLevel: 10, MaxLevel: 20},
	)
	ctx, client := context.Background(), server.Client()
	horse := server.Horses(0)[0] // of level 15

	_, err := enterFirst(ctx, client, server.UserKey(0), horse, server.Now())
	fmt.Println("entered:", err == nil)
	for _, r := range server.Registrations() {
		fmt.Printf("user %d entered horse %d into race %d\n", r.User, r.Horse, r.Race)
	}

	server.Advance(2 * time.Hour) // the race runs
	race, err := client.Races.Get(ctx, 2)
	fmt.Println("the race has a result:", err == nil && race.Finished())
	// Output:
	// entered: true
	// user 0 entered horse 1 into race 2
	// the race has a result: true
}
