// Register is a bot that enters horses into open races by rules. It pays nothing
// without -yes. A ledger keeps it from paying twice and from exceeding its budgets,
// whatever happens to it. See README.md.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
	"github.com/horseracing-go/horseracing/ledger"
)

const usage = `Usage: register [flags]

Enters horses into the open races that fit the rules, the cheapest first, and
prints each decision with its reason. It pays nothing without -yes. Uses an
embedded fake unless HORSERACING_BASE_URL and HORSERACING_API_KEY are set; then
-horse is needed, and with -yes the owner's key in HORSERACING_USER_KEY.

Examples:
  register                                            what it would do
  register -horse 1,2 -max-fee 2.5 -budget 20 -yes    one round, for at most 20 tokens a day
  register -horse 1 -yes -forever                     until Ctrl-C
  register -report                                    what was paid and won

Flags:
`

func main() { program.Main(run) }

// options are the parsed command line.
type options struct {
	horses              []horseracing.HorseNumber
	pay, forever, print bool
	interval            time.Duration
	ledger              string
	perDay, total       horseracing.BigInt
	tier                horseracing.TierID
	rules               rules
}

// run is the whole program; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("register", flag.ContinueOnError)
	flags.Func("horse", "the `NUMBER` of a horse; several with commas", o.addHorses)
	flags.BoolVar(&o.pay, "yes", false, "register and pay; without it nothing is sent")
	flags.BoolVar(&o.forever, "forever", false, "go on until Ctrl-C")
	flags.DurationVar(&o.interval, "interval", 30*time.Second, "with -forever: how often to look for new races")
	flags.StringVar(&o.ledger, "ledger", "", "the `FILE` of the ledger (default register.ledger, or a temporary file with the embedded fake)")
	flags.BoolVar(&o.print, "report", false, "print what was paid, the places and the prizes, and end")
	flags.IntVar((*int)(&o.tier), "tier", int(horseracing.TierOmega), "with -report: tier `ID` of the results")
	tokens(flags, &o.rules.maxFee, "max-fee", "5", "pay at most so many `TOKENS` for a race")
	tokens(flags, &o.perDay, "budget", "10", "pay at most so many `TOKENS` a day, by UTC")
	tokens(flags, &o.total, "budget-total", "100", "pay at most so many `TOKENS` in all, by the ledger")
	flags.IntVar(&o.rules.freePlaces, "free", 1, "only races with so many free `PLACES` or more")
	flags.IntVar(&o.rules.atOnce, "at-once", 1, "a horse is in so many `RACES` at a time at most")
	flags.IntVar(&o.rules.minLength, "min-length", 0, "only races of so many `FURLONGS` or more")
	flags.IntVar(&o.rules.maxLength, "max-length", 1000, "only races of so many `FURLONGS` or fewer")
	if status, ok := program.Parse(flags, usage, args, stderr, o.check); !ok {
		return status
	}
	return program.Exit(ctx, "register", o.start(ctx, stdout, stderr), stderr)
}

func tokens(flags *flag.FlagSet, amount *horseracing.BigInt, name, initial, usage string) {
	*amount, _ = program.ParseTokens(initial)
	flags.Func(name, usage+" (default "+initial+")", func(text string) (err error) {
		*amount, err = program.ParseTokens(text)
		return err
	})
}

func (o *options) addHorses(text string) error {
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(field), 10, 64)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not the number of a horse", field)
		}
		o.horses = append(o.horses, horseracing.HorseNumber(n))
	}
	slices.Sort(o.horses)
	o.horses = slices.Compact(o.horses)
	return nil
}

func (o *options) check() error {
	if o.interval < time.Second || o.tier < 1 || o.rules.freePlaces < 1 || o.rules.atOnce < 1 {
		return errors.New("-interval is at least 1s; -tier, -free and -at-once are at least 1")
	}
	return nil
}

// start opens the ledger and lets the bot run.
func (o *options) start(ctx context.Context, stdout, stderr io.Writer) error {
	service, err := program.Connect()
	if err != nil {
		return err
	}
	defer service.Close()
	service.Announce(stderr)
	if service.Fake != nil && o.ledger == "" { // the fake ends with this run, and so does the ledger
		dir, err := os.MkdirTemp("", "register")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.ledger = filepath.Join(dir, "ledger")
	}
	if service.Fake != nil && len(o.horses) == 0 {
		o.horses = []horseracing.HorseNumber{service.Horse}
	}
	switch {
	case len(o.horses) == 0 && !o.print:
		return program.UsageError("name a horse with -horse")
	case o.pay && service.UserKey == "":
		return errors.New("the owner's key is missing: set HORSERACING_USER_KEY")
	}
	l, err := ledger.Open(cmp.Or(o.ledger, "register.ledger"), service.Client, ledger.WithMaxFee(o.rules.maxFee),
		ledger.WithBudget(o.total), ledger.WithDailyBudget(o.perDay, time.UTC))
	if err != nil {
		return err
	}
	defer l.Close()
	if o.print {
		return report(ctx, service.Client, l, o.tier, stdout)
	}
	b := &bot{client: service.Client, ledger: l, horses: o.horses, rules: o.rules, out: stdout, refused: map[string]bool{}, printed: map[string]string{}}
	if o.pay {
		b.userKey = service.UserKey
	}
	if !o.forever {
		o.interval = 0
	}
	if err = b.run(ctx, o.interval); err == nil && !o.pay {
		fmt.Fprintln(stdout, "Dry run: nothing was sent. Register and pay with -yes.")
	}
	return err
}
