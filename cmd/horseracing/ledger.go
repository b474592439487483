package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/database"
	"github.com/horseracing-go/horseracing/cmd/internal/units"
	"github.com/horseracing-go/horseracing/ledger"
)

// ledgerOptions are the flags of the command ledger.
type ledgerOptions struct {
	create, sum, settle bool
	decide, note        string
	horse               horseracing.HorseNumber
	race                horseracing.RaceID
}

func (p *program) ledgerCommand() *cobra.Command {
	var o ledgerOptions
	c := p.command("ledger FILE", "What a ledger has paid", cobra.ExactArgs(1), func(c *cobra.Command, args []string) error {
		if err := o.check(c.Flags()); err != nil {
			return err
		}
		if o.create || o.settle || o.decide != "" {
			return p.withService(c, args, func(ctx context.Context, s *service, args []string) error {
				return changeLedger(ctx, p, s, args[0], o)
			})
		}
		entries, err := database.Read(c.Context(), args[0])
		switch {
		case err != nil:
			return err
		case o.sum:
			return printList(p, sumLayout, append(sums(entries), sumsByDay(entries)...), nil)
		}
		return printLedger(p, args[0], entries)
	})
	flags := c.Flags()
	flags.BoolVar(&o.create, "create", false, "make the ledger, in a new file, or in the PostgreSQL database of a URL")
	flags.BoolVar(&o.sum, "sum", false, "print what was paid in all, today, by state, and by day (in UTC)")
	flags.BoolVar(&o.settle, "settle", false, "read once the races of registrations whose outcome is unknown, and record the outcomes")
	flags.StringVar(&o.decide, "decide", "", "record that the unknown outcome is `entered|absent`")
	numberFlag(flags, &o.horse, "horse", "with --decide, the `NUMBER` of the horse")
	numberFlag(flags, &o.race, "race", "with --decide, the main_race_id, a `NUMBER`")
	flags.StringVar(&o.note, "note", "", "with --decide, a `TEXT` that says how you know")
	p.serviceFlags(flags, false)
	c.MarkFlagsMutuallyExclusive("create", "sum", "settle", "decide")
	return c
}

// check refuses flags that contradict each other.
func (o *ledgerOptions) check(flags *pflag.FlagSet) error {
	if o.decide == "" {
		return needs(flags, "--decide", "horse", "race", "note")
	}
	isState := o.decide == string(ledger.Entered) || o.decide == string(ledger.Absent)
	if !isState || o.horse == 0 || o.race == 0 {
		return usageError("--decide is entered or absent, and needs --horse and --race")
	}
	return nil
}

// changeLedger makes a ledger, or settles or decides what is unknown in one and shows it.
func changeLedger(ctx context.Context, p *program, s *service, path string, o ledgerOptions) error {
	if o.create {
		return database.Create(ctx, path, s.Client)
	}
	l, db, err := database.Ledger(ctx, path, s.Client)
	if err != nil {
		return err
	}
	defer db.Close()
	if o.settle {
		err = l.Settle(ctx)
	} else {
		err = l.Decide(ctx, o.horse, o.race, ledger.State(o.decide), o.note)
	}
	entries, failed := l.Entries(context.WithoutCancel(ctx))
	return printList(p, entryLayout, entries, errors.Join(err, failed))
}

var entryLayout = layout[ledger.Entry]{fields: []field[ledger.Entry]{
	moment("TIME (UTC)", func(e *ledger.Entry) time.Time { return e.Time }),
	whole("HORSE", func(e *ledger.Entry) horseracing.HorseNumber { return e.Horse }),
	whole("RACE", func(e *ledger.Entry) horseracing.RaceID { return e.Race }),
	amount("FEE (TOKENS)", func(e *ledger.Entry) horseracing.BigInt { return e.Fee }),
	words("STATE", func(e *ledger.Entry) ledger.State { return e.State }),
	words("NOTE", func(e *ledger.Entry) string { return e.Note }),
}}

// printLedger prints entries, what outcomes wait for, and in tables also what was paid on each day.
func printLedger(p *program, path string, entries []ledger.Entry) error {
	if slices.ContainsFunc(entries, isOpen) {
		p.say(fmt.Sprintf("what is sending or unknown waits until its race lists the horse, or an hour after the start only others; "+
			"until then the fee counts as paid: horseracing ledger %s --settle reads the races", database.Name(path)))
	}
	if err := printList(p, entryLayout, entries, nil); err != nil || p.printsJSON() || len(entries) == 0 {
		return err
	}
	return printList(p, sumLayout, sumsByDay(entries), nil)
}

// sumOfState is a line of --sum.
type sumOfState struct {
	What string `json:"what"` // a state, or "paid" or "perhaps paid", in all, today or on a day
	N    int    `json:"entries"`
	Fees string `json:"fees"` // in tokens
}

var sumLayout = layout[sumOfState]{fields: []field[sumOfState]{
	words("WHAT", func(s *sumOfState) string { return s.What }),
	whole("ENTRIES", func(s *sumOfState) int { return s.N }),
	words("FEES (TOKENS)", func(s *sumOfState) string { return s.Fees }).toTheRight(),
}}

func isPaid(e ledger.Entry) bool { return e.State == ledger.Entered }

func isOpen(e ledger.Entry) bool { return e.State == ledger.Sending || e.State == ledger.Unknown }

// sumsByDay returns what was paid, and perhaps paid, on each day on which entries were sent.
func sumsByDay(entries []ledger.Entry) (lines []sumOfState) {
	dayOf := func(e ledger.Entry) string { return e.Time.UTC().Format(time.DateOnly) }
	days := map[string][]ledger.Entry{}
	for _, e := range entries {
		days[dayOf(e)] = append(days[dayOf(e)], e)
	}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		lines = append(lines, sumOf("paid on "+day, days[day], isPaid))
		if slices.ContainsFunc(days[day], isOpen) {
			lines = append(lines, sumOf("perhaps paid on "+day, days[day], isOpen))
		}
	}
	return lines
}

// sums returns the sums of all entries.
func sums(entries []ledger.Entry) []sumOfState {
	today := time.Now().UTC().Truncate(24 * time.Hour)
	lines := []sumOfState{
		sumOf("paid", entries, isPaid),
		sumOf("perhaps paid", entries, isOpen),
		sumOf("paid today", entries, func(e ledger.Entry) bool { return isPaid(e) && !e.Time.Before(today) }),
		sumOf("perhaps paid today", entries, func(e ledger.Entry) bool { return isOpen(e) && !e.Time.Before(today) }),
	}
	for _, state := range []ledger.State{ledger.Sending, ledger.Entered, ledger.Unknown, ledger.Refused, ledger.Absent} {
		lines = append(lines, sumOf(fmt.Sprint(state), entries, func(e ledger.Entry) bool { return e.State == state }))
	}
	return lines
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
	return sumOfState{What: what, N: n, Fees: units.Format(fees)}
}
