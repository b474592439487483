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
	client   *horseracing.Client
	ledger   *ledger.Ledger
	userKey  horseracing.UserKey
	isDryRun bool
	horses   []horseracing.HorseNumber
	atOnce   int // races that a horse is in at the same time
	out      io.Writer
	refused  map[string]bool   // pairs that the service refused; not sent again in this run
	printed  map[string]string // the last line about each pair
	lines    int               // printed in all
}

// run makes a round and settles what is unknown. With an interval it repeats this until
// the context ends, the key is refused or the ledger cannot be written.
func (b *bot) run(ctx context.Context, interval time.Duration) error {
	for {
		before := b.lines
		err := b.round(ctx)
		_, isFile := errors.AsType[*fs.PathError](err)
		if isFile || errors.Is(err, horseracing.ErrUnauthorized) || err != nil && interval == 0 || ctx.Err() != nil {
			return cmp.Or(ctx.Err(), err)
		}
		if interval == 0 {
			return b.settle(ctx, b.ledger.Settle)
		}
		if err != nil {
			b.print("", "%v; next round in %v", err, interval)
		}
		if b.lines == before {
			fmt.Fprintf(b.out, "%s  nothing changed; next round in %v\n", time.Now().UTC().Format(time.TimeOnly), interval)
		}
		pause, cancel := context.WithTimeout(ctx, interval)
		_ = b.settle(pause, b.ledger.Settle) // what stays unknown is settled in the next pause
		<-pause.Done()
		cancel()
	}
}

// round decides about every horse and every open race, the cheapest first.
func (b *bot) round(ctx context.Context) error {
	races, err := b.client.Races.Open(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(races, compare)
	for _, number := range b.horses {
		horse, err := b.client.Horses.Get(ctx, number)
		if err != nil {
			return err
		}
		others := 0
		for _, race := range races {
			if race.Has(number) {
				others++
			}
		}
		for _, race := range races {
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
	reason := against(race, horse, others, b.atOnce, time.Now())
	if b.refused[p] {
		reason = "the service refused it"
	}
	if reason != "" {
		b.print(p, "skip: %s", reason)
		return false, nil
	}
	r := horseracing.Registration{Horse: horse.Number, Race: race.MainRaceID, UserKey: b.userKey}
	e := ledger.Entry{State: "fits"}
	if b.isDryRun {
		err = b.ledger.Check(r, race.EntryFee)
	} else {
		e, err = b.ledger.Register(ctx, r, race.EntryFee)
	}
	for _, reason := range []error{ledger.ErrFee, ledger.ErrEntered, ledger.ErrUnsettled, ledger.ErrBudget} {
		if errors.Is(err, reason) {
			_, held := ledger.Sum(b.ledger.Entries(), time.Time{}) // it counts until its outcome is known
			b.print(p, "skip: %v (%s; perhaps paid: %s)", reason, program.Tokens(race.EntryFee), program.Tokens(held))
			return false, nil
		}
	}
	if err != nil && e.Note == "" { // the ledger could not be written
		return false, err
	}
	b.print(p, "%s: %q, fee %s, %s free, closes at %s %s", e.State, race.Info.Name, program.Tokens(race.EntryFee),
		count(race.FreePlaces(), "place"), clock(race.RegistrationDeadline.Time), e.Note)
	if errors.Is(err, horseracing.ErrUnauthorized) || ctx.Err() != nil {
		return false, cmp.Or(ctx.Err(), err)
	}
	if e.State == ledger.Unknown { // the race may list the horse already; else the next round continues without this fee
		_ = b.settle(ctx, b.ledger.Settle)
	}
	b.refused[p] = e.State == ledger.Refused && !errors.Is(err, horseracing.ErrRateLimited)
	return !b.isDryRun && e.State != ledger.Refused, nil
}

// settle finds out what became of registrations whose outcome is unknown.
func (b *bot) settle(ctx context.Context, settle func(context.Context) error) error {
	if b.isDryRun {
		return nil
	}
	unknown := map[string]bool{}
	for e := range b.ledger.Entries() {
		if p := pair(e.Horse, e.Race); e.State == ledger.Unknown {
			b.print(p, "perhaps paid: reading the race; Ctrl-C is safe")
			unknown[p] = true
		}
	}
	err := settle(ctx)
	for e := range b.ledger.Entries() {
		if p := pair(e.Horse, e.Race); unknown[p] && e.State != ledger.Unknown {
			b.print(p, "%s %s", e.State, e.Note)
		}
	}
	return err
}

// print prints a line about a pair, unless it is the same as the last one.
func (b *bot) print(pair, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if b.printed[pair] != line {
		fmt.Fprintf(b.out, "%s  %s%s\n", time.Now().UTC().Format(time.TimeOnly), pair, line)
		b.lines++
	}
	b.printed[pair] = line
}

func pair(horse horseracing.HorseNumber, race horseracing.RaceID) string {
	return fmt.Sprintf("horse #%d, race %d: ", horse, race)
}

func clock(t time.Time) string { return t.UTC().Format("15:04 UTC") }
