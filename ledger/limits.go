package ledger

import (
	"fmt"
	"math/big"
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

// checkBudgets checks the sums of the fees with e, in all and on its day.
func (l *Ledger) checkBudgets(e Entry) error {
	total := l.sum(func(Entry) bool { return true })
	today := l.sum(func(other Entry) bool { return l.day(other) == l.day(e) })
	total.Add(total, e.Fee.Big())
	today.Add(today, e.Fee.Big())
	switch {
	case l.total != nil && total.Cmp(l.total.Big()) > 0:
		return fmt.Errorf("%w: the fees would be %s, above %s", ErrBudget, total, l.total)
	case l.perDay != nil && today.Cmp(l.perDay.Big()) > 0:
		return fmt.Errorf("%w of the day: the fees would be %s, above %s", ErrBudget, today, l.perDay)
	}
	return nil
}

func (l *Ledger) day(e Entry) string { return e.Time.In(l.location).Format(time.DateOnly) }

// sum adds the fees of the included entries that are, or may be, paid.
func (l *Ledger) sum(includes func(Entry) bool) *big.Int {
	sum := new(big.Int)
	for _, e := range l.entries {
		if e.State != Refused && e.State != Absent && includes(e) {
			sum.Add(sum, e.Fee.Big())
		}
	}
	return sum
}
