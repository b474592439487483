package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

// registerOptions are the flags of the command register.
type registerOptions struct {
	horseracing.Registration
	path          string
	yes           bool
	maxFee        **horseracing.BigInt
	daily, budget **horseracing.BigInt
}

func (p *program) registerCommand() *cobra.Command {
	c := p.command("register", "Enter a horse into a race, through a ledger; needs HORSERACING_USER_KEY", 0, 0)
	var o registerOptions
	flags := c.Flags()
	flags.Int64Var((*int64)(&o.Horse), "horse", 0, "the `NUMBER` of the horse")
	flags.Int64Var((*int64)(&o.Race), "race", 0, "the main_race_id of the race, a `NUMBER`")
	flags.StringVar(&o.path, "ledger", "", "the `FILE` of the ledger; created if it does not exist")
	flags.BoolVar(&o.yes, "yes", false, "register, and pay")
	o.maxFee = tokensFlag(flags, "max-fee", "the most `TOKENS` that this fee may be; default unlimited")
	o.daily = tokensFlag(flags, "daily", "the most `TOKENS` that the ledger may pay on a day in UTC; default unlimited")
	o.budget = tokensFlag(flags, "budget", "the most `TOKENS` that all fees in the ledger may add up to; default unlimited")
	p.serviceFlags(flags, false)
	c.RunE = func(c *cobra.Command, args []string) error {
		return p.withService(c.Context(), args, func(ctx context.Context, s *service, _ []string) error { return p.enter(ctx, s, o) })
	}
	return c
}

// enter registers, or with a dry run says what that would do.
func (p *program) enter(ctx context.Context, s *service, o registerOptions) (err error) {
	if o.Horse <= 0 || o.Race <= 0 || o.path == "" {
		return usageError("--horse, --race and --ledger are needed")
	}
	if o.UserKey, err = s.owner(); err != nil {
		return err
	}
	if !o.yes {
		return dryRun(ctx, p, s, o)
	}
	entry, err := register(ctx, p, s, o)
	if entry.State == "" { // nothing is in the ledger
		return err
	}
	if err != nil && !p.printsJSON() {
		entry.Note = "" // the error says it
	}
	return errors.Join(err, printEntries(p, []ledger.Entry{entry}, false))
}

// limits returns the options of the ledger.
func (o *registerOptions) limits() (options []ledger.Option) {
	if *o.maxFee != nil {
		options = append(options, ledger.WithMaxFee(**o.maxFee))
	}
	if *o.daily != nil {
		options = append(options, ledger.WithDailyBudget(**o.daily, time.UTC))
	}
	if *o.budget != nil {
		options = append(options, ledger.WithBudget(**o.budget))
	}
	return options
}

// register registers and pays. A race that lists the horse, although the ledger lacks
// the pair, was paid from elsewhere.
func register(ctx context.Context, p *program, s *service, o registerOptions) (ledger.Entry, error) {
	l, err := openLedger(o.path, s, o.limits()...)
	if err != nil {
		return ledger.Entry{}, unpaid(err)
	}
	defer l.Close()
	entry, isKnown := entryOf(l, o.Registration)
	switch {
	case isKnown && entry.State == ledger.Entered:
		return entry, nil
	case isKnown && (entry.State == ledger.Unknown || entry.State == ledger.Sending):
		return settle(ctx, p, l, o)
	}
	race, against, err := look(ctx, s, l, o)
	if err != nil {
		return ledger.Entry{}, unpaid(err)
	}
	if race.Has(o.Horse) {
		return ledger.Entry{}, unpaid(fmt.Errorf("race %d lists horse %d already, but %s does not: nothing was sent", o.Race, o.Horse, o.path))
	}
	if against != nil {
		return ledger.Entry{}, unpaid(against)
	}
	entry, err = l.Register(ctx, o.Registration, race.EntryFee)
	if errors.Is(err, horseracing.ErrOutcomeUnknown) || errors.Is(err, ledger.ErrUnsettled) {
		return settle(ctx, p, l, o)
	}
	if err != nil {
		return entry, unpaid(inUse(o.path, limitInTokens(err)))
	}
	return entry, nil
}

// look reads race and horse, and returns what stands against a registration.
func look(ctx context.Context, s *service, l *ledger.Ledger, o registerOptions) (race *horseracing.Race, against, err error) {
	if race, err = s.Races.Get(ctx, o.Race); err != nil {
		return nil, nil, err
	}
	var response horseracing.Response
	horse, err := s.Horses.Get(ctx, o.Horse, horseracing.CaptureResponse(&response))
	if err != nil {
		return nil, nil, err
	}
	against = l.Check(o.Registration, race.EntryFee)
	if errors.Is(against, ledger.ErrEntered) || errors.Is(against, ledger.ErrUnsettled) {
		return race, against, nil
	}
	return race, errors.Join(limitInTokens(against), race.CheckEntry(horse, serviceTime(&response))), nil
}

