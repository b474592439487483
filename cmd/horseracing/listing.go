package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/cmd/internal/connection"
)

// listingOptions are the flags of a command that prints a listing, the newest entry first,
// or what is new in it.
type listingOptions struct {
	flags         *pflag.FlagSet
	name          string               // of an entry
	words         *[]string            // of --tier
	tiers         []horseracing.TierID // known after resolve
	since, before *instant
	concurrency   int
	out           string // a flag of results alone
	cursor        string
	follow        bool
	interval      time.Duration
}

const maxConcurrency = 1000

func listingFlags(c *cobra.Command, name string) *listingOptions {
	flags := c.Flags()
	o := &listingOptions{
		flags:  flags,
		name:   name,
		words:  tiersFlag(flags),
		since:  timeFlag(flags, "since", "only those that start at this `TIME` or later: 30d, 12h, or a date or instant in UTC; default the whole history"),
		before: timeFlag(flags, "before", "only those that start before this `TIME`; default now"),
	}
	flags.IntVar(&o.concurrency, "concurrency", 4, "send at most this many `REQUESTS` at once; by default fewer if -n is small")
	fileFlag(flags, &o.cursor, "cursor", "", "keep the position in this `FILE`, and continue there if it exists")
	flags.BoolVar(&o.follow, "follow", false, "wait for "+name+"s to finish, and print them as they appear")
	flags.DurationVar(&o.interval, "interval", 0, "with --follow, the `TIME` between polls (default 30s)")
	c.MarkFlagsMutuallyExclusive("before", "cursor")
	c.MarkFlagsMutuallyExclusive("before", "follow")
	return o
}

// isKept reports whether what is new is printed: since a position, or from now on.
func (o *listingOptions) isKept() bool { return o.cursor != "" || o.out != "" || o.follow }

// tier returns the one tier that is followed.
func (o *listingOptions) tier() horseracing.TierID { return o.tiers[0] }

// check refuses flags that would do nothing, or contradict each other.
func (o *listingOptions) check(p *program) error {
	switch {
	case o.isKept() && len(*o.words) > 1:
		return usageError("--follow, -o and --cursor take one tier")
	case o.concurrency < 1 || o.concurrency > maxConcurrency:
		return usageError(fmt.Sprintf("--concurrency must be between 1 and %d", maxConcurrency))
	case o.interval < 0:
		return usageError("--interval must not be negative")
	case !o.before.IsZero() && o.since.After(o.before.Time):
		return usageError("--since must not be after --before")
	case o.out != "" && p.asTable:
		return usageError("--table and -o exclude each other")
	case o.isKept() && o.flags.Changed("sort"):
		return usageError("--sort excludes --follow, -o and --cursor, which print the oldest first")
	case !o.follow:
		return needs(o.flags, "--follow", "interval")
	}
	return nil
}

// resolve checks the flags, and requests what they leave open: the numbers of tiers that were
// given by name, and the time of the service. A time such as 30d is counted back from the
// earlier of both clocks, so that nothing is missed if the one of this computer is ahead.
func (o *listingOptions) resolve(ctx context.Context, p *program, s *service) (err error) {
	if err := o.check(p); err != nil {
		return err
	}
	if o.since.After(time.Now()) {
		p.say("--since is in the future")
	}
	if o.tiers, err = tierNumbers(ctx, s, *o.words); err != nil || !o.since.isAgo && !o.before.isAgo {
		return err
	}
	var response horseracing.Response
	_ = s.Do(ctx, http.MethodGet, resultsPath, map[string]any{"tier": o.tier()}, nil, horseracing.CaptureResponse(&response)) // the listing has the error, too
	ahead := time.Since(connection.ServiceTime(&response))
	if ahead.Abs() > time.Minute {
		p.say(fmt.Sprintf("the clock of this computer differs from that of the service by %v: times ago count from the earlier one", ahead.Abs().Round(time.Second)))
	}
	for _, t := range []*instant{o.since, o.before} {
		if t.isAgo && ahead > 0 {
			t.Time = t.Add(-ahead)
		}
	}
	return nil
}

// resultsPath is the path of the finished races.
const resultsPath = "/api/v2/races/results"

// query selects the listing. A short one is read page by page, and not further ahead than
// -n needs.
func (o *listingOptions) query(tier horseracing.TierID, limit int) horseracing.ResultsQuery {
	concurrency := o.concurrency
	if limit > 0 && !o.flags.Changed("concurrency") {
		concurrency = min(concurrency, 1+limit/100)
	}
	return horseracing.ResultsQuery{Tier: tier, Since: o.since.Time, Before: o.before.Time, Concurrency: concurrency}
}

// listed is how the entries of a listing are read and printed, and when one starts.
type listed[T any] struct {
	view    *view[T]
	start   func(*T) time.Time
	results func(horseracing.ResultsQuery) *horseracing.Pager[T]
	follow  func(horseracing.FollowQuery) *horseracing.Follower[T]
}

// errEnough ends a listing when as many entries were printed as -n allows.
var errEnough = errors.New("enough")

