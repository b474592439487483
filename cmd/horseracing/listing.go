package main

import (
	"errors"
	"flag"
	"fmt"
	"iter"
	"time"

	"github.com/horseracing-go/horseracing"
)

// listingOptions are the flags of a command that prints a listing, the newest entry
// first.
type listingOptions struct {
	tiers         *[]string
	since, before *time.Time
	most          int
	concurrency   int
}

const maxConcurrency = 1000

func listingFlags(flags *flag.FlagSet) *listingOptions {
	l := &listingOptions{
		tiers:  tierFlag(flags, "5, Omega"),
		since:  timeFlag(flags, "since", "only those that start at this `TIME` or later: 30d, 12h, or a date or instant in UTC; default the whole history"),
		before: timeFlag(flags, "before", "only those that start before this `TIME`; default now"),
	}
	flags.IntVar(&l.most, "n", 0, "print at most this `NUMBER` of entries; default all")
	flags.IntVar(&l.concurrency, "concurrency", 4, "how many `REQUESTS` may be in flight")
	return l
}

// check refuses values that would do nothing.
func (l *listingOptions) check(flags *flag.FlagSet) error {
	if l.most < 1 && exclude(flags, "", "n") != nil {
		return usageError("-n must be at least 1")
	}
	if l.concurrency < 1 || l.concurrency > maxConcurrency {
		return usageError(fmt.Sprintf("-concurrency must be between 1 and %d", maxConcurrency))
	}
	return nil
}

func (l *listingOptions) query(tiers []horseracing.TierID) horseracing.ResultsQuery {
	return horseracing.ResultsQuery{Tiers: tiers, Since: *l.since, Before: *l.before, Concurrency: l.concurrency}
}

// printListing prints entries, up to most unless that is zero. It returns an error at
// the end if some could not be read.
func printListing[T any](p *program, view layout[T], name string, start func(*T) time.Time, entries iter.Seq2[*T, error], most int) error {
	t, printed, holes, reached := newTable(p, view), 0, 0, p.progressOf(name, true)
	for entry, err := range entries {
		switch {
		case err == nil:
			if err := errors.Join(t.add(entry, entry), t.flush()); err != nil {
				return err
			}
			printed++
			reached(start(entry))
		case errors.Is(err, horseracing.ErrSkipped):
			holes++
			p.complain(err)
		default:
			return err
		}
		if printed == most && most > 0 {
			break
		}
	}
	if holes > 0 {
		return fmt.Errorf("some %s could not be read", name)
	}
	return t.flush()
}
