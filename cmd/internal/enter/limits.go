package enter

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
)

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
