// Register is a bot that enters a horse into open races, the cheapest first.
//
//	go run ./examples/register                                    what it would enter
//	go run ./examples/register -yes -max-fee 2.5 -budget 20       enters and pays until Ctrl-C
//
// Each minute it reads the open races and enters those that fit. Its ledger, a file of SQLite, keeps it
// from paying for a race twice and from exceeding the budget, even if it is killed and
// started again.
//
// If the connection is lost, the round ends with an error, and the next round starts a minute
// later. If the connection is lost while a registration is being sent, the fee may be paid. The
// fee counts against the budget, and that registration is not sent again. Each round reads
// whether the race lists the horse, and meanwhile the bot enters other races.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/service"
	"github.com/horseracing-go/horseracing/ledger"
	"github.com/horseracing-go/horseracing/ledger/sqlite"
)

type bot struct {
	client  *horseracing.Client
	ledger  *ledger.Ledger
	horse   horseracing.HorseNumber
	userKey horseracing.UserKey
	pays    bool // or else it only prints what it would enter
	atOnce  int  // open races that the horse is in at most
	out     io.Writer
	refused map[horseracing.RaceID]bool   // by the service, for reasons that will not change
	printed map[horseracing.RaceID]string // the last line about each race; 0 is the round as a whole
}

func main() {
	horse := flag.Int64("horse", 0, "the `NUMBER` of the horse")
	pays := flag.Bool("yes", false, "register and pay; without it nothing is sent")
	maxFee := flag.String("max-fee", "5", "pay at most so many `TOKENS` for a race")
	budget := flag.String("budget", "10", "pay at most so many `TOKENS` in all, by the ledger")
	atOnce := flag.Int("at-once", 1, "the horse is in so many open `RACES` at most")
	path := flag.String("ledger", "register.db", "the `FILE` that says what was paid")
	create := flag.Bool("create", false, "make that file, before the first start")
	flag.Parse()
	ctx := untilSignal()

	key := os.Getenv("HORSERACING_USER_KEY") // of the horse's owner
	client, fake, err := service.Connect(horseracing.WithSkipHandler(func(_ context.Context, err error) {
		log.Print("left out: ", err) // a race that cannot be read does not keep the bot from the others
	}))
	if fake != nil { // it ends with this run, and so does its ledger
		key, *horse = string(fake.UserKey(0)), int64(fake.Horses(0)[0])
		*path, *create = filepath.Join(os.TempDir(), fmt.Sprintf("register-%d.db", os.Getpid())), true
	}
	most, errFee := horseracing.ParseUnits(*maxFee, horseracing.TokenDecimals)
	inAll, errBudget := horseracing.ParseUnits(*budget, horseracing.TokenDecimals)
	if err := cmp.Or(err, errFee, errBudget); err != nil {
		log.Fatal(err)
	}
	if *horse < 1 || key == "" {
		log.Fatal("name a horse with -horse, and its owner's key in HORSERACING_USER_KEY")
	}
	if _, err := os.Stat(*path); err != nil && !*create { // it may be lost
		log.Fatal(err, ": -create makes a new ledger, that of horseracing ledger --create FILE fits, too")
	}
	db, err := sqlite.Open(*path)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if *create {
		if err := ledger.Create(ctx, db, client); err != nil {
			log.Fatal(err)
		}
	}
	l, err := ledger.Open(ctx, db, client, ledger.WithMaxFee(most), ledger.WithBudget(inAll))
	if err != nil {
		log.Fatal(err)
	}
	b := &bot{
		client: client, ledger: l, horse: horseracing.HorseNumber(*horse), userKey: horseracing.UserKey(key), pays: *pays, atOnce: *atOnce,
		out: os.Stdout, refused: map[horseracing.RaceID]bool{}, printed: map[horseracing.RaceID]string{},
	}
	if err := b.run(ctx); err != nil {
		log.Fatal(err)
	}
}

const hangup = syscall.Signal(1) // SIGHUP, which is not defined for every system

// untilSignal returns a context that ends at the first INT, TERM or HUP. The ledger awaits a
// registration that was sent nevertheless. A second INT or TERM that comes a second later or
// more ends the program at once, with status 7, since a fee may be paid.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	received := make(chan os.Signal, 1)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(hangup) { // as behind nohup
		signal.Notify(received, hangup)
	}
	go func() {
		<-received
		cancel()
		for first := time.Now(); ; {
			if s := <-received; s != hangup && time.Since(first) >= time.Second {
				os.Exit(7)
			}
		}
	}()
	return ctx
}

