package horseracing_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// The short races that a horse could enter now.
func ExampleRacesService_Open() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	client := fake.Client()
	ctx := context.Background()

	horse, err := client.Horses.Get(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	races, err := client.Races.Open(ctx)
	if err != nil {
		log.Fatal(err)
	}
	now := fake.Now() // time.Now in a program
	for _, race := range races {
		if race.Length > 3 || race.FreePlaces() == 0 || !race.RegistrationOpenAt(now) || !race.AcceptsLevel(horse.Level) {
			continue
		}
		fmt.Printf("%s, %d furlongs: %d places left, until %s\n",
			race.Info.Name, race.Length, race.FreePlaces(), race.RegistrationDeadline.Format(time.TimeOnly))
	}
	// Output:
	// Northern Mile, 2 furlongs: 6 places left, until 12:21:00
	// Clover Cup, 3 furlongs: 10 places left, until 12:36:00
	// Clover Cup, 2 furlongs: 12 places left, until 12:29:00
}

// A user's horses that can breed now.
func ExampleHorsesService_Owned() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	client := fake.Client()
	userKey := fake.UserKey(0) // horseracing.UserKey(os.Getenv("USER_KEY")) in a program

	horses, err := client.Horses.Owned(context.Background(), userKey)
	if err != nil {
		log.Fatal(err)
	}
	for _, horse := range horses {
		if horse.CanBreedAt(fake.Now()) {
			fmt.Println(horse.Number, horse.Name)
		}
	}
	fmt.Println("the key does not print:", userKey)
	// Output:
	// 1 Bold Echo
	// 2 Bold Echo
	// 4 Iron Jester
	// 5 Amber Breeze
	// the key does not print: [redacted]
}

// Registering spends the race's entry fee. A refusal is an error like any
// other; when the answer is lost, see the example of Registered.
func ExampleRacesService_Register() {
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0))
	defer fake.Close()
	fake.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: horseracing.NewTimestamp(fake.Now().Add(10 * time.Minute))})
	client := fake.Client()
	ctx := context.Background()

	entry := horseracing.Registration{Horse: fake.Horses(0)[0], Race: 7, UserKey: fake.UserKey(0)}
	receipt, err := client.Races.Register(ctx, entry)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("registered, with status", receipt.StatusCode)

	_, err = client.Races.Register(ctx, entry)
	var refusal *horseracing.APIError
	if errors.As(err, &refusal) {
		fmt.Println("refused:", refusal.Message)
	}
	// Output:
	// registered, with status 200
	// refused: horse 1 is registered in race 7 already
}

// The connection breaks while the service registers a horse. Is the fee spent?
// The SDK does not send the registration again: that might pay twice.
func ExampleRacesService_Registered() {
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0))
	defer fake.Close()
	fake.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: horseracing.NewTimestamp(fake.Now().Add(10 * time.Minute))})
	fake.Inject(horseracingtest.Fault{Method: "POST", ResetAfter: true})
	client := fake.Client()
	ctx := context.Background()

	entry := horseracing.Registration{Horse: fake.Horses(0)[0], Race: 7, UserKey: fake.UserKey(0)}
	_, err := client.Races.Register(ctx, entry)
	switch {
	case err == nil:
		fmt.Println("registered")
	case errors.Is(err, horseracing.ErrOutcomeUnknown):
		registered, err := client.Races.Registered(ctx, entry.Race, entry.Horse)
		if err != nil {
			log.Fatal(err) // still unknown: ask again later
		}
		fmt.Println("the answer was lost; registered:", registered)
	default:
		log.Fatal(err) // not registered
	}
	// Output:
	// the answer was lost; registered: true
}

// Amounts are exact at any size. That this one counts in units of 10^-18 is
// the caller's knowledge; the interface document shows no unit.
func ExampleBigInt_Decimal() {
	var fee horseracing.BigInt
	if err := fee.UnmarshalText([]byte("2500000000000000000001")); err != nil {
		log.Fatal(err)
	}
	fmt.Println(fee)
	fmt.Println(fee.Decimal(18))
	// Output:
	// 2500000000000000000001
	// 2500.000000000000000001
}
