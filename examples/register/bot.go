package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
	"github.com/horseracing-go/horseracing/ledger"
)

// bot enters horses into races by rules.
type bot struct {
	client  *horseracing.Client
	ledger  *ledger.Ledger
	userKey horseracing.UserKey // empty in a dry run
	horses  []horseracing.HorseNumber
	rules   rules
	out     io.Writer
	refused map[string]bool   // pairs that the service refused; not sent again in this run
	printed map[string]string // the last line about each pair
}

// run makes a round and settles what is unknown; with an interval again and again,
// until the context ends, the key is refused or the ledger cannot be written.
func (b *bot) run(ctx context.Context, interval time.Duration) error {
	for {
		err := b.round(ctx)
		_, isFile := errors.AsType[*fs.PathError](err)
		if isFile || errors.Is(err, horseracing.ErrUnauthorized) || err != nil && interval == 0 || ctx.Err() != nil {
			return cmp.Or(ctx.Err(), err)
		}
		if interval == 0 {
			return b.settle(ctx)
		}
		if err != nil {
			b.print("", "%v; next round in %v", err, interval)
		}
		pause, cancel := context.WithTimeout(ctx, interval)
		_ = b.settle(pause) // what stays unknown is settled in the next pause
		<-pause.Done()
		cancel()
	}
}

// round decides about every horse and every open race, the cheapest first.
func (b *bot) round(ctx context.Context) error {
	horses, err := b.client.Horses.GetMany(ctx, b.horses)
	if err != nil {
		return err
	}
	open, err := b.client.Races.Open(ctx)
	if errors.Is(err, horseracing.ErrHole) {
		b.print("", "left out: %v", err)
	} else if err != nil {
		return err
	}
	slices.SortFunc(open, compare)
	for _, number := range b.horses {
		horse := horses[number]
		if horse == nil {
			return fmt.Errorf("there is no horse #%d", number)
		}
		others := 0
		for _, race := range open {
			if race.Has(number) {
				others++
			}
		}
		for _, race := range open {
			isEntered, err := b.decide(ctx, horse, &race, others)
			if err != nil {
				return err
			}
			if isEntered {
				others++
			}
		}
	}
	return nil
}

// decide enters the horse into the race, or prints why not.
func (b *bot) decide(ctx context.Context, horse *horseracing.Horse, race *horseracing.Race, others int) (isEntered bool, err error) {
	p := pair(horse.Number, race.MainRaceID)
	r := horseracing.Registration{Horse: horse.Number, Race: race.MainRaceID, UserKey: cmp.Or(b.userKey, "of a dry run")}
	against := b.rules.against(race, horse, others, time.Now())
	if against == "" && b.refused[p] {
		against = "the service refused it"
	}
	if against == "" {
		if against, err = b.check(r, race.EntryFee); err != nil {
			return false, err
		}
	}
	if against != "" {
		b.print(p, "skip: %s", against)
		return false, nil
	}
	b.print(p, "fits: %q, %s, %s, levels %s, %s free, closes at %s", race.Info.Name, program.Price(race.EntryFee),
		count(race.Length, "furlong"), program.Levels(race), count(race.FreePlaces(), "place"), clock(race.RegistrationDeadline.Time))
	if b.userKey == "" {
		return true, nil
	}
	e, err := b.ledger.Register(ctx, r, race.EntryFee)
	if err != nil && e.Note == "" { // the ledger could not be written
		return false, err
	}
	b.print(p, "%s %s", e.State, e.Note)
	_, isResponse := errors.AsType[*horseracing.APIError](err)
	b.refused[p] = e.State == ledger.Refused && isResponse && !errors.Is(err, horseracing.ErrRateLimited)
	if errors.Is(err, horseracing.ErrUnauthorized) || ctx.Err() != nil {
		return false, cmp.Or(ctx.Err(), err)
	}
	return e.State != ledger.Refused, nil
}

// check returns why the ledger would not send the registration, or "".
func (b *bot) check(r horseracing.Registration, fee horseracing.BigInt) (reason string, err error) {
	err = b.ledger.Check(r, fee)
	for _, reason := range []error{ledger.ErrFee, ledger.ErrEntered, ledger.ErrUnsettled, ledger.ErrBudget} {
		if errors.Is(err, reason) {
			return reason.Error(), nil
		}
	}
	return "", err
}

// settle finds out what became of registrations whose outcome is unknown.
func (b *bot) settle(ctx context.Context) error {
	unknown := b.unknown()
	if len(unknown) == 0 || b.userKey == "" {
		return ctx.Err()
	}
	for _, e := range unknown {
		until := ""
		if race, err := b.client.Races.Get(ctx, e.Race); err == nil {
			until = " until " + clock(race.RegistrationDeadline.Add(2*time.Minute)) + " at the latest"
		}
		b.print(pair(e.Horse, e.Race), "settling%s; Ctrl-C is safe", until)
	}
	err := b.ledger.Settle(ctx)
	for e := range b.ledger.Entries() {
		if slices.ContainsFunc(unknown, func(u ledger.Entry) bool { return u.Horse == e.Horse && u.Race == e.Race }) {
			b.print(pair(e.Horse, e.Race), "%s %s", e.State, e.Note)
		}
	}
	if err != nil {
		return fmt.Errorf("%s not settled: run again to settle", count(len(b.unknown()), "registration"))
	}
	return nil
}

func (b *bot) unknown() []ledger.Entry {
	return slices.DeleteFunc(slices.Collect(b.ledger.Entries()), func(e ledger.Entry) bool { return e.State != ledger.Unknown })
}

// print prints a line about a pair, unless it is the same as the last one.
func (b *bot) print(pair, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if b.printed[pair] != line {
		fmt.Fprintf(b.out, "%s  %s%s\n", time.Now().UTC().Format(time.TimeOnly), pair, line)
	}
	b.printed[pair] = line
}

func pair(horse horseracing.HorseNumber, race horseracing.RaceID) string {
	return fmt.Sprintf("horse #%d, race %d: ", horse, race)
}

func clock(t time.Time) string { return t.UTC().Format("15:04 UTC") }
