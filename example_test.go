package horseracing_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// This client has settings of its own. Without options it retries reads three times, limits an
// attempt to 30 seconds, and sends without a limit until the service refuses a request.
//
// All examples run on a fake of the service. A program of your own starts with NewClient or
// NewClientFromEnv; the rest stays the same.
func ExampleNewClient() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	baseURL, apiKey := fake.URL, fake.APIKey // those of the real service in a program

	client, err := horseracing.NewClient(baseURL, apiKey,
		horseracing.WithRateLimit(5, 10), // requests per second, and at once
		horseracing.WithRetry(horseracing.Retry{Max: 5, MaxWait: time.Minute}),
		horseracing.WithAttemptTimeout(10*time.Second),
	)
	if err != nil {
		log.Fatal(err)
	}
	horse, err := client.Horses.Get(context.Background(), 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(horse.Name, "of level", horse.Level)
	// Output:
	// Iron Island of level 15
}

// errors.Is finds what an error means, and errors.AsType the response that it reports.
func Example_errors() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	client := fake.Client()

	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	race, err := client.Races.Get(ctx, 987654321)
	switch {
	case err == nil:
		fmt.Println(race.Info.Name)
	case errors.Is(err, horseracing.ErrNotFound):
		fmt.Println("there is no such race")
	case errors.Is(err, horseracing.ErrUnauthorized):
		fmt.Println("the API key is wrong")
	case errors.Is(err, horseracing.ErrRateLimited), errors.Is(err, horseracing.ErrServer), errors.Is(err, context.DeadlineExceeded):
		fmt.Println("try again later")
	default:
		if refused, ok := errors.AsType[*horseracing.APIError](err); ok {
			fmt.Println("refused with status", refused.StatusCode, refused.Message)
		}
		log.Fatal(err)
	}
	// Output:
	// there is no such race
}

// Registering spends the race's entry fee. If the response is lost, the SDK does not send the
// registration again, because that could pay twice. Registered reads whether it took effect;
// only if it returns false is it safe to register again.
func ExampleRacesService_Register() {
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0))
	defer fake.Close()
	fake.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: inMinutes(fake, 10), Participants: []horseracing.RaceParticipant{{Number: 9999}}})
	fake.Inject(horseracingtest.Fault{Method: http.MethodPost, ResetBefore: true}) // the connection breaks
	client := fake.Client()
	ctx := context.Background()

	entry := horseracing.Registration{Horse: fake.Horses(0)[0], Race: 7, UserKey: fake.UserKey(0)}
	receipt, err := client.Races.Register(ctx, entry)
	if err == nil {
		fmt.Println("registered, with status", receipt.StatusCode)
		return
	}
	if !errors.Is(err, horseracing.ErrOutcomeUnknown) {
		log.Fatal(err) // refused, or not sent
	}
	registered, err := client.Races.Registered(ctx, entry.Race, entry.Horse)
	if undecided, ok := errors.AsType[*horseracing.UndecidedError](err); ok {
		wait := undecided.RetryAt.Sub(fake.Now()) // a program saves RetryAt
		fmt.Println("not listed so far; decided in", wait.Round(time.Minute))
		fake.Advance(wait)
		registered, err = client.Races.Registered(ctx, entry.Race, entry.Horse)
	}
	fmt.Println("registered:", registered, err)
	// Output:
	// not listed so far; decided in 1h10m0s
	// registered: false <nil>
}

