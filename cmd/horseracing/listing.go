package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/pflag"

	"github.com/horseracing-go/horseracing"
)

// listingOptions are the flags of a command that prints a listing, the newest entry
// first.
type listingOptions struct {
	flags         *pflag.FlagSet
	tiers         *string
	since, before *time.Time
	limit         int
	concurrency   int
}

const maxConcurrency = 1000

func listingFlags(flags *pflag.FlagSet) *listingOptions {
	l := &listingOptions{
		flags:  flags,
		tiers:  tierFlag(flags, "5, Omega"),
		since:  timeFlag(flags, "since", "only those that start at this `TIME` or later: 30d, 12h, or a date or instant in UTC; default the whole history"),
		before: timeFlag(flags, "before", "only those that start before this `TIME`; default now"),
	}
	flags.IntVarP(&l.limit, "limit", "n", 0, "print at most this `NUMBER` of entries; default all")
	flags.IntVar(&l.concurrency, "concurrency", 4, "how many `REQUESTS` may be in flight; with -n at most one for each hundred entries, unless this is set")
	return l
}

// check refuses values that would do nothing.
func (l *listingOptions) check() error {
	if l.limit < 1 && l.flags.Changed("limit") {
		return usageError("-n must be at least 1")
	}
	if l.concurrency < 1 || l.concurrency > maxConcurrency {
		return usageError(fmt.Sprintf("--concurrency must be between 1 and %d", maxConcurrency))
	}
	return nil
}

// query selects the listing. A short one is read page by page, and not further ahead than
// -n needs.
func (l *listingOptions) query(tiers []horseracing.TierID) horseracing.ResultsQuery {
	concurrency := l.concurrency
	if l.limit > 0 && !l.flags.Changed("concurrency") {
		concurrency = min(concurrency, 1+l.limit/100)
	}
	return horseracing.ResultsQuery{Tiers: tiers, Since: *l.since, Before: *l.before, Concurrency: concurrency}
}

// listed is how the entries of a listing are printed, and when one starts.
type listed[T any] struct {
	layout layout[T]
	start  func(*T) time.Time
}

// errEnough ends a listing when as many entries were printed as -n allows.
var errEnough = errors.New("enough")

// printer prints the entries of a listing one by one.
type printer[T any] struct {
	*sheet[T]
	listed[T]
	limit, printed int
	reached        func(time.Time)
}

func newPrinter[T any](p *program, o *followOptions, l listed[T]) *printer[T] {
	return &printer[T]{sheet: newSheet(p, l.layout), listed: l, limit: o.limit, reached: p.progressOf(o.name+"s", true)}
}

func (r *printer[T]) print(line any, entry *T) error {
	if err := errors.Join(r.add(line, entry), r.flush()); err != nil {
		return err
	}
	r.reached(r.start(entry))
	if r.printed++; r.printed == r.limit {
		return errEnough
	}
	return nil
}

// storeError is an error of the place where the entries go.
type storeError struct{ error }

func (e *storeError) Unwrap() error { return e.error }

// each passes each entry to add, and calls skip for each that cannot be read. It returns
// an error at the end if there were some.
func each[T any](ctx context.Context, p *program, o *followOptions, entries iter.Seq2[*T, error], add func(*T) error, skip func() error) error {
	skipped := 0
	for entry, err := range entries {
		var failed error
		switch {
		case err == nil:
			failed = add(entry)
		case errors.Is(err, horseracing.ErrSkipped):
			skipped++
			p.complain(err)
			failed = skip()
		case o.follow && !endsReading(err):
			p.complain(err)
		default:
			return err
		}
		if failed != nil {
			return &storeError{failed}
		}
	}
	if skipped > 0 {
		return fmt.Errorf("some %ss could not be read", o.name)
	}
	return ctx.Err()
}

// printListing prints a listing, the newest entry first.
func printListing[T any](ctx context.Context, p *program, o *followOptions, l listed[T], pager *horseracing.Pager[T]) error {
	r := newPrinter(p, o, l)
	err := each(ctx, p, o, pager.All(ctx), func(entry *T) error { return r.print(entry, entry) }, func() error { return nil })
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return r.flush()
}
