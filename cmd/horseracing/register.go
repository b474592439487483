package main

import (
	"context"
	"errors"
	"flag"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

const registerHelp = `It spends the race's entry fee, with the owner's key in HORSERACING_USER_KEY, and
only with -yes: without it nothing is sent.

The ledger FILE keeps what was sent and what came of it, so that no pair of horse
and race is paid twice, whatever happens to the program. If a response is lost, it
reads the race until the outcome is certain, which may take until a minute after
the registration deadline. Ctrl-C is safe: the same command line continues.

Examples:
  horseracing register -horse 7 -race 4711 -ledger paid.jsonl
  horseracing register -horse 7 -race 4711 -ledger paid.jsonl -budget 25 -yes
`

func registerHorse(flags *flag.FlagSet) action {
	var r horseracing.Registration
	flags.Int64Var((*int64)(&r.Horse), "horse", 0, "the `NUMBER` of the horse")
	flags.Int64Var((*int64)(&r.Race), "race", 0, "the main_race_id of the race, a `NUMBER`")
	path := flags.String("ledger", "", "the `FILE` of the ledger; created if it does not exist")
	yes := flags.Bool("yes", false, "register, and pay")
	var options []ledger.Option
	flags.Func("budget", "the most `TOKENS` that all fees in the ledger may add up to; default unlimited", func(text string) error {
		budget, err := horseracing.ParseDecimal(text, tokenPlaces)
		options = append(options, ledger.WithBudget(budget))
		return err
	})
	return reading(func(ctx context.Context, p *program, s *service, _ []string) (err error) {
		if r.Horse <= 0 || r.Race <= 0 || *path == "" {
			return usageError("-horse, -race and -ledger are needed")
		}
		if r.UserKey, err = s.owner(); err != nil {
			return err
		}
		l, err := ledger.Open(*path, s.Client, options...)
		if err != nil {
			return err
		}
		defer l.Close()
		race, err := s.Races.Get(ctx, r.Race)
		if err != nil {
			return err
		}
		if !*yes {
			return errors.Join(l.Check(r, race.EntryFee), printEntry(p, ledger.Entry{
				Horse: r.Horse, Race: r.Race, Fee: race.EntryFee, State: "dry run", Note: "nothing was sent: add -yes to register",
			}))
		}
		entry, err := l.Register(ctx, r, race.EntryFee)
		if errors.Is(err, horseracing.ErrOutcomeUnknown) || errors.Is(err, ledger.ErrUnsettled) {
			p.complain("the outcome is unknown: reading the race until it is certain")
			err = l.Settle(ctx)
			for e := range l.Entries() {
				if e.Horse == r.Horse && e.Race == r.Race {
					entry = e
				}
			}
		}
		if err == nil && entry.State != ledger.Entered {
			err = errors.New("the horse is not in the race, so its fee is not paid")
		}
		if entry.State == "" { // nothing is in the ledger
			return err
		}
		return errors.Join(err, printEntry(p, entry))
	})
}

func printEntry(p *program, entry ledger.Entry) error {
	return printList(p, layout[ledger.Entry]{
		titles: []string{"HORSE", "RACE", "FEE (TOKENS)", "STATE", "NOTE"},
		cells:  func(e *ledger.Entry) []any { return []any{e.Horse, e.Race, tokens(e.Fee), e.State, e.Note} },
	}, []ledger.Entry{entry}, nil)
}
