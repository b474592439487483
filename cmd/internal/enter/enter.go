// Package enter enters a horse into a race, for all programs: it reads the race, registers the
// horse through a ledger, and reads the race again if the outcome is unknown.
package enter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/connection"
	"github.com/horseracing-go/horseracing/ledger"
)

// Entry is a registration to be made with a client and a ledger, whose options are the
// limits of what may be paid.
type Entry struct {
	Client *horseracing.Client
	Ledger *ledger.Ledger
	horseracing.Registration
}

// Known returns what the ledger has of the pair of horse and race, or the zero entry.
func (e Entry) Known(ctx context.Context) (ledger.Entry, error) {
	all, err := e.Ledger.Entries(context.WithoutCancel(ctx))
	for _, known := range all {
		if known.Horse == e.Horse && known.Race == e.Race {
			return known, nil
		}
	}
	return ledger.Entry{}, err
}

// Sight is what was seen of a registration before it is sent.
type Sight struct {
	Race    *horseracing.Race
	Horse   *horseracing.Horse
	Against []error // what prevents the registration now; of the ledger, errors.Is finds its sentinels
}

// ownedTime is how long the list of the owner's horses is waited for.
const ownedTime = 5 * time.Second

// Look reads the race and the horse, and returns what prevents the registration. An error
// means that one of them could not be read. That the horse is another owner's prevents it only
// if the list of the owner's horses shows that: proxies drop or refuse the body with which it
// is requested. Nothing is sent or written.
func (e Entry) Look(ctx context.Context) (Sight, error) {
	var seen Sight
	var err error
	if seen.Race, err = e.Client.Races.Get(ctx, e.Race); err != nil {
		return Sight{}, err
	}
	var response horseracing.Response
	if seen.Horse, err = e.Client.Horses.Get(ctx, e.Horse, horseracing.CaptureResponse(&response)); err != nil {
		return Sight{}, err
	}
	limited, cancel := context.WithTimeout(ctx, ownedTime)
	defer cancel()
	owned, err := e.Client.Horses.Owned(limited, e.UserKey)
	isOwned := slices.ContainsFunc(owned, func(h horseracing.Horse) bool { return h.Number == e.Horse })
	switch {
	case err != nil && ctx.Err() != nil:
		return Sight{}, err
	case err == nil && len(owned) > 0 && !isOwned:
		seen.Against = append(seen.Against, fmt.Errorf("horse %d is not one of the %d horses of the owner", e.Horse, len(owned)))
	}
	for _, err := range []error{e.Ledger.Check(ctx, e.Registration, seen.Race.EntryFee), seen.Race.CheckEntry(seen.Horse, connection.ServiceTime(&response))} {
		if err != nil {
			seen.Against = append(seen.Against, err)
		}
	}
	return seen, nil
}

// Register registers and pays, as [ledger.Ledger.Register] does. If the outcome is unknown,
// also that of an earlier registration of the pair, it calls Settle, unless ctx has ended.
func (e Entry) Register(ctx context.Context, fee horseracing.BigInt) (ledger.Entry, error) {
	entry, err := e.Ledger.Register(ctx, e.Registration, fee)
	isOpen := errors.Is(err, horseracing.ErrOutcomeUnknown) || errors.Is(err, ledger.ErrUnsettled)
	if !isOpen || ctx.Err() != nil { // or the program is to end
		return entry, err
	}
	settled, failed := e.Settle(ctx)
	if failed != nil {
		return entry, errors.Join(err, failed)
	}
	return settled, nil
}

// Settle reads the race once, for a registration whose outcome is unknown, and records the
// outcome if it is certain now. Otherwise the error matches ErrOutcomeUnknown; a
// [*horseracing.UndecidedError] says when another reading can decide.
func (e Entry) Settle(ctx context.Context) (ledger.Entry, error) {
	isIn, err := e.Client.Races.Registered(ctx, e.Race, e.Horse)
	if err != nil {
		known, failed := e.Known(ctx)
		return known, errors.Join(err, failed)
	}
	state, note := ledger.Absent, "settled: the race lists others, and not the horse"
	if isIn {
		state, note = ledger.Entered, "settled: the horse is in the race"
	}
	err = e.Ledger.Decide(ctx, e.Horse, e.Race, state, note)
	known, failed := e.Known(ctx)
	err = errors.Join(err, failed)
	if err != nil && known.State != state { // unless another process has recorded it
		return known, fmt.Errorf("%w in the ledger: the race shows that the horse is %s, but this could not be recorded: %w", horseracing.ErrOutcomeUnknown, state, err)
	}
	return known, nil
}

// Limits are the most that may be paid: for one registration, on a day in UTC, and for all that
// are in the ledger. A nil limit does not apply.
type Limits struct{ MaxFee, Daily, Budget *horseracing.BigInt }

// Tokens returns the function of a flag that takes an amount in tokens.
func Tokens(amount **horseracing.BigInt) func(text string) error {
	return func(text string) error {
		units, err := horseracing.ParseUnits(text, horseracing.TokenDecimals)
		if err != nil || units.Cmp(horseracing.BigInt{}) < 0 {
			return errors.New("want an amount in tokens, like 2.5")
		}
		*amount = &units
		return nil
	}
}

// Options returns the options of a ledger with these limits.
func (l Limits) Options() (options []ledger.Option) {
	if l.MaxFee != nil {
		options = append(options, ledger.WithMaxFee(*l.MaxFee))
	}
	if l.Daily != nil {
		options = append(options, ledger.WithDailyBudget(*l.Daily, time.UTC))
	}
	if l.Budget != nil {
		options = append(options, ledger.WithBudget(*l.Budget))
	}
	return options
}

// Left returns what may still be paid today, and in all, after a fee that is planned. It is
// nil without a limit.
func (l Limits) Left(ctx context.Context, records *ledger.Ledger, planned horseracing.BigInt) (today, all *horseracing.BigInt, err error) {
	left := func(limit *horseracing.BigInt, since time.Time) *horseracing.BigInt {
		if limit == nil {
			return nil
		}
		paid, failed := records.Paid(ctx, since)
		err = errors.Join(err, failed)
		rest := limit.Sub(paid).Sub(planned)
		return new(slices.MaxFunc([]horseracing.BigInt{rest, {}}, horseracing.BigInt.Cmp))
	}
	today, all = left(l.Daily, time.Now().UTC().Truncate(24*time.Hour)), left(l.Budget, time.Time{})
	return today, all, err
}