// run makes a round a minute after the last one, until ctx ends or a round says that no later
// one can succeed.
func (b *bot) run(ctx context.Context) error {
	for {
		err := b.round(ctx)
		if errors.Is(err, horseracing.ErrUnauthorized) || errors.Is(err, errLedger) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			b.print(0, "this round ended early: %v", err)
		}
		if !b.pays {
			fmt.Fprintln(b.out, "Nothing was sent. Register and pay with -yes.")
			return err
		}
		select {
		case <-time.After(time.Minute):
		case <-ctx.Done():
			entries, err := b.ledger.Entries(context.WithoutCancel(ctx))
			if err != nil {
				return err
			}
			paid, perhaps := ledger.Sum(entries, time.Time{})
			fmt.Fprintf(b.out, "Tokens paid in all: %s; perhaps paid: %s\n", paid.FormatUnits(horseracing.TokenDecimals), perhaps.FormatUnits(horseracing.TokenDecimals))
			return nil
		}
	}
}

// round settles what is unknown, and enters the horse into the races that fit.
func (b *bot) round(ctx context.Context) error {
	if b.pays {
		if err := b.ledger.Settle(ctx); err != nil { // what stays unknown is settled in a later round
			b.print(0, "not settled: %v", err)
		}
	}
	horse, err := b.client.Horses.Get(ctx, b.horse)
	if err != nil {
		return err
	}
	races, err := b.client.Races.Open(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(races, func(a, b horseracing.Race) int {
		return cmp.Or(a.EntryFee.Cmp(b.EntryFee), a.StartTime.Compare(b.StartTime.Time))
	})
	busy, entered := 0, map[horseracing.RaceID]bool{} // by the ledger: the service may list the horse later
	entries, err := b.ledger.Entries(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errLedger, err)
	}
	for _, e := range entries {
		entered[e.Race] = entered[e.Race] || e.Horse == b.horse && e.State == ledger.Entered
	}
	for _, race := range races {
		if race.Has(b.horse) || entered[race.MainRaceID] {
			busy++
		}
	}
	for _, race := range races {
		unfit := race.CheckEntry(horse, time.Now())
		switch {
		case race.Has(b.horse) || entered[race.MainRaceID]:
			b.print(race.MainRaceID, "the horse is in it")
		case unfit != nil:
			b.print(race.MainRaceID, "skipped: %v", unfit)
		case busy >= b.atOnce:
			b.print(race.MainRaceID, "skipped: the horse is in enough races")
		case !b.refused[race.MainRaceID]:
			isEntered, err := b.enter(ctx, &race)
			if err != nil {
				return err
			}
			if isEntered {
				busy++
			}
		}
	}
	return nil
}

// errLedger is returned if the ledger cannot be read or written, so that nothing can be sent.
var errLedger = errors.New("the ledger failed")

// enter registers the horse and reports whether it is entered, or would be with -yes. An error
// ends the round.
func (b *bot) enter(ctx context.Context, race *horseracing.Race) (bool, error) {
	r := horseracing.Registration{Horse: b.horse, Race: race.MainRaceID, UserKey: b.userKey}
	var entry ledger.Entry
	var err error
	did := "fits"
	if b.pays {
		did = "entered"
		entry, err = b.ledger.Register(ctx, r, race.EntryFee) // it looks at the race once more
	} else {
		err = b.ledger.Check(ctx, r, race.EntryFee)
	}
	refusal, isOfService := errors.AsType[*horseracing.APIError](err)
	_, isUnsent := errors.AsType[*horseracing.TransportError](err)
	switch {
	case err == nil:
		b.print(race.MainRaceID, "%s: %q, for %s tokens", did, race.Info.Name, race.EntryFee.FormatUnits(horseracing.TokenDecimals))
	case errors.Is(err, horseracing.ErrOutcomeUnknown):
		b.print(race.MainRaceID, "perhaps paid, to be settled: %v", err)
	case errors.Is(err, ledger.ErrFee), errors.Is(err, ledger.ErrBudget), errors.Is(err, ledger.ErrUnsettled),
		errors.Is(err, ledger.ErrEntered), errors.Is(err, ledger.ErrInUse):
		b.print(race.MainRaceID, "skipped: %v", err)
	case errors.Is(err, horseracing.ErrUnauthorized), errors.Is(err, horseracing.ErrRateLimited), isUnsent:
		return false, err
	case isOfService && entry.State == "": // it could not look
		return false, err
	case isOfService:
		b.refused[race.MainRaceID] = true
		b.print(race.MainRaceID, "refused: %v", refusal)
	default:
		return false, fmt.Errorf("%w: %w", errLedger, err)
	}
	return err == nil, nil
}

// print prints a line about a race, or about the round if race is 0, unless it is the same as the last one.
func (b *bot) print(race horseracing.RaceID, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if race != 0 {
		line = fmt.Sprintf("race %d: %s", race, line)
	}
	if b.printed[race] != line {
		fmt.Fprintln(b.out, time.Now().UTC().Format(time.TimeOnly), line)
	}
	b.printed[race] = line
}
