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
	"flag"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

const usage = `Usage: quickstart [flags]

Prints the open races, the last results, a horse and its missions. Reads an
embedded fake unless HORSERACING_BASE_URL and HORSERACING_API_KEY are set.

Examples:
  quickstart
  quickstart -horse 7

Flags:
`

func main() { program.Main("quickstart", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	chosen := flags.Int64("horse", 0, "the `NUMBER` of the horse to show (default: the newest winner)")
	if err := program.Parse(flags, usage, args, stderr); err != nil {
		return err
	}
	service, err := program.Connect(stderr, nil, horseracing.WithSkipHandler(func(_ context.Context, err error) {
		fmt.Fprintln(stderr, "quickstart: left out:", err)
	}))
	if err != nil {
		return err
	}
	defer service.Close()
	client, number := service.Client, horseracing.HorseNumber(*chosen)

	races, err := client.Races.Open(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, "\nOpen races") // names are quoted: players choose them
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RACE\tCLOSES (UTC)\tNAME\tFURLONGS\tPLACES\tFEE (TOKENS)")
	for _, r := range races {
		closes := r.RegistrationDeadline.Format(time.DateTime)
		fmt.Fprintf(table, "%d\t%s\t%q\t%d\t%s\t%s\n", r.MainRaceID, closes, r.Info.Name, r.Length, program.Places(&r), program.Tokens(r.EntryFee))
	}
	table.Flush()

	// The tier is named: a query without one reads Omega, not every tier.
	fmt.Fprintln(stdout, "\nThe last twenty results of tier Omega")
	fmt.Fprintln(table, "RACE\tSTARTED (UTC)\tNAME\tFURLONGS\tWINNER")
	results, shown := client.Races.Results(horseracing.ResultsQuery{Tier: horseracing.TierOmega}), 0
	for r, err := range results.All(ctx) {
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
	fmt.Fprintf(stdout, "\nHorse #%d: %q, %s, tier %s, level %d\n", horse.Number, horse.Name, horse.Gender, horse.Tier, horse.Level)
	missions, err := client.Horses.Missions(ctx, number)
	if err != nil {
		return err
	}
	fmt.Fprintln(table, "PERIOD\tMISSION\tTARGET\tPROGRESS (ENTRIES)\tXP\tSUGAR\tCOMPLETED") // what a progress entry is, is undocumented
	for _, m := range missions.Missions {
		fmt.Fprintf(table, "%s\t%q\t%d\t%d\t%d\t%d\t%t\n", m.Type, m.Name, m.Count, len(m.Progress), m.RewardXP, m.RewardSugar, m.Completed)
	}
	return table.Flush()
}
