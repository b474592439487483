package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

// A program that registers a horse for the cheapest open race, and can be killed and
// started again at any time.
func Example() {
	fake := horseracingtest.NewServer() // a real program uses horseracing.NewClientFromEnv
	defer fake.Close()
	client, horse, userKey := fake.Client(), fake.Horses(0)[0], fake.UserKey(0)
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "races.ledger")

	if err := registerCheapest(context.Background(), client, path, horse, userKey); err != nil {
		log.Fatal(err)
	}
	err = registerCheapest(context.Background(), client, path, horse, userKey)
	fmt.Println("again:", errors.Is(err, ledger.ErrEntered))
	// Output:
	// entered
	// again: true
}

// What a bot does with each reason that the ledger has against a registration.
func ExampleLedger_Check() {
	fake := horseracingtest.NewServer()
	defer fake.Close()
	client, horses, userKey := fake.Client(), fake.Horses(0), fake.UserKey(0)
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := ledger.Open(filepath.Join(dir, "races.ledger"), client, ledger.WithMaxFee(horseracing.NewBigInt(20)), ledger.WithBudget(horseracing.NewBigInt(25)))
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()

	for race, fee := range []int64{21, 20, 10} {
		r := horseracing.Registration{Horse: horses[0], Race: horseracing.RaceID(race + 1), UserKey: userKey}
		err := l.Check(r, horseracing.NewBigInt(fee))
		limit, _ := errors.AsType[*ledger.LimitError](err)
		switch {
		case err == nil:
			fmt.Println("register for", fee)
		case errors.Is(err, ledger.ErrEntered):
			continue // paid, perhaps before a restart
		case errors.Is(err, ledger.ErrUnsettled):
			continue // Settle finds out
		case errors.Is(err, ledger.ErrFee) && limit != nil:
			fmt.Println("too expensive:", limit.Amount) // another race may cost less
		case errors.Is(err, ledger.ErrBudget):
			return // nothing that costs as much can be registered any more
		default:
			log.Fatal(err)
		}
	}
	// Output:
	// too expensive: 21
	// register for 20
	// register for 10
}

func registerCheapest(ctx context.Context, client *horseracing.Client, path string, horse horseracing.HorseNumber, userKey horseracing.UserKey) error {
	perDay, err := horseracing.ParseUnits("100", 18) // 100 tokens, if a token has 18 decimal places
	if err != nil {
		return err
	}
	l, err := ledger.Open(path, client, ledger.WithDailyBudget(perDay, time.UTC))
	if err != nil {
		return err
	}
	defer l.Close()

	// Find out what became of registrations that an earlier run did not finish. What stays
	// unknown counts against the budget.
	if err := l.Settle(ctx); err != nil {
		log.Print(err)
	}

	races, err := client.Races.Open(ctx)
	if err != nil {
		return err
	}
	if len(races) == 0 {
		return errors.New("there is no open race")
	}
	cheapest := races[0]
	for _, race := range races {
		if race.EntryFee.Cmp(cheapest.EntryFee) < 0 {
			cheapest = race
		}
	}
	r := horseracing.Registration{Horse: horse, Race: cheapest.MainRaceID, UserKey: userKey}
	entry, err := l.Register(ctx, r, cheapest.EntryFee)
	if errors.Is(err, horseracing.ErrOutcomeUnknown) {
		return l.Settle(ctx) // its error says when to settle again; until then nothing is sent again
	}
	if err != nil {
		return err
	}
	fmt.Println(entry.State)
	return nil
}