// settle determines the outcome of a registration whose response was lost.
func settle(ctx context.Context, p *program, l *ledger.Ledger, o registerOptions) (ledger.Entry, error) {
	p.say("the outcome is unknown: reading the race until it is certain")
	err := l.Settle(ctx)
	entry, _ := entryOf(l, o.Registration)
	switch entry.State {
	case ledger.Entered:
		return entry, nil
	case ledger.Unknown, ledger.Sending:
		if ctx.Err() != nil {
			err = nil // who interrupted it knows why
		}
		unknown := fmt.Errorf("%w, the fee may be paid: run the same command again to settle it, or horseracing ledger %s --decide if you know", horseracing.ErrOutcomeUnknown, o.path)
		return entry, errors.Join(unknown, err)
	}
	return entry, unpaid(errors.New("the horse is not in the race, so its fee is not paid"))
}

func unpaid(err error) error {
	if errors.Is(err, horseracing.ErrOutcomeUnknown) {
		return err
	}
	return &notRegisteredError{err}
}

func entryOf(l *ledger.Ledger, r horseracing.Registration) (ledger.Entry, bool) {
	for e := range l.Entries() {
		if e.Horse == r.Horse && e.Race == r.Race {
			return e, true
		}
	}
	return ledger.Entry{}, false
}

// limitInTokens writes the amounts of a limit that was reached in tokens.
func limitInTokens(err error) error {
	limit, ok := errors.AsType[*ledger.LimitError](err)
	if !ok {
		return err
	}
	return fmt.Errorf("%w: %s, and the limit is %s", limit.Err, inTokens(limit.Amount), tokens(limit.Limit))
}

// dryRun says what stands against a registration, or what it would cost. It works on a
// copy of the ledger, so that it creates nothing and needs no lock.
func dryRun(ctx context.Context, p *program, s *service, o registerOptions) error {
	l, err := openCopy(o.path, s, o.limits())
	if err != nil {
		return err
	}
	defer l.Close()
	race, against, err := look(ctx, s, l, o)
	switch {
	case err != nil:
		return err
	case errors.Is(against, ledger.ErrEntered):
		p.say("the ledger has it as entered: there is nothing to do")
		return nil
	case errors.Is(against, ledger.ErrUnsettled):
		return fmt.Errorf("%w, its fee may be paid: --yes settles it", ledger.ErrUnsettled)
	case against != nil:
		return unpaid(against)
	}
	return p.printPlan(o, race, l)
}

// openCopy opens a copy of a ledger that is thrown away.
func openCopy(path string, s *service, options []ledger.Option) (*ledger.Ledger, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "horseracing")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	name := folder + "/ledger"
	if err := os.WriteFile(name, text, 0o600); err != nil {
		return nil, err
	}
	return ledger.Open(name, s.Client, options...)
}

// printPlan prints what --yes would do.
func (p *program) printPlan(o registerOptions, race *horseracing.Race, l *ledger.Ledger) error {
	plan := struct {
		Horse    horseracing.HorseNumber `json:"horse"`
		Race     horseracing.RaceID      `json:"race"`
		Fee      string                  `json:"fee"` // in tokens, like what is left
		Left     string                  `json:"left,omitzero"`
		LeftOfIt string                  `json:"left_today,omitzero"`
	}{Horse: o.Horse, Race: o.Race, Fee: tokens(race.EntryFee)}
	text := fmt.Sprintf("--yes would register horse %d in race %d (%s) for %s", o.Horse, o.Race, race.Info.Name, inTokens(race.EntryFee))
	if *o.budget != nil {
		plan.Left = tokens((*o.budget).Sub(l.Paid(time.Time{})).Sub(race.EntryFee))
		text += fmt.Sprintf("; %s of the budget would be left", plan.Left)
	}
	if *o.daily != nil {
		plan.LeftOfIt = tokens((*o.daily).Sub(l.Paid(time.Now().UTC().Truncate(24 * time.Hour))).Sub(race.EntryFee))
		text += fmt.Sprintf("; %s of today's", plan.LeftOfIt)
	}
	if p.printsJSON() {
		return p.printJSON(plan)
	}
	return p.printTitle("%s", text)
}