// printer prints the entries of a listing one by one.
type printer[T any] struct {
	*sheet[T]
	listed[T]
	printed int
	reached func(time.Time)
	kept    []horseracing.Entry[T] // with --sort, until all were read
}

func newPrinter[T any](p *program, o *listingOptions, l listed[T]) *printer[T] {
	return &printer[T]{sheet: newSheet(l.view), listed: l, reached: p.progressOf(o.name, p.interactive && l.view.order == "")}
}

// print prints an entry that fits, or with --sort keeps it.
func (r *printer[T]) print(e horseracing.Entry[T]) error {
	defer r.reached(r.start(e.Value))
	switch {
	case !r.fits(e.Value):
		return nil
	case r.order != "":
		r.kept = append(r.kept, e)
		return nil
	}
	if err := errors.Join(r.add(e), r.flush()); err != nil {
		return err
	}
	if r.printed++; r.printed == r.p.limit {
		return errEnough
	}
	return nil
}

// each passes each entry to add. With --follow it prints an error that may pass, and goes on.
func each[T any](ctx context.Context, p *program, o *listingOptions, entries iter.Seq2[horseracing.Entry[T], error], add func(horseracing.Entry[T]) error) error {
	for entry, err := range entries {
		if err == nil {
			err = add(entry)
		} else if o.follow && !endsReading(err) {
			p.complain(err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// loop returns what is new, and with --follow what will be.
func loop[T any](ctx context.Context, o *listingOptions, f *horseracing.Follower[T]) iter.Seq2[horseracing.Entry[T], error] {
	values := f.CatchUp(ctx)
	if o.follow {
		values = f.All(ctx)
	}
	return func(yield func(horseracing.Entry[T], error) bool) {
		for value, err := range values {
			if !yield(horseracing.Entry[T]{Value: value, JSON: f.JSON()}, err) {
				return
			}
		}
	}
}

// printFinished prints a listing, the newest entry first. With --cursor or --follow it
// prints what is new: since that position, or since now.
func printFinished[T any](ctx context.Context, p *program, s *service, o *listingOptions, l listed[T]) error {
	if o.cursor != "" || o.follow {
		return printNew(ctx, p, s, o, l)
	}
	r, limit := newPrinter(p, o, l), p.limit
	if r.order != "" || len(r.keeps) > 0 {
		limit = 0 // all may have to be read
	}
	defer r.remember()
	defer func() {
		if ctx.Err() != nil && r.printed > 0 {
			p.say("the listing is incomplete")
		}
	}()
	for _, tier := range o.tiers {
		err := each(ctx, p, o, l.results(o.query(tier, limit)).Entries(ctx), r.print)
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	if r.order != "" {
		return r.sheet.view.print(r.kept, nil)
	}
	if r.printed == 0 {
		p.say("no finished " + o.name + " was found")
	}
	return r.flush()
}

// printNew prints what is new since the position of --cursor, or with --follow alone since
// now.
func printNew[T any](ctx context.Context, p *program, s *service, o *listingOptions, l listed[T]) (err error) {
	at := &position{} // keeps nothing
	if o.cursor != "" {
		if at, err = openPosition(p, o.cursor, origin{Service: s.BaseURL(), Tier: o.tier(), Since: o.since.Time}); err != nil {
			return err
		}
	}
	defer at.close()
	f := l.follow(o.newQuery(at))
	r := newPrinter(p, o, l)
	defer r.remember()
	var printed error
	err = each(ctx, p, o, loop(ctx, o, f), func(e horseracing.Entry[T]) error {
		if printed = r.print(e); printed != nil {
			return printed
		}
		return at.keep(f.Cursor())
	})
	switch {
	case errors.Is(printed, errEnough):
		err = nil
	case printed != nil:
		return printed // the last line may not have been read
	case err != nil && at.Cursor.IsZero():
		return err // a first run that read nothing leaves --since to the next
	}
	if o.cursor != "" {
		o.sayHowToContinue(ctx, p, err)
	}
	_ = at.keep(f.Cursor()) // save returns its error
	return errors.Join(err, at.save())
}

// sayHowToContinue says what to do about a crawl that ended early, and whose position is kept.
func (o *listingOptions) sayHowToContinue(ctx context.Context, p *program, err error) {
	switch {
	case ctx.Err() == nil && !isUnavailable(err): // it is complete, or the same command line would fail again
	case o.follow:
		p.say("stopped: the same command line continues")
	default:
		p.say("not all " + o.name + "s were read yet: the same command line continues")
	}
}

// newQuery selects what comes after a position, or if there is none what starts at --since.
func (o *listingOptions) newQuery(at *position) horseracing.FollowQuery {
	q := horseracing.FollowQuery{Tier: o.tier(), Resume: at.Cursor, Interval: o.interval, Concurrency: o.concurrency}
	if q.Since = o.since.Time; q.Since.IsZero() && at.path != "" {
		q.Since = time.UnixMilli(1) // the whole history
	}
	return q
}
