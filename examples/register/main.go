// Register is a bot that enters horses into open races by rules. Without -yes it
// pays nothing. It writes each registration down before it sends it, so that
// nothing is paid twice and nothing is forgotten, whatever happens to it.
//
//	go -C examples/register run .
//	go -C examples/register run . -horse 1,2 -max-fee 2.5 -budget 20 -yes
//	go -C examples/register run . -horse 1 -levels 3-8 -yes -forever
//
// Without HORSERACING_BASE_URL and HORSERACING_API_KEY it registers with a fake
// of the service that lives for this run. On the real one the key of the
// horses' owner is taken from HORSERACING_USER_KEY.
package main

import (
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
)

const usage = `Usage: register [flags]

Enters horses into the open races that fit the rules, the cheapest first, and
prints each decision with its reason. It pays nothing without -yes. A journal
remembers every registration: what it began is never sent twice, and what was
cut off is settled at the next start. Uses an embedded fake unless
HORSERACING_BASE_URL and HORSERACING_API_KEY are set; then -horse is needed,
and with -yes the key of the horses' owner in HORSERACING_USER_KEY.

Examples:
  register                                            what it would do
  register -horse 1,2 -max-fee 2.5 -budget 20 -yes    one round, for at most 20 tokens a day
  register -horse 1 -levels 3-8 -yes -forever         go on until Ctrl-C

Flags:
`

func main() {
	program.Main(func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		return run(ctx, args, stdout, stderr, func(string) {})
	})
}

// options are the parsed command line.
type options struct {
	horses  []horseracing.HorseNumber // none: the service's
	pay     bool
	forever bool
	every   time.Duration
	journal string
	rules   rules
}

// run is the whole program; it returns the exit status. It calls reached at
// each point at which it could be killed.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, reached func(step string)) int {
	o := options{rules: defaultRules()}
	once := false
	flags := flag.NewFlagSet("register", flag.ContinueOnError)
	flags.Func("horse", "the `NUMBER` of a horse; several with commas", o.addHorses)
	flags.BoolVar(&o.pay, "yes", false, "register and pay; without it nothing is sent")
	flags.BoolVar(&once, "once", false, "one round over the open races, and settle what is unknown (the default)")
	flags.BoolVar(&o.forever, "forever", false, "go on until Ctrl-C")
	flags.DurationVar(&o.every, "every", 15*time.Second, "with -forever: the `TIME` between rounds")
	flags.StringVar(&o.journal, "journal", "", "the `FILE` of the journal (default: register.db, or a temporary file with the embedded fake)")
	flags.Func("max-fee", "pay at most so many `TOKENS` for a race (default: 5)", tokens(&o.rules.maxFee))
	flags.Func("budget", "pay at most so many `TOKENS` a day, by UTC (default: 10)", tokens(&o.rules.perDay))
	flags.Func("budget-total", "pay at most so many `TOKENS` in all, by the journal (default: 100)", tokens(&o.rules.inAll))
	flags.IntVar(&o.rules.freePlaces, "free", 1, "only races with so many free `PLACES` or more")
	flags.IntVar(&o.rules.atOnce, "at-once", 1, "a horse is in so many `RACES` at a time at most")
	flags.Func("levels", "only races that take every level of this `RANGE`, besides the horse's own: 4, or 3-8", o.rules.setLevels)
	flags.Func("length", "only races of this `LENGTH` in furlongs: 6, or 6-10 (default: any)", o.rules.setLength)
	flags.StringVar(&o.rules.hippodrome, "hippodrome", "", "only races at this `HIPPODROME`, or of this type of hippodrome (default: any)")
	check := func() error {
		switch {
		case once && o.forever:
			return errors.New("-once and -forever exclude each other")
		case o.every < time.Second:
			return errors.New("-every is at least 1s")
		case o.rules.freePlaces < 1:
			return errors.New("-free is at least 1")
		case o.rules.atOnce < 1:
			return errors.New("-at-once is at least 1")
		}
		return nil
	}
	if status, ok := program.Parse(flags, usage, args, stderr, check); !ok {
		return status
	}
	service, err := program.Connect()
	if err == nil {
		defer service.Close()
		service.Announce(stdout)
		err = o.start(ctx, service, stdout, reached)
	}
	return program.Exit(ctx, "register", err, stderr)
}

func (o *options) addHorses(text string) error {
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(field), 10, 64)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not the number of a horse", field)
		}
		if number := horseracing.HorseNumber(n); !slices.Contains(o.horses, number) {
			o.horses = append(o.horses, number)
		}
	}
	return nil
}

// start opens the journal and lets the bot run.
func (o *options) start(ctx context.Context, service *program.Service, w io.Writer, reached func(string)) error {
	if len(o.horses) == 0 && service.Horse != 0 {
		o.horses = []horseracing.HorseNumber{service.Horse}
	}
	switch {
	case len(o.horses) == 0:
		return program.UsageError("name a horse with -horse")
	case o.pay && service.UserKey == "":
		return errors.New("the key of the horses' owner is missing: set HORSERACING_USER_KEY")
	}
	source, path := service.Name, o.journal
	if service.Fake != nil { // it ends with this run, and so does what was registered with it
		source = "an embedded fake"
		if path == "" {
			dir, err := os.MkdirTemp("", "register")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			path = filepath.Join(dir, "register.db")
		}
	}
	if path == "" {
		path = "register.db"
	}
	j, err := openJournal(ctx, path, source)
	if err != nil {
		return err
	}
	defer j.close()
	b := &bot{
		client: service.Client, userKey: service.UserKey, journal: j, horses: o.horses, rules: o.rules, pay: o.pay,
		out: w, reached: reached, reported: map[pair]string{}, settling: map[pair]bool{},
	}
	if o.forever {
		return b.forever(ctx, o.every)
	}
	return b.once(ctx)
}
