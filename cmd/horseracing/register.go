package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/database"
	"github.com/horseracing-go/horseracing/cmd/internal/enter"
	"github.com/horseracing-go/horseracing/cmd/internal/units"
	"github.com/horseracing-go/horseracing/ledger"
)

// registerOptions are the flags of the command register.
type registerOptions struct {
	horseracing.Registration
	enter.Limits
	path string
	yes  bool
}

func (p *program) registerCommand() *cobra.Command {
	var o registerOptions
	const short = "Enter a horse into a race, with its owner's key and a ledger"
	c := p.command("register", short, cobra.NoArgs, func(c *cobra.Command, args []string) error {
		return p.withService(c, args, func(ctx context.Context, s *service, _ []string) error { return p.enter(ctx, s, o) })
	})
	flags := c.Flags()
	numberFlag(flags, &o.Horse, "horse", "the `NUMBER` of the horse")
	numberFlag(flags, &o.Race, "race", "the main_race_id of the race, a `NUMBER`")
	fileFlag(flags, &o.path, "ledger", "", "the `FILE` of the ledger, or the URL of a PostgreSQL database that has it")
	flags.BoolVar(&o.yes, "yes", false, "register, and pay")
	flags.Func("max-fee", "the most `TOKENS` that this fee may be; default unlimited", enter.Tokens(&o.MaxFee))
	flags.Func("daily", "the most `TOKENS` that the ledger may pay on a day in UTC; default unlimited", enter.Tokens(&o.Daily))
	flags.Func("budget", "the most `TOKENS` that all fees in the ledger may add up to; default unlimited", enter.Tokens(&o.Budget))
	for _, name := range []string{"horse", "race", "ledger"} {
		_ = c.MarkFlagRequired(name) // it exists
	}
	p.serviceFlags(flags, true)
	return c
}

// enter registers, or with a dry run prints what that would do.
func (p *program) enter(ctx context.Context, s *service, o registerOptions) (err error) {
	if o.UserKey, err = ownerOf(s); err != nil {
		return err
	}
	if o.yes && p.demo {
		return usageError("--demo has no race to pay for: leave --yes out")
	}
	l, db, err := database.Ledger(ctx, o.path, s.Client, o.Options()...)
	if errors.Is(err, database.ErrNone) && !o.yes {
		p.say(err.Error())
		l, db, err = database.Empty(ctx, s.Client, o.Options()...)
	}
	if err != nil {
		return unpaid(err)
	}
	defer db.Close()
	e := enter.Entry{Client: s.Client, Ledger: l, Registration: o.Registration}
	if !o.yes {
		return p.dryRun(ctx, e, o)
	}
	p.isPaying.Store(true)
	defer p.sayWhatIsAwaited(ctx)()
	entry, err := register(ctx, e, database.Name(o.path))
	if entry.State == "" { // nothing is in the ledger
		return err
	}
	if !p.printsJSON() { // a table would cut the note off
		if err == nil && entry.Note != "" {
			p.say(entry.Note)
		}
		entry.Note = "" // an error says it
	}
	printed := printList(p, entryLayout, []ledger.Entry{entry}, nil)
	if err != nil {
		return errors.Join(err, printed)
	}
	if printed != nil {
		p.say(fmt.Sprintf("horse %d is in race %d and the fee is paid, but this could not be printed: %v", o.Horse, o.Race, printed))
	}
	return errPaid
}

// errPaid ends a run whose fee is paid with status 0: neither a full disk nor an
// interruption hides it.
var errPaid = errors.New("the fee is paid")

