package ledger

import (
	"context"
	"fmt"
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

// WithoutLook leaves out the look at the race before a registration is sent, and its request. Then Register does not
// notice that the fee is not the one that was passed, nor that the horse was entered by hand, by another program, or in
// a ledger of which an older copy was restored, so such a horse may be paid for twice.
func WithoutLook() Option {
	return func(l *Ledger) { l.withoutLook = true }
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
func (l *Ledger) checkBudgets(ctx context.Context, q querier, e Entry) error {
	if l.total != nil {
		paid, err := sum(ctx, q, inAll)
		if err != nil {
			return err
		}
		if total := paid.Add(e.Fee); total.Cmp(*l.total) > 0 {
			return &LimitError{Err: ErrBudget, Amount: total, Limit: *l.total}
		}
	}
	if l.perDay != nil {
		paid, err := sum(ctx, q, sentSince, l.dayOf(e.Time).UnixMicro())
		if err != nil {
			return err
		}
		if today := paid.Add(e.Fee); today.Cmp(*l.perDay) > 0 {
			return &LimitError{Err: fmt.Errorf("%w of the day %s", ErrBudget, e.Time.In(l.location).Format(time.DateOnly)), Amount: today, Limit: *l.perDay}
		}
	}
	return nil
}

// dayOf returns when the day of t begins. In some zones an hour after midnight comes twice, when summer ends.
func (l *Ledger) dayOf(t time.Time) time.Time {
	year, month, day := t.In(l.location).Date()
	begins := time.Date(year, month, day, 0, 0, 0, 0, l.location)
	if earlier := begins.Add(-time.Hour); earlier.Day() == day {
		return earlier
	}
	return begins
}

// Sum adds up the fees of entries that were sent at or after since. The result paid is the sum
// for Entered entries. The result held is the sum for Sending and Unknown entries, whose fees
// may be paid. Budgets count both.
func Sum(entries []Entry, since time.Time) (paid, held horseracing.BigInt) {
	for _, e := range entries {
		switch {
		case e.Time.Before(since):
		case e.State == Entered:
			paid = paid.Add(e.Fee)
		case e.mayBePaid():
			held = held.Add(e.Fee)
		}
	}
	return paid, held
}