// Each race is handled exactly once, however often the program is restarted: the cursor is
// stored in the transaction that handles the race.
func ExampleRacesService_Follow() {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	defer fake.Close()
	fake.AddRaces(
		horseracing.Race{MainRaceID: 1, StartTime: inMinutes(fake, -30)},
		horseracing.Race{MainRaceID: 2, StartTime: inMinutes(fake, -20)},
	)

	stored := "" // with database/sql: UPDATE followers SET cursor = ? WHERE name = 'omega'
	program := func(until horseracing.RaceID) {
		resume, err := horseracing.ParseCursor(stored) // empty at first: start at Since
		if err != nil {
			log.Fatal(err)
		}
		follower := fake.Client().Races.Follow(horseracing.FollowQuery{Since: fake.Now().Add(-time.Hour), Resume: resume})
		for race, err := range follower.All(context.Background()) {
			if err != nil {
				slog.Warn("a poll failed; the follower continues", "error", err)
				continue
			}
			fmt.Println("race", race.MainRaceID)
			stored = follower.Cursor().String()
			if race.MainRaceID == until {
				break
			}
		}
	}
	program(2)
	fake.AddRaces(
		horseracing.Race{MainRaceID: 3, StartTime: inMinutes(fake, -25)}, // finished late, after race 2
		horseracing.Race{MainRaceID: 4, StartTime: inMinutes(fake, -10)},
	)
	program(4) // restarted
	// Output:
	// race 1
	// race 2
	// race 3
	// race 4
}

// A crawl of the past that is interrupted and continues in another process. It goes back in time:
// for races that finish later, use a Follower.
func ExampleCursor() {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(25), horseracingtest.WithSchedule(0))
	defer fake.Close()
	ctx := context.Background()

	pager := fake.Client().Races.Results(horseracing.ResultsQuery{Since: fake.Now().AddDate(-1, 0, 0)})
	first, err := pager.Take(ctx, 10)
	if err != nil {
		log.Fatal(err)
	}
	stored := pager.Cursor().String() // together with the races

	cursor, err := horseracing.ParseCursor(stored)
	if err != nil {
		log.Fatal(err)
	}
	older := fake.Client().Races.Results(horseracing.ResultsQuery{Resume: cursor}) // with the same Since
	rest, err := older.Take(ctx, 1000)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(first), "races, then", len(rest), "older ones:", rest[0].StartTime.Before(first[9].StartTime.Time))
	// Output:
	// 10 races, then 15 older ones: true
}

// CheckEntry names every documented reason why a horse cannot enter a race.
func ExampleRace_CheckEntry() {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	defer fake.Close()
	fake.AddRaces(
		horseracing.Race{MainRaceID: 7, StartTime: inMinutes(fake, 10)},
		horseracing.Race{MainRaceID: 8, StartTime: inMinutes(fake, 10), MinLevel: 90, MaxLevel: 100},
	)
	client, ctx := fake.Client(), context.Background()

	horses, err := client.Horses.Owned(ctx, fake.UserKey(0))
	if err != nil {
		log.Fatal(err)
	}
	races, err := client.Races.Open(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, race := range races {
		if err := race.CheckEntry(&horses[0], fake.Now()); err != nil { // time.Now() in a program
			fmt.Println(err)
			continue
		}
		fmt.Println("race", race.MainRaceID, "is open to", horses[0].Name)
	}
	// Output:
	// race 7 is open to Iron Island
	// horseracing: race 8: level 15 of horse 1 is not accepted (90 to 100)
}

// A program that reports what happens to the open races.
func ExampleRacesService_Watch() {
	fake := horseracingtest.NewServer(horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
	defer fake.Close()
	fake.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: inMinutes(fake, 10), Info: horseracing.RaceInfo{Name: "Dawn"}})

	query := horseracing.WatchQuery{Interval: time.Millisecond} // every 15 seconds without it
	for snapshot, err := range fake.Client().Races.Watch(context.Background(), query) {
		if err != nil {
			slog.Warn("a poll failed; Watch continues", "error", err)
			continue
		}
		for _, change := range snapshot.Changes {
			fmt.Println(change.Race.Info.Name, change.Kind)
			if change.Kind == horseracing.RaceClosed {
				return
			}
			fake.Advance(10 * time.Minute) // it starts
		}
	}
	// Output:
	// Dawn opened
	// Dawn closed
}

// inMinutes returns an instant by the fake's clock, before now if n is negative.
func inMinutes(fake *horseracingtest.Server, n int) horseracing.Timestamp {
	return horseracing.NewTimestamp(fake.Now().Add(time.Duration(n) * time.Minute))
}
