package ledger

import (
	"fmt"
	"time"

	"github.com/horseracing-go/horseracing"
)

// Option limits what a Ledger registers.
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

// WithFreeRaces allows fees that are not positive. Without it they fail with ErrFee,
// because the service may have omitted the fee of a race that is not free.
func WithFreeRaces() Option {
	return func(l *Ledger) { l.freeRaces = true }
}

// LimitError is returned when a fee is above the limit of WithMaxFee, or would exceed a
// budget. errors.Is finds [ErrFee] or [ErrBudget]; nothing was sent.
type LimitError struct {
	Err    error              // which limit: wraps ErrFee or ErrBudget
	Amount horseracing.BigInt // the fee, or what the fees would add up to
	Limit  horseracing.BigInt
}

// Error names the limit, and both amounts in the unit of the fees.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%v: %s is above the limit of %s", e.Err, e.Amount, e.Limit)
}

// Unwrap returns Err.
func (e *LimitError) Unwrap() error { return e.Err }

// errDailyBudget is the error of WithDailyBudget.
var errDailyBudget = fmt.Errorf("%w of the day", ErrBudget)

// checkBudgets checks the sums of the fees with e, in all and on its day.
func (l *Ledger) checkBudgets(e Entry) error {
	total := e.Fee.Add(l.sum(func(Entry) bool { return true }))
	today := e.Fee.Add(l.sum(func(other Entry) bool { return l.day(other) == l.day(e) }))
	switch {
	case l.total != nil && total.Cmp(*l.total) > 0:
		return &LimitError{ErrBudget, total, *l.total}
	case l.perDay != nil && today.Cmp(*l.perDay) > 0:
		return &LimitError{errDailyBudget, today, *l.perDay}
	}
	return nil
}

func (l *Ledger) day(e Entry) string { return e.Time.In(l.location).Format(time.DateOnly) }

// sum adds the fees of the included entries that are, or may be, paid.
func (l *Ledger) sum(includes func(Entry) bool) (sum horseracing.BigInt) {
	for _, e := range l.entries {
		if e.State != Refused && e.State != Absent && includes(e) {
			sum = sum.Add(e.Fee)
		}
	}
	return sum
}
