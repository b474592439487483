package ledger

import (
	"fmt"
	"iter"
	"time"

	"github.com/horseracing-go/horseracing"
)

// Option configures a Ledger.
type Option func(*Ledger)

// WithBudget limits the sum of the fees that are or may be paid: those of Entered,
// Sending and Unknown entries. The default is no limit; a budget of zero allows free
// races only.
func WithBudget(total horseracing.BigInt) Option {
	return func(l *Ledger) { l.total = &total }
}

// WithDailyBudget limits the sum of the fees of each calendar day in loc, by the time
// at which an entry was sent. The default is no limit. If loc is nil, Open returns
// ErrInvalidArgument.
func WithDailyBudget(perDay horseracing.BigInt, loc *time.Location) Option {
	return func(l *Ledger) { l.perDay, l.location = &perDay, loc }
}

// WithMaxFee limits the fee of one registration. The default is no limit.
func WithMaxFee(fee horseracing.BigInt) Option {
	return func(l *Ledger) { l.maxFee = &fee }
}

// WithFreeRaces allows a fee of zero. Without it such a fee fails with ErrFee, because the
// service may have omitted the fee of a race that is not free.
func WithFreeRaces() Option {
	return func(l *Ledger) { l.freeRaces = true }
}

// WithReadOnly makes [Open] create and change nothing, not even a lock file: a file that does
// not exist is an empty ledger. [Ledger.Check] and [Ledger.Entries] work as usual. Register,
// Settle and Decide return an error, and Register sends nothing.
func WithReadOnly() Option {
	return func(l *Ledger) { l.isReadOnly = true }
}

// LimitError is returned when a fee is above the limit of WithMaxFee, or would exceed a
// budget. errors.Is finds [ErrFee] or [ErrBudget]; nothing was sent.
type LimitError struct {
	Err    error              // wraps ErrFee or ErrBudget
	Amount horseracing.BigInt // the fee, or the sum that the fees would reach
	Limit  horseracing.BigInt
}

// Error names the limit, and both amounts in tokens of [horseracing.TokenDecimals].
func (e *LimitError) Error() string {
	return fmt.Sprintf("%v: %s tokens are above the limit of %s tokens", e.Err, e.Amount.FormatUnits(horseracing.TokenDecimals), e.Limit.FormatUnits(horseracing.TokenDecimals))
}

// Unwrap returns Err.
func (e *LimitError) Unwrap() error { return e.Err }

// checkBudgets checks the sums of the fees with e, in all and on its day. What was sent
// later than e, by a clock that was ahead, counts as of its day, too.
func (l *Ledger) checkBudgets(e Entry) error {
	total, today := e.Fee, e.Fee
	for p, other := range l.entries {
		if p == e.pair() || !other.isHeld() && other.State != Entered {
			continue
		}
		total = total.Add(other.Fee)
		if l.day(other) >= l.day(e) {
			today = today.Add(other.Fee)
		}
	}
	switch {
	case l.total != nil && total.Cmp(*l.total) > 0:
		return &LimitError{Err: ErrBudget, Amount: total, Limit: *l.total}
	case l.perDay != nil && today.Cmp(*l.perDay) > 0:
		return &LimitError{Err: fmt.Errorf("%w of the day %s", ErrBudget, l.day(e)), Amount: today, Limit: *l.perDay}
	}
	return nil
}

func (l *Ledger) day(e Entry) string { return e.Time.In(l.location).Format(time.DateOnly) }

// Sum adds up the fees of entries that were sent at or after since. The result paid is the sum
// for Entered entries. The result held is the sum for Sending and Unknown entries, whose fees
// may be paid. Budgets count both.
func Sum(entries iter.Seq[Entry], since time.Time) (paid, held horseracing.BigInt) {
	for e := range entries {
		switch {
		case e.Time.Before(since):
		case e.State == Entered:
			paid = paid.Add(e.Fee)
		case e.isHeld():
			held = held.Add(e.Fee)
		}
	}
	return paid, held
}
