// Quickstart is a first look at the service: the open races, the last results of tier
// Omega, and the newest winner with its missions.
//
//	go run ./examples/quickstart
//
// If the connection is lost, requests are retried for a few seconds, then the program ends.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if os.Getenv("HORSERACING_BASE_URL") == "" {
		log.Print("HORSERACING_BASE_URL is not set: reading a fake of the service")
		fake := horseracingtest.NewServer()
		os.Setenv("HORSERACING_BASE_URL", fake.URL)
		os.Setenv("HORSERACING_API_KEY", fake.APIKey)
	}
	client, err := horseracing.NewClientFromEnv()
	if err != nil {
		log.Fatal(err)
	}
	if err := look(ctx, client, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func look(ctx context.Context, client *horseracing.Client, out io.Writer) error {
	var response horseracing.Response
	open, err := client.Races.Open(ctx, horseracing.CaptureResponse(&response))
	if err != nil {
		return err
	}
	now, err := http.ParseTime(response.Header.Get("Date")) // by the clock that decides about deadlines
	if err != nil {
		now = time.Now()
	}
	fmt.Fprintf(out, "It is %v for the service. Open races:\n", now.UTC())
	for _, race := range open {
		closes := "closed"
		if race.RegistrationOpenAt(now) {
			closes = "in " + race.RegistrationDeadline.Sub(now).Truncate(time.Second).String()
		}
		// %q, because players choose the names
		fmt.Fprintf(out, "%-9s %d %q closes at %v, fee %s tokens\n", closes, race.MainRaceID, race.Info.Name, race.RegistrationDeadline, race.EntryFee.FormatUnits(horseracing.TokenDecimals))
	}

	var winners []horseracing.HorseNumber
	results := client.Races.Results(horseracing.ResultsQuery{Tier: horseracing.TierOmega})
	fmt.Fprintln(out, "\nThe last twenty results of tier Omega:")
	for race, err := range results.All(ctx) { // the newest first; the pager fetches the pages
		if err != nil {
			return err
		}
		winner, _ := race.Winner()
		fmt.Fprintf(out, "%d %q at %v, won by horse %d\n", race.MainRaceID, race.Info.Name, race.StartTime, winner.Number)
		if winners = append(winners, winner.Number); len(winners) == 20 {
			break
		}
	}
	if len(winners) == 0 {
		return nil
	}

	horse, err := client.Horses.Get(ctx, winners[0])
	if err != nil {
		return err
	}
	missions, err := client.Horses.Missions(ctx, winners[0])
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nHorse %d, %q, level %d, has these missions:\n", horse.Number, horse.Name, horse.Level)
	for _, m := range missions.Missions {
		fmt.Fprintf(out, "%s %q: %d XP, %d sugar, completed: %t\n", m.Type, m.Name, m.RewardXP, m.RewardSugar, m.Completed)
	}
	return nil
}
