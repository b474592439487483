package ledger

import (
	"fmt"
	"iter"
	"time"

	"github.com/horseracing-go/horseracing"
)

// maxFeeDigits is the maximum number of digits of a BigInt that can be decoded.
const maxFeeDigits = 100

// Option limits what a Ledger registers.
type Option func(*limits)

type limits struct {
	total, perDay, maxFee *horseracing.BigInt // nil if not set
	location              *time.Location      // of the days
	freeRaces             bool
}

// WithBudget limits the sum of all fees in the ledger. Entries that are Sending or
// Unknown count like Entered ones. The default is no limit; a budget of zero allows
// free races only.
func WithBudget(total horseracing.BigInt) Option {
	return func(l *limits) { l.total = &total }
}

// WithDailyBudget limits the sum of the fees of each calendar day in loc, by the time
// at which an entry was sent. The default is no limit. If loc is nil, Open returns
// ErrInvalidArgument.
func WithDailyBudget(perDay horseracing.BigInt, loc *time.Location) Option {
	return func(l *limits) { l.perDay, l.location = &perDay, loc }
}

// WithMaxFee limits the fee of one registration. The default is no limit.
func WithMaxFee(fee horseracing.BigInt) Option {
	return func(l *limits) { l.maxFee = &fee }
}

// WithFreeRaces allows fees that are not positive. Without it they are ErrFee, because
// the service may have left out the fee of a race that costs something.
func WithFreeRaces() Option {
	return func(l *limits) { l.freeRaces = true }
}

func (l *limits) checkFee(fee horseracing.BigInt) error {
	switch {
	case !l.freeRaces && (isNegative(fee) || fee.IsZero()):
		return fmt.Errorf("%w: %s is not positive, so the service may have left the fee out; WithFreeRaces allows it", ErrFee, fee)
	case l.maxFee != nil && fee.Cmp(*l.maxFee) > 0:
		return fmt.Errorf("%w: %s is above the limit of %s", ErrFee, fee, l.maxFee)
	case len(fee.String()) > maxFeeDigits:
		return fmt.Errorf("%w: more than %d digits", ErrFee, maxFeeDigits)
	}
	return nil
}

// checkBudgets adds the fee to those of the entries, in all and on the day of now.
func (l *limits) checkBudgets(fee horseracing.BigInt, now time.Time, entries iter.Seq[Entry]) error {
	if isNegative(fee) || fee.IsZero() {
		return nil
	}
	day, total, today := l.day(now), fee.Big(), fee.Big()
	for e := range entries {
		if e.State == Refused || e.State == Absent {
			continue
		}
		total.Add(total, e.Fee.Big())
		if l.day(e.Time) == day {
			today.Add(today, e.Fee.Big())
		}
	}
	switch {
	case l.total != nil && total.Cmp(l.total.Big()) > 0:
		return fmt.Errorf("%w: the fees would be %s, above %s", ErrBudget, total, l.total)
	case l.perDay != nil && today.Cmp(l.perDay.Big()) > 0:
		return fmt.Errorf("%w of the day: the fees would be %s, above %s", ErrBudget, today, l.perDay)
	}
	return nil
}

func (l *limits) day(t time.Time) string { return t.In(l.location).Format(time.DateOnly) }

func isNegative(fee horseracing.BigInt) bool { return fee.Cmp(horseracing.BigInt{}) < 0 }