// register registers and pays, unless this or another process has done so before. Without an
// error the entry is entered.
func register(ctx context.Context, e enter.Entry, path string) (ledger.Entry, error) {
	entry, err := pay(ctx, e)
	switch {
	case errors.Is(err, ledger.ErrEntered):
		entry, err = e.Known(ctx)
		entry.Note = "entered before: nothing was sent now"
		return entry, err
	case entry.State == ledger.Entered && err != nil:
		return entry, fmt.Errorf("%w in the ledger %s: the fee is paid, but the ledger could not record it; run the same command again to record it: %w", horseracing.ErrOutcomeUnknown, path, err)
	case errors.Is(err, horseracing.ErrOutcomeUnknown):
		return entry, fmt.Errorf("the fee may be paid: run the same command again to find out, or if you know the outcome "+
			"horseracing ledger %s --horse %d --race %d --decide entered (or absent)\n%w", path, e.Horse, e.Race, err)
	case entry.State == ledger.Absent:
		return entry, unpaid(errors.New("the horse is not in the race, so its fee is not paid"))
	case entry.State == ledger.Refused:
		both, ok := errors.AsType[interface { // what could not be recorded, and the refusal
			error
			Unwrap() []error
		}](err)
		if ok && len(both.Unwrap()) > 1 {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	return entry, err
}

// pay sends the registration, unless the ledger has the pair or something prevents it.
func pay(ctx context.Context, e enter.Entry) (ledger.Entry, error) {
	known, err := e.Known(ctx)
	if err != nil {
		return ledger.Entry{}, unpaid(err)
	}
	switch known.State {
	case ledger.Entered:
		return ledger.Entry{}, ledger.ErrEntered
	case ledger.Sending, ledger.Unknown:
		return e.Settle(ctx)
	}
	seen, err := e.Look(ctx)
	if err != nil {
		return ledger.Entry{}, err
	}
	against := errors.Join(seen.Against...)
	if errors.Is(against, ledger.ErrEntered) || errors.Is(against, ledger.ErrUnsettled) { // by another process just now
		return pay(ctx, e)
	}
	if against != nil {
		return ledger.Entry{}, unpaid(against)
	}
	entry, err := e.Register(ctx, seen.Race.EntryFee)
	if err != nil && entry.State != ledger.Entered {
		err = unpaid(err) // unless its outcome is unknown
	}
	return entry, err
}

func unpaid(err error) error { return &notRegisteredError{err} }

// dryRun prints what prevents a registration, or what it would cost. It creates and
// changes nothing.
func (p *program) dryRun(ctx context.Context, e enter.Entry, o registerOptions) error {
	seen, err := e.Look(ctx)
	against := errors.Join(seen.Against...)
	switch {
	case err != nil:
		return err
	case errors.Is(against, ledger.ErrEntered):
		p.say("according to the ledger the horse is entered and the fee is paid: there is nothing to do")
		return nil
	case errors.Is(against, ledger.ErrUnsettled):
		return fmt.Errorf("%w, so its fee may be paid: run the command with --yes to find out", ledger.ErrUnsettled)
	case against != nil:
		return unpaid(against)
	}
	would := plan{IsDryRun: true, Horse: o.Horse, Race: o.Race, Fee: seen.Race.EntryFee, name: seen.Race.Info.Name}
	if would.LeftToday, would.Left, err = o.Left(ctx, e.Ledger, would.Fee); err != nil {
		return err
	}
	if !p.printsJSON() {
		p.say("nothing was sent: --yes registers, and pays")
	}
	return printList(p, planLayout, []plan{would}, nil)
}

// plan is the line of a dry run: what --yes would do.
type plan struct {
	IsDryRun  bool                    `json:"dry_run"`
	Horse     horseracing.HorseNumber `json:"horse"`
	Race      horseracing.RaceID      `json:"race"`
	Fee       horseracing.BigInt      `json:"fee"` // as in an entry of the ledger, which --yes prints
	Left      *horseracing.BigInt     `json:"left,omitempty"`
	LeftToday *horseracing.BigInt     `json:"left_today,omitempty"`

	name string
}

var planLayout = layout[plan]{fields: []field[plan]{
	whole("HORSE", func(p *plan) horseracing.HorseNumber { return p.Horse }),
	whole("RACE", func(p *plan) horseracing.RaceID { return p.Race }),
	amount("FEE (TOKENS)", func(p *plan) horseracing.BigInt { return p.Fee }),
	words("LEFT OF BUDGET", func(p *plan) string { return left(p.Left) }).toTheRight(),
	words("LEFT TODAY", func(p *plan) string { return left(p.LeftToday) }).toTheRight(),
	words("NAME", func(p *plan) string { return p.name }),
}}

func left(amount *horseracing.BigInt) string {
	if amount == nil {
		return "no limit"
	}
	return units.Format(*amount)
}
