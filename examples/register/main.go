// Register is a bot that enters horses into open races by rules. It pays nothing
// without -yes. A ledger keeps it from paying twice and from exceeding its budget,
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
	"strconv"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/ledger"
)

const usage = `Usage: register [flags]

Enters horses into the open races that fit the rules, the cheapest first, and
prints each decision with its reason. It pays nothing without -yes. Uses an
embedded fake unless HORSERACING_BASE_URL and HORSERACING_API_KEY are set; then
-horse is needed, and with -yes the owner's key in HORSERACING_USER_KEY.

Examples:
  register                                                what it would do
  register -horse 1 -horse 2 -budget 20 -yes              one round
  register -horse 1 -yes -interval 30s                    until Ctrl-C
  register -report                                        what was paid and won

Flags:
`

func main() { program.Main("register", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	b := &bot{out: stdout, refused: map[string]bool{}, printed: map[string]string{}}
	flags := flag.NewFlagSet("register", flag.ContinueOnError)
	flags.Func("horse", "the `NUMBER` of a horse; can be repeated", func(text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		b.horses = append(b.horses, horseracing.HorseNumber(n))
		return err
	})
	flags.IntVar(&b.atOnce, "at-once", 1, "a horse is in so many `RACES` at a time at most")
	pay := flags.Bool("yes", false, "register and pay; without it nothing is sent")
	interval := flags.Duration("interval", 0, "repeat this often, until Ctrl-C (default: one round)")
	maxFee := tokens(flags, "max-fee", "5", "pay at most so many `TOKENS` for a race")
	budget := tokens(flags, "budget", "10", "pay at most so many `TOKENS` in all, by the ledger")
	path := flags.String("ledger", "", "the `FILE` of the ledger (default register.ledger, or a temporary file with the embedded fake)")
	isReport := flags.Bool("report", false, "print what was paid, the places and the prizes")
	tier := flags.Int("tier", int(horseracing.TierOmega), "with -report: tier `ID` of the results")
	if err := program.Parse(flags, usage, args, stderr); err != nil {
		return err
	}

	service, err := program.Connect(stderr, []horseracingtest.Option{horseracingtest.WithClock(time.Now)})
	if err != nil {
		return err
	}
	defer service.Close()
	b.userKey = horseracing.UserKey(os.Getenv("HORSERACING_USER_KEY"))
	if fake := service.Fake; fake != nil { // it ends with this run, and so does a ledger
		b.userKey = fake.UserKey(0)
		if len(b.horses) == 0 {
			b.horses = fake.Horses(0)[:1]
		}
		dir, err := os.MkdirTemp("", "register")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		*path = cmp.Or(*path, filepath.Join(dir, "ledger"))
	}
	switch {
	case len(b.horses) == 0 && !*isReport:
		return program.UsageError("name a horse with -horse")
	case *pay && b.userKey == "":
		return errors.New("the owner's key is missing: set HORSERACING_USER_KEY")
	}
	l, err := ledger.Open(cmp.Or(*path, "register.ledger"), service.Client, ledger.WithMaxFee(*maxFee), ledger.WithBudget(*budget))
	if err != nil {
		return err
	}
	defer l.Close()
	if *isReport {
		return report(ctx, service.Client, l, horseracing.TierID(*tier), stdout)
	}
	b.client, b.ledger, b.isDryRun, b.userKey = service.Client, l, !*pay, cmp.Or(b.userKey, "of a dry run")
	if err = b.run(ctx, *interval); err == nil && !*pay {
		fmt.Fprintf(stdout, "Dry run: nothing was sent. Register and pay with -yes, each horse in %s at a time at most.\n", count(b.atOnce, "race"))
	}
	return err
}

// tokens defines a flag that is an amount of whole tokens.
func tokens(flags *flag.FlagSet, name, initial, usage string) *horseracing.BigInt {
	amount, _ := horseracing.ParseUnits(initial, 18)
	flags.Func(name, usage+" (default "+initial+")", func(text string) (err error) {
		amount, err = horseracing.ParseUnits(text, 18)
		return err
	})
	return &amount
}
