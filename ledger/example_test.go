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
	"github.com/horseracing-go/horseracing/ledger/sqlite"
)

// A bot that enters a horse into each open race. Each minute it settles what is unknown, and it
// goes on with other races meanwhile. It can be killed and started again at any time.
func Example() {
	fake := horseracingtest.NewServer(horseracingtest.WithSchedule(0)) // a real bot uses horseracing.NewClientFromEnv
	defer fake.Close()
	addRaces(fake, 1, 3)
	fake.Inject(horseracingtest.Fault{Path: "/api/v1/races/register", ResetAfter: true}) // the first response is lost
	dir, _ := os.MkdirTemp("", "ledger")
	defer os.RemoveAll(dir)

	db, err := sqlite.Open(filepath.Join(dir, "races.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	client := fake.Client()
	if err := ledger.Create(context.Background(), db, client); err != nil { // once, by the person who sets the bot up
		log.Fatal(err)
	}
	l, err := ledger.Open(context.Background(), db, client, ledger.WithMaxFee(horseracing.NewBigInt(20)),
		ledger.WithDailyBudget(horseracing.NewBigInt(100), time.UTC))
	if err != nil {
		log.Fatal(err)
	}
	for minute := range 2 { // a real bot runs until its context ends
		fmt.Println("minute", minute)
		if err := l.Settle(context.Background()); err != nil {
			log.Print(err) // says when another reading can help; the fee counts until then
		}
		if err := enterAll(context.Background(), client, l, fake.Horses(0)[0], fake.UserKey(0)); err != nil {
			log.Print(err) // the next minute tries again
		}
		fake.Advance(time.Minute) // a real bot waits
	}
	all, err := l.Entries(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range all {
		fmt.Printf("race %d is %s\n", e.Race, e.State)
	}
	// Output:
	// minute 0
	// race 1: unknown
	// race 2: entered
	// race 3: entered
	// minute 1
	// race 1 is entered
	// race 2 is entered
	// race 3 is entered
}

// enterAll registers the horse in all open races.
func enterAll(ctx context.Context, client *horseracing.Client, l *ledger.Ledger, horse horseracing.HorseNumber, userKey horseracing.UserKey) error {
	races, err := client.Races.Open(ctx)
	if err != nil {
		return err
	}
	for _, race := range races {
		e, err := l.Register(ctx, horseracing.Registration{Horse: horse, Race: race.MainRaceID, UserKey: userKey}, race.EntryFee)
		switch {
		case errors.Is(err, ledger.ErrEntered), errors.Is(err, ledger.ErrUnsettled): // in an earlier minute, or by another process
		case errors.Is(err, ledger.ErrFee): // too high: another race may cost less
		case errors.Is(err, ledger.ErrBudget):
			return nil // for today
		case e.State == "":
			return err // nothing was sent, for example because the ledger cannot be written
		default: // entered, refused or unknown
			fmt.Printf("race %d: %s\n", race.MainRaceID, e.State)
		}
	}
	return nil
}
