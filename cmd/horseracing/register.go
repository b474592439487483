package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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

// enter registers, or with a dry run prints what that would do.
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
	printed := printList(p, entryLayout, []ledger.Entry{entry}, nil)
	if err != nil || entry.State != ledger.Entered {
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

// enteredBefore is the note of an entry that this process did not pay.
const enteredBefore = "entered before: nothing was sent now"

// register registers and pays, unless this or another process has done so before.
func register(ctx context.Context, p *program, s *service, o registerOptions) (ledger.Entry, error) {
	l, err := openLedger(o.path, s, o.limits()...)
	if err != nil {
		return ledger.Entry{}, unpaid(err)
	}
	defer l.Close()
	entry, err := pay(ctx, s, l, o)
	switch {
	case errors.Is(err, ledger.ErrEntered):
		entry = entryOf(l, o.Registration)
		entry.Note = enteredBefore
		return entry, nil
	case errors.Is(err, horseracing.ErrOutcomeUnknown), errors.Is(err, ledger.ErrUnsettled):
		return settle(ctx, p, l, o)
	case err != nil && entry.State == ledger.Entered:
		err = fmt.Errorf("%w for the ledger, which could not record that the fee is paid; run the same command again to settle it: %w", horseracing.ErrOutcomeUnknown, err)
	}
	return entry, err
}

// pay registers, unless the ledger has the pair or something prevents it. A race
// that lists the horse, although the ledger lacks the pair, was paid from elsewhere.
func pay(ctx context.Context, s *service, l *ledger.Ledger, o registerOptions) (ledger.Entry, error) {
	if err := known(l, o.Registration); err != nil {
		return ledger.Entry{}, err
	}
	race, against, err := look(ctx, s, l, o)
	switch {
	case err != nil:
		return ledger.Entry{}, err
	case errors.Is(against, ledger.ErrEntered), errors.Is(against, ledger.ErrUnsettled): // by another process just now
		return ledger.Entry{}, against
	case race.Has(o.Horse):
		return ledger.Entry{}, unpaid(fmt.Errorf("race %d lists horse %d already, but %s does not: nothing was sent", o.Race, o.Horse, o.path))
	case against != nil:
		return ledger.Entry{}, unpaid(against)
	}
	entry, err := l.Register(ctx, o.Registration, race.EntryFee)
	if errors.Is(err, ledger.ErrInUse) { // perhaps by a process that registers this pair
		err = cmp.Or(known(l, o.Registration), inUse(o.path, err))
	}
	if err == nil || entry.State == ledger.Entered {
		return entry, err
	}
	return entry, unpaid(limitAlone(err))
}

// known returns ErrEntered or ErrUnsettled if the ledger has the pair in such a state.
func known(l *ledger.Ledger, r horseracing.Registration) error {
	switch entryOf(l, r).State {
	case ledger.Entered:
		return ledger.ErrEntered
	case ledger.Sending, ledger.Unknown:
		return ledger.ErrUnsettled
	}
	return nil
}

// look reads race and horse, and returns what prevents a registration.
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
	return race, errors.Join(limitAlone(against), race.CheckEntry(horse, serviceTime(&response))), nil
}

// settle determines the outcome of a registration whose response was lost.
func settle(ctx context.Context, p *program, l *ledger.Ledger, o registerOptions) (ledger.Entry, error) {
	p.say("the outcome is unknown: reading the race until it is certain")
	err := l.SettleOnce(ctx)
	if errors.Is(known(l, o.Registration), ledger.ErrUnsettled) && ctx.Err() == nil {
		err = l.Settle(ctx) // of all that is unknown
	}
	entry := entryOf(l, o.Registration)
	switch entry.State {
	case ledger.Entered:
		entry.Note = cmp.Or(entry.Note, enteredBefore) // else the ledger notes that it was settled
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

func unpaid(err error) error { return &notRegisteredError{err} }

// entryOf returns the entry of a pair, which is zero if the ledger has none.
func entryOf(l *ledger.Ledger, r horseracing.Registration) ledger.Entry {
	for e := range l.Entries() {
		if e.Horse == r.Horse && e.Race == r.Race {
			return e
		}
	}
	return ledger.Entry{}
}

// limitAlone returns the limit that was reached, without file and pair, which the command
// line names.
func limitAlone(err error) error {
	if limit, ok := errors.AsType[*ledger.LimitError](err); ok {
		return limit
	}
	return err
}

// dryRun prints what prevents a registration, or what it would cost. It creates and
// changes nothing.
func dryRun(ctx context.Context, p *program, s *service, o registerOptions) error {
	l, err := openLedger(o.path, s, o.limits()...)
	if err != nil {
		return unpaid(err)
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
	owned, err := s.Horses.Owned(ctx, o.UserKey)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(owned, func(h horseracing.Horse) bool { return h.Number == o.Horse }) {
		return unpaid(fmt.Errorf("horse %d is not one of the %d that HORSERACING_USER_KEY owns", o.Horse, len(owned)))
	}
	return p.printPlan(o, race, l)
}

// printPlan prints what --yes would do.
func (p *program) printPlan(o registerOptions, race *horseracing.Race, l *ledger.Ledger) error {
	plan := struct {
		IsDryRun  bool                    `json:"dry_run"`
		Horse     horseracing.HorseNumber `json:"horse"`
		Race      horseracing.RaceID      `json:"race"`
		Fee       horseracing.BigInt      `json:"fee"` // as in an entry of the ledger, which --yes prints
		Left      *horseracing.BigInt     `json:"left,omitempty"`
		LeftToday *horseracing.BigInt     `json:"left_today,omitempty"`
	}{IsDryRun: true, Horse: o.Horse, Race: o.Race, Fee: race.EntryFee}
	left := func(limit horseracing.BigInt, since time.Time) *horseracing.BigInt {
		paid, held := ledger.Sum(l.Entries(), since)
		return new(limit.Sub(paid).Sub(held).Sub(race.EntryFee))
	}
	text := fmt.Sprintf("It costs %s", inTokens(race.EntryFee))
	if *o.budget != nil {
		plan.Left = left(**o.budget, time.Time{})
		text += fmt.Sprintf("; %s of the budget would be left", tokens(*plan.Left))
	}
	if *o.daily != nil {
		plan.LeftToday = left(**o.daily, time.Now().UTC().Truncate(24*time.Hour))
		text += fmt.Sprintf("; %s of today's", tokens(*plan.LeftToday))
	}
	if p.printsJSON() {
		return p.printJSON(plan)
	}
	return errors.Join(p.printTitle("--yes would register horse %d in race %d, %q.", o.Horse, o.Race, race.Info.Name), p.printTitle("%s.", text))
}
