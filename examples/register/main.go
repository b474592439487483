// Register enters a horse into an open race, with care: it shows what it would
// do and pays only with -yes, never more than -max-fee, and once. Where the
// answer gets lost it finds out what happened before it says anything.
//
//	go run ./examples/register
//	go run ./examples/register -length 10-15 -max-fee 2.5 -hippodrome "Three Elms Park"
//	go run ./examples/register -horse 1 -yes
//
// Without HORSERACING_BASE_URL and HORSERACING_API_KEY it registers with a fake
// of the service that lives for this run. On the real one the key of the
// horse's owner is taken from HORSERACING_USER_KEY.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

const usage = `Usage: register [flags]

Picks the cheapest open race that fits the rules, and shows it; with -yes it
registers the horse and pays the entry fee, once. Talks to an embedded fake
unless HORSERACING_BASE_URL and HORSERACING_API_KEY are set; then -horse is
needed, and the key of its owner in HORSERACING_USER_KEY.

Examples:
  register                                  what it would do
  register -length 10-15 -max-fee 2.5       races of 10 to 15 furlongs, for at most 2.5 tokens
  register -horse 1 -yes                    do it

Flags:
`

func main() { program.Main(run) }

// run is the whole program; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	o.rules.maxFee, _ = program.ParseTokens("5")
	flags := flag.NewFlagSet("register", flag.ContinueOnError)
	flags.Int64Var((*int64)(&o.horse), "horse", 0, "the `NUMBER` of the horse")
	flags.BoolVar(&o.pay, "yes", false, "register and pay; without it nothing is sent")
	flags.IntVar(&o.rules.level, "level", 0, "only races that take this `LEVEL`, besides the horse's own")
	flags.Func("length", "only races of this `LENGTH` in furlongs: 6, or 6-10 (default: any)", o.rules.setLength)
	flags.Func("max-fee", "pay at most so many `TOKENS` (default: 5)", o.rules.setMaxFee)
	flags.StringVar(&o.rules.hippodrome, "hippodrome", "", "only races at this `HIPPODROME`, or of this type of hippodrome (default: any)")
	if status, ok := program.Parse(flags, usage, args, stderr); !ok {
		return status
	}
	service, err := program.Connect()
	if err == nil {
		defer service.Close()
		err = register(ctx, service, o, stdout)
	}
	return program.Exit(ctx, "register", err, stderr)
}

type options struct {
	horse horseracing.HorseNumber // zero: the service's
	pay   bool
	rules rules
}

func register(ctx context.Context, service *program.Service, o options, w io.Writer) error {
	client := service.Client
	fmt.Fprintf(w, "Service: %s\n", service.Name)
	if o.horse == 0 {
		o.horse = service.Horse
	}
	if o.horse == 0 {
		return errors.New("name a horse with -horse")
	}
	if o.pay && service.UserKey == "" {
		return errors.New("the key of the horse's owner is missing: set HORSERACING_USER_KEY")
	}

	horse, err := client.Horses.Get(ctx, o.horse)
	if err != nil {
		return err
	}
	open, err := client.Races.Open(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	race := o.rules.pick(open, horse, now)
	if race == nil {
		return fmt.Errorf("none of the %d open races fits: one must take horse #%d (level %d), cost at most %s and meet the other rules",
			len(open), horse.Number, horse.Level, program.Price(o.rules.maxFee))
	}
	if err := show(w, horse, race, now); err != nil {
		return err
	}
	if !o.pay {
		fmt.Fprintln(w, "\nDry run: nothing was sent. Register and pay with -yes.")
		return nil
	}

	entry := horseracing.Registration{Horse: o.horse, Race: race.MainRaceID, UserKey: service.UserKey}
	_, err = client.Races.Register(ctx, entry)
	if errors.Is(err, horseracing.ErrOutcomeUnknown) && ctx.Err() == nil {
		fmt.Fprintln(w, "\nThe answer was lost. Asking whether the registration arrived; it is not sent again.")
		err = settle(ctx, client, race, o.horse, w, err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nRegistered: horse #%d runs in race %d. Paid: %s.\n", o.horse, race.MainRaceID, program.Price(race.EntryFee))
	return nil
}

func show(w io.Writer, horse *horseracing.Horse, race *horseracing.Race, now time.Time) error {
	table := program.NewTable(w, "Registration")
	table.Row("horse", fmt.Sprintf("#%d %s, level %d", horse.Number, horse.Name, horse.Level))
	table.Row("race", fmt.Sprintf("%d %s, %d furlongs", race.MainRaceID, race.Info.Name, race.Length))
	table.Row("hippodrome", fmt.Sprintf("%s (%s, %s)", race.Info.HippodromeName, race.Info.HippodromeType, race.Info.Turf))
	table.Row("levels", program.Levels(race))
	table.Row("places", fmt.Sprintf("%d of %d taken", len(race.Participants), race.Places))
	table.Row("starts", race.StartTime.Format("2006-01-02 15:04 UTC"))
	table.Row("closes in", program.Left(now, race.RegistrationDeadline.Time))
	table.Row("entry fee", program.Price(race.EntryFee))
	return table.End()
}
