package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

// bot decides, pays and settles.
type bot struct {
	client  *horseracing.Client
	userKey horseracing.UserKey
	journal *journal
	horses  []horseracing.HorseNumber
	rules   rules
	pay     bool
	reached func(step string) // the points between which it may be killed

	mu       sync.Mutex
	out      io.Writer
	reported map[pair]string // the last decision printed, so that only a new one is
	settling map[pair]bool   // being settled, or left to the next run
	settlers sync.WaitGroup
}

// once makes one round, and then waits until everything is settled.
func (b *bot) once(ctx context.Context) error {
	if err := b.round(ctx); err != nil {
		return err
	}
	if !b.pay {
		b.print("Dry run: nothing was sent. Register and pay with -yes.")
		return nil
	}
	if err := b.settle(ctx); err != nil {
		return err
	}
	b.settlers.Wait()
	open, err := b.journal.unsettled(context.WithoutCancel(ctx))
	if err == nil && len(open) > 0 {
		err = fmt.Errorf("%d registration(s) are not settled: run again to settle them", len(open))
	}
	return cmp.Or(ctx.Err(), err)
}

// forever makes a round every so often, until the context ends. A round that
// fails is printed, except for a key that is refused, which ends it.
func (b *bot) forever(ctx context.Context, every time.Duration) error {
	defer b.settlers.Wait()
	last := ""
	for ctx.Err() == nil {
		err := b.settle(ctx)
		if err == nil {
			err = b.round(ctx)
		}
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, horseracing.ErrUnauthorized):
			return err
		case err != nil && err.Error() != last:
			last = err.Error()
			b.print("%s: goes on in %v", last, every)
		case err == nil && last != "":
			last = ""
			b.print("The service responds again.")
		}
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
	return ctx.Err()
}

// round decides about every horse and every open race, the cheapest first.
func (b *bot) round(ctx context.Context) error {
	horses, err := b.client.Horses.GetMany(ctx, b.horses)
	if err != nil {
		return err
	}
	open, err := b.client.Races.Open(ctx)
	if err != nil && len(open) == 0 {
		return err
	}
	if err != nil {
		b.report(pair{}, "some races cannot be read: %v", err)
	}
	races := make([]*horseracing.Race, len(open))
	for i := range open {
		races[i] = &open[i]
	}
	slices.SortFunc(races, compare)
	for _, number := range b.horses {
		horse := horses[number]
		if horse == nil {
			return fmt.Errorf("there is no horse #%d", number)
		}
		for _, race := range races {
			if err := b.decide(ctx, horse, race); err != nil {
				return err
			}
		}
	}
	return nil
}

// decide enters the horse into the race, or prints why not.
func (b *bot) decide(ctx context.Context, horse *horseracing.Horse, race *horseracing.Race) error {
	now := time.Now()
	e := entry{pair{race.MainRaceID, horse.Number}, race.EntryFee, race.StartTime.Time}
	against := b.rules.against(race, horse, now)
	var err error
	if against == "" && b.pay {
		against, err = b.journal.begin(ctx, e, &b.rules, now)
	} else if against == "" {
		against, err = b.journal.plan(ctx, e, &b.rules, now)
	}
	if err != nil {
		return err
	}
	what := fmt.Sprintf("horse #%d, race %d %s", horse.Number, race.MainRaceID, race.Info.Name)
	why := fmt.Sprintf("%s, %d furlongs, levels %s, %d places free, closes at %s",
		program.Price(race.EntryFee), race.Length, program.Levels(race), race.FreePlaces(), race.RegistrationDeadline.Format("15:04 UTC"))
	switch {
	case against != "":
		b.report(e.pair, "skip   %s: %s", what, against)
		return nil
	case !b.pay:
		b.report(e.pair, "would enter %s: %s", what, why)
		return nil
	}
	b.report(e.pair, "enter  %s: %s", what, why)
	b.reached("written down")
	_, err = b.client.Races.Register(ctx, horseracing.Registration{Horse: e.horse, Race: e.race, UserKey: b.userKey})
	b.reached("sent")
	err = b.conclude(e.pair, err)
	b.reached("concluded")
	return err
}

// conclude writes down what came of a registration. It returns an error only
// where the bot must not go on.
func (b *bot) conclude(p pair, err error) error {
	var response *horseracing.APIError
	isRefusal := errors.As(err, &response) && !errors.Is(err, horseracing.ErrRateLimited)
	s, text := unsent, "not sent, may be retried"
	switch {
	case err == nil:
		s, text = entered, "entered, and the fee is paid"
	case errors.Is(err, horseracing.ErrOutcomeUnknown):
		s, text = unknown, "it is not known whether it arrived; it is not sent again, and will be settled"
	case errors.Is(err, horseracing.ErrUnauthorized):
		// The key is wrong for every race.
	case isRefusal:
		s, text = refused, "refused"
	}
	note := ""
	if err != nil {
		note = err.Error()
		text += ": " + note
	}
	if failed := b.journal.finish(p, s, note); failed != nil {
		return errors.Join(failed, err)
	}
	b.report(p, "%-7s horse #%d, race %d: %s", s, p.horse, p.race, text)
	if errors.Is(err, horseracing.ErrUnauthorized) || errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// settle starts to find out about every registration whose outcome is open,
// those that an earlier run left behind too.
func (b *bot) settle(ctx context.Context) error {
	if !b.pay {
		return nil
	}
	open, err := b.journal.unsettled(ctx)
	if err != nil {
		return err
	}
	for _, e := range open {
		b.mu.Lock()
		under := b.settling[e.pair]
		b.settling[e.pair] = true
		b.mu.Unlock()
		if under {
			continue
		}
		b.report(e.pair, "settle horse #%d, race %d: reading the race until it is certain; Ctrl-C is safe", e.horse, e.race)
		b.settlers.Go(func() { b.settleOne(ctx, e.pair) })
	}
	return nil
}

func (b *bot) settleOne(ctx context.Context, p pair) {
	in, err := b.client.Races.Settle(ctx, p.race, p.horse)
	b.reached("settled")
	s, text := absent, "the deadline has passed and the horse is not in the race: nothing was paid"
	switch {
	case err != nil:
		s, text = unknown, err.Error()
	case in:
		s, text = entered, "the horse is in the race, and the fee is paid"
	}
	if failed := b.journal.finish(p, s, text); failed != nil {
		text = fmt.Sprintf("%s; the journal could not be written: %v", text, failed)
	}
	b.reached("settlement written down")
	b.report(p, "%-7s horse #%d, race %d: %s", s, p.horse, p.race, text)
}

// report prints a decision about a pair, unless it is the one printed last.
func (b *bot) report(p pair, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	b.mu.Lock()
	repeated := b.reported[p] == line
	b.reported[p] = line
	b.mu.Unlock()
	if !repeated {
		b.print("%s", line)
	}
}

func (b *bot) print(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(b.out, "%s  %s\n", time.Now().UTC().Format(time.TimeOnly), printable(fmt.Sprintf(format, args...)))
}

// printable makes a line safe for a terminal: names are chosen by players.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, line)
}
