package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
	"github.com/horseracing-go/horseracing/ledger"
)

// report prints what the entered races cost and, by the results of a tier, what they
// won.
func report(ctx context.Context, client *horseracing.Client, l *ledger.Ledger, tier horseracing.TierID, w io.Writer) error {
	query := horseracing.ResultsQuery{Tier: tier, Since: time.Now()}
	entered := map[string]ledger.Entry{}
	for e := range l.Entries() {
		if e.State == ledger.Entered {
			entered[pair(e.Horse, e.Race)] = e
		}
		if e.Time.Before(query.Since) {
			query.Since = e.Time
		}
	}
	fmt.Fprintln(w, "\nFinished races")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RACE\tHORSE\tFEE (TOKENS)\tPLACE\tPRIZE (TOKENS)")
	for race, err := range client.Races.Results(query).All(ctx) {
		if err != nil {
			return err
		}
		finishers, err := race.Finishers()
		if err != nil {
			return err
		}
		for i, finisher := range finishers {
			p := pair(finisher.Number, race.MainRaceID)
			if e, isOurs := entered[p]; isOurs {
				var prize horseracing.Number
				if i < len(race.Prizes) {
					prize = race.Prizes[i]
				}
				fmt.Fprintf(table, "%d\t%d\t%s\t%d\t%s\n", e.Race, e.Horse, program.Tokens(e.Fee), i+1, prize.FormatUnits(18))
				delete(entered, p)
			}
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	paid, held := ledger.Sum(l.Entries(), time.Time{})
	_, err := fmt.Fprintf(w, "\n%s entered and not in these results. Tokens paid in all: %s; perhaps: %s\n", count(len(entered), "race"), program.Tokens(paid), program.Tokens(held))
	return err
}
