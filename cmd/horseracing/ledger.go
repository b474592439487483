package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

const ledgerHelp = `It shows the entries of FILE, one for each horse and race, the oldest first, also
while a bot writes the file. -settle and -decide need the file for themselves.

Fees are in tokens in tables and in -sum, and in units in the JSON of entries, as FILE
has them.

Examples:
  horseracing ledger paid.jsonl -sum
  horseracing ledger paid.jsonl -settle
  horseracing ledger paid.jsonl -decide entered -horse 7 -race 4711 -note "seen in the game"
`

func showLedger(flags *flag.FlagSet) action {
	sum := flags.Bool("sum", false, "print what was paid in all, today (in UTC), and by state")
	settle := flags.Bool("settle", false, "read the races whose outcome is unknown, until it is certain")
	decide := flags.String("decide", "", "note that a horse is `entered|absent` whose outcome is unknown")
	horse := flags.Int64("horse", 0, "with -decide, the `NUMBER` of the horse")
	race := flags.Int64("race", 0, "with -decide, the main_race_id, a `NUMBER`")
	note := flags.String("note", "", "with -decide, the `TEXT` of how you know")
	return func(ctx context.Context, p *program, args []string) error {
		if *decide == "" {
			if err := exclude(flags, "needs -decide", "horse", "race", "note"); err != nil {
				return err
			}
		}
		state := ledger.State(*decide)
		switch {
		case *sum && *settle, *decide != "" && (*sum || *settle):
			return usageError("-sum, -settle and -decide exclude each other")
		case *settle || *decide != "":
			if *decide != "" && (state != ledger.Entered && state != ledger.Absent || *horse <= 0 || *race <= 0) {
				return usageError("-decide is entered or absent, and needs -horse and -race")
			}
			return changeLedger(ctx, p, args[0], func(l *ledger.Ledger) error {
				if *settle {
					p.say("reading the races until their outcome is certain")
					return l.Settle(ctx)
				}
				return l.Decide(horseracing.HorseNumber(*horse), horseracing.RaceID(*race), state, *note)
			})
		}
		entries, err := ledger.Read(args[0])
		if err != nil {
			return err
		}
		return printEntries(p, entries, *sum)
	}
}

// changeLedger opens a ledger for itself, and shows it afterwards.
func changeLedger(ctx context.Context, p *program, path string, change func(*ledger.Ledger) error) error {
	if _, err := ledger.Read(path); err != nil { // so that a wrong name creates nothing
		return err
	}
	return reading(func(_ context.Context, p *program, s *service, _ []string) error {
		l, err := openLedger(path, s)
		if err != nil {
			return err
		}
		defer l.Close()
		if err := change(l); err != nil {
			return err
		}
		entries, err := ledger.Read(path)
		if err != nil {
			return err
		}
		return printEntries(p, entries, false)
	})(ctx, p, nil)
}

// openLedger opens a ledger, which one process at a time can do.
func openLedger(path string, s *service, options ...ledger.Option) (*ledger.Ledger, error) {
	l, err := ledger.Open(path, s.Client, options...)
	if errors.Is(err, ledger.ErrInUse) {
		return nil, fmt.Errorf("%s is in use by another process: try again when that has ended", path)
	}
	return l, err
}

var entryLayout = layout[ledger.Entry]{
	titles: []string{"TIME (UTC)", "HORSE", "RACE", "FEE (TOKENS)", "STATE", "NOTE"},
	cells: func(e *ledger.Entry) []any {
		return []any{minute(e.Time), e.Horse, e.Race, tokens(e.Fee), e.State, e.Note}
	},
}

// sumOfState is a line of -sum.
type sumOfState struct {
	What string `json:"what"` // a state, or "paid" or "paid today"
	N    int    `json:"entries"`
	Fees string `json:"fees"` // in tokens
}

var sumLayout = layout[sumOfState]{
	titles: []string{"WHAT", "ENTRIES", "FEES (TOKENS)"},
	cells:  func(s *sumOfState) []any { return []any{s.What, s.N, s.Fees} },
}

// printEntries prints entries, or their sums.
func printEntries(p *program, entries []ledger.Entry, summed bool) error {
	if !summed {
		return printList(p, entryLayout, entries, nil)
	}
	today := time.Now().UTC().Truncate(24 * time.Hour)
	isPaid := func(e ledger.Entry) bool {
		return e.State == ledger.Sending || e.State == ledger.Entered || e.State == ledger.Unknown
	}
	lines := []sumOfState{
		sumOf("paid", entries, isPaid),
		sumOf("paid today", entries, func(e ledger.Entry) bool { return isPaid(e) && !e.Time.Before(today) }),
	}
	for _, state := range []ledger.State{ledger.Sending, ledger.Entered, ledger.Unknown, ledger.Refused, ledger.Absent} {
		lines = append(lines, sumOf(fmt.Sprint(state), entries, func(e ledger.Entry) bool { return e.State == state }))
	}
	return printList(p, sumLayout, lines, nil)
}

func sumOf(what string, entries []ledger.Entry, counts func(ledger.Entry) bool) sumOfState {
	var fees horseracing.BigInt
	n := 0
	for _, e := range entries {
		if counts(e) {
			fees = fees.Add(e.Fee)
			n++
		}
	}
	return sumOfState{what, n, tokens(fees)}
}
