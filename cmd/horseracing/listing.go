package main

import (
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
	tiers         *[]string
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
	flags.IntVar(&l.concurrency, "concurrency", 4, "how many `REQUESTS` may be in flight")
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

func (l *listingOptions) query(tiers []horseracing.TierID) horseracing.ResultsQuery {
	return horseracing.ResultsQuery{Tiers: tiers, Since: *l.since, Before: *l.before, Concurrency: l.concurrency}
}

// printListing prints entries, up to limit unless that is zero. It returns an error at
// the end if some could not be read.
func printListing[T any](p *program, l listed[T], name string, entries iter.Seq2[*T, error], limit int) error {
	table, printed, skipped, reached := newSheet(p, l.layout), 0, 0, p.progressOf(name, true)
	for entry, err := range entries {
		switch {
		case err == nil:
			if err := errors.Join(table.add(entry, entry), table.flush()); err != nil {
				return err
			}
			printed++
			reached(l.start(entry))
		case errors.Is(err, horseracing.ErrSkipped):
			skipped++
			p.complain(err)
		default:
			return err
		}
		if printed == limit && limit > 0 {
			break
		}
	}
	if skipped > 0 {
		return fmt.Errorf("some %s could not be read", name)
	}
	return table.flush()
}
