package horseracing_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
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

// Registering spends the race's entry fee. Where the response is lost, the SDK
// does not send the registration again, for that might pay twice: Settle reports
// whether it took effect, and only its false makes it safe to register again.
func ExampleRacesService_Register() {
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0))
	defer fake.Close()
	fake.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: inMinutes(fake, 10)})
	fake.Inject(horseracingtest.Fault{Method: http.MethodPost, ResetBefore: true}) // the connection breaks
	client := fake.Client()
	ctx := context.Background()

	entry := horseracing.Registration{Horse: fake.Horses(0)[0], Race: 7, UserKey: fake.UserKey(0)}
	receipt, err := client.Races.Register(ctx, entry)
	var refusal *horseracing.APIError
	switch {
	case err == nil:
		fmt.Println("registered, with status", receipt.StatusCode)
	case errors.Is(err, horseracing.ErrOutcomeUnknown):
		fake.Advance(12 * time.Minute) // otherwise Settle waits until the race's deadline has passed
		registered, err := client.Races.Settle(ctx, entry.Race, entry.Horse)
		switch {
		case err != nil:
			log.Fatal(err) // still unknown: call Settle again
		case registered:
			fmt.Println("registered, although the response was lost")
		default:
			fmt.Println("not registered, and no fee is spent")
		}
	case errors.As(err, &refusal):
		fmt.Println("refused:", refusal.Message)
	default:
		log.Fatal(err) // not sent
	}
	// Output:
	// not registered, and no fee is spent
}

// The service registers the horse, and the response is lost. Settle finds the
// horse in the race at once; where it does not, it goes on until a minute after
// the race's deadline, or until the context ends.
func ExampleRacesService_Settle() {
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0))
	defer fake.Close()
	fake.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: inMinutes(fake, 10)})
	fake.Inject(horseracingtest.Fault{Method: http.MethodPost, ResetAfter: true})
	client := fake.Client()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	entry := horseracing.Registration{Horse: fake.Horses(0)[0], Race: 7, UserKey: fake.UserKey(0)}
	_, err := client.Races.Register(ctx, entry)
	fmt.Println("outcome unknown:", errors.Is(err, horseracing.ErrOutcomeUnknown))

	registered, err := client.Races.Settle(ctx, entry.Race, entry.Horse)
	fmt.Println("registered:", registered, err)
	// Output:
	// outcome unknown: true
	// registered: true <nil>
}

// Whether a horse is in a race at this moment. After a registration whose
// outcome is unknown, use Settle: a false of Registered may still become true.
func ExampleRacesService_Registered() {
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0))
	defer fake.Close()
	fake.AddRaces(horseracing.Race{MainRaceID: 7, StartTime: inMinutes(fake, 10), Participants: []horseracing.RaceParticipant{{Number: 12}}})
	client := fake.Client()

	for _, horse := range []horseracing.HorseNumber{12, 13} {
		registered, err := client.Races.Registered(context.Background(), 7, horse)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("horse", horse, "is in the race:", registered)
	}
	// Output:
	// horse 12 is in the race: true
	// horse 13 is in the race: false
}

// Amounts are exact at any size. That this one counts in units of 10^-18 is
// the caller's knowledge; the unit is undocumented.
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
