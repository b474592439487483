// Quickstart is a first look at the service: the open races, the last results
// of a tier, a horse and its missions.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -horse 7
//
// It reads a fake of the service that lives for this run, unless
// HORSERACING_BASE_URL and HORSERACING_API_KEY are set.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func main() {
	number := flag.Int64("horse", 0, "the `NUMBER` of the horse to show (default: the newest winner)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := show(ctx, horseracing.HorseNumber(*number))
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "quickstart: stopped")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func show(ctx context.Context, number horseracing.HorseNumber) error {
	client, closeService, err := connect()
	if err != nil {
		return err
	}
	defer closeService()

	races, err := client.Races.Open(ctx)
	if errors.Is(err, horseracing.ErrHole) { // a race cannot be read; the others are in races
		fmt.Fprintln(os.Stderr, "quickstart: left out:", err)
	} else if err != nil {
		return err
	}
	fmt.Println("\nOpen races") // names are quoted: players choose them
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RACE\tCLOSES (UTC)\tNAME\tFURLONGS\tFREE PLACES\tFEE (TOKENS)")
	for _, r := range races {
		closes := r.RegistrationDeadline.Format(time.DateTime)
		fmt.Fprintf(table, "%d\t%s\t%q\t%d\t%d\t%s\n", r.MainRaceID, closes, r.Info.Name, r.Length, r.FreePlaces(), r.EntryFee.Decimal(18))
	}
	table.Flush()

	// The tier is named: a query without one reads Omega, not every tier.
	fmt.Println("\nThe last twenty results of tier Omega")
	fmt.Fprintln(table, "RACE\tSTARTED (UTC)\tNAME\tFURLONGS\tWINNER")
	results, shown := client.Races.Results(horseracing.ResultsQuery{Tier: horseracing.TierOmega}), 0
	for r, err := range results.All(ctx) {
		if errors.Is(err, horseracing.ErrHole) { // one entry cannot be read; the rest follows
			fmt.Fprintln(os.Stderr, "quickstart: left out:", err)
			continue
		}
		if err != nil {
			return err
		}
		winner, _ := r.Winner()
		if number == 0 {
			number = winner.Number
		}
		started := r.StartTime.Format(time.DateTime)
		fmt.Fprintf(table, "%d\t%s\t%q\t%d\t#%d\n", r.MainRaceID, started, r.Info.Name, r.Length, winner.Number)
		if shown++; shown == 20 {
			break
		}
	}
	table.Flush()
	if number == 0 {
		return nil // there are no results, and so no winner
	}

	horse, err := client.Horses.Get(ctx, number)
	if err != nil {
		return err
	}
	fmt.Printf("\nHorse #%d: %q, %s, tier %s, level %d\n", horse.Number, horse.Name, horse.Gender, horse.Tier, horse.Level)
	missions, err := client.Horses.Missions(ctx, number)
	if err != nil {
		return err
	}
	fmt.Fprintln(table, "PERIOD\tMISSION\tTARGET\tXP\tCOMPLETED")
	for _, m := range missions.Missions {
		fmt.Fprintf(table, "%s\t%q\t%d\t%d\t%t\n", m.Type, m.Name, m.Count, m.RewardXP, m.Completed)
	}
	return table.Flush()
}

// connect returns a client of the service that the environment names, or else
// of an embedded fake.
func connect() (client *horseracing.Client, closeService func(), err error) {
	url := os.Getenv("HORSERACING_BASE_URL")
	if url == "" && os.Getenv("HORSERACING_API_KEY") == "" {
		fmt.Fprintln(os.Stderr, "Service: an embedded fake (for the real one set HORSERACING_BASE_URL and HORSERACING_API_KEY)")
		fake := horseracingtest.NewServer(horseracingtest.WithClock(time.Now))
		return fake.Client(), fake.Close, nil
	}
	client, err = horseracing.NewClientFromEnv()
	if err == nil {
		fmt.Fprintln(os.Stderr, "Service:", client.BaseURL())
	}
	return client, func() {}, err
}
