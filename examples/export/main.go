// Export crawls the finished races of a tier, with their participants, into an
// SQLite database, and writes CSV and Parquet files from it.
//
//	go -C examples/export run . -out /tmp/races
//	go -C examples/export run . -out /tmp/races -format csv,parquet -since 2026-01-01 -concurrency 8
//	go -C examples/export run . -out /tmp/races -follow
//
// It may be stopped at any moment, by Ctrl-C, kill -9 or a power cut, and be
// started again with the same flags: the place in the listing is stored in the
// same transaction as the races before it, so nothing is lost and nothing is
// read twice. Started again after it was done, it fetches only what is new.
//
// It leaves races.sqlite (tables races, participants and walks) and, as asked,
// races.csv, races-participants.csv, races.parquet, races-participants.parquet.
// Fees and prizes are text with every digit: no format here has an integer
// that is wide enough for them.
//
// Without HORSERACING_BASE_URL and HORSERACING_API_KEY it reads from a fake of
// the service that lives for this run and is the same all day.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

const usage = `Usage: export [flags]

Crawls finished races and their participants into OUT.sqlite; stop it whenever
you like and start it again with the same flags to go on. Reads from an embedded
fake unless HORSERACING_BASE_URL and HORSERACING_API_KEY are set.

Examples:
  export -out omega                            every race of the default tier
  export -out year -since 2026-01-01 -format csv,parquet
  export -out omega -concurrency 8 -follow     then go on with new results

Flags:
`

// options are the flags, read.
type options struct {
	out           string
	formats       []string
	tier          horseracing.TierID
	since, before time.Time
	concurrency   int
	follow        bool
	interval      time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

// run is the whole program; it returns the exit status.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	switch err := export(ctx, o, stderr); {
	case err != nil && ctx.Err() != nil:
		fmt.Fprintln(stderr, "export: stopped; the same command goes on from here")
		return 130
	case err != nil:
		fmt.Fprintf(stderr, "export: %v\n", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{formats: []string{"sqlite"}}
	flags := flag.NewFlagSet("export", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage); flags.PrintDefaults() }
	flags.StringVar(&o.out, "out", "races", "write to files whose names begin with `NAME`")
	flags.Func("format", "comma-separated `LIST` of sqlite, csv, parquet (default sqlite, which is always written)", func(s string) error {
		o.formats = strings.Split(s, ",")
		for _, f := range o.formats {
			if !slices.Contains([]string{"sqlite", "csv", "parquet"}, f) {
				return fmt.Errorf("unknown format %q", f)
			}
		}
		return nil
	})
	flags.IntVar((*int)(&o.tier), "tier", int(horseracing.TierOmega), "tier `ID`")
	flags.Func("since", "only races that start at this `TIME` (UTC, 2026-01-31 or 2026-01-31T15:04:05Z) or later", parseTime(&o.since))
	flags.Func("before", "only races that start before this `TIME` (default: now)", parseTime(&o.before))
	flags.IntVar(&o.concurrency, "concurrency", 4, "pages to fetch at the same time")
	flags.BoolVar(&o.follow, "follow", false, "when done, go on with new results until Ctrl-C")
	flags.DurationVar(&o.interval, "interval", 30*time.Second, "with -follow: how often to look for new results")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if err := o.check(flags.Args()); err != nil {
		fmt.Fprintf(stderr, "export: %v (see export -h)\n", err)
		return o, err
	}
	return o, nil
}

func (o options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.out == "" || os.IsPathSeparator(o.out[len(o.out)-1]):
		return errors.New("-out must name files, not a directory")
	case o.tier < 1:
		return errors.New("-tier must be at least 1")
	case o.follow && !o.before.IsZero():
		return errors.New("-follow goes on for ever, so it does not go with -before")
	case o.concurrency < 1:
		return errors.New("-concurrency must be at least 1")
	case o.interval <= 0:
		return errors.New("-interval must be positive")
	}
	return nil
}

func parseTime(t *time.Time) func(string) error {
	return func(s string) (err error) {
		if *t, err = time.Parse(time.DateOnly, s); err != nil {
			*t, err = time.Parse(time.RFC3339, s)
		}
		if err != nil {
			return errors.New("want a time such as 2026-01-31 or 2026-01-31T15:04:05Z")
		}
		return nil
	}
}

func export(ctx context.Context, o options, stderr io.Writer) error {
	client, source, stop, err := connect()
	if err != nil {
		return err
	}
	defer stop()
	s, err := openStore(ctx, o.out+".sqlite", source)
	if err != nil {
		return err
	}
	defer s.close()

	w, err := s.walk(ctx, o.tier, o.since, o.before)
	if err != nil {
		return err
	}
	if err := crawl(ctx, client, s, w, o, stderr); err != nil {
		return err
	}
	if err := s.writeFiles(ctx, o.out, o.formats); err != nil || !o.follow {
		return err
	}
	err = follow(ctx, client, s, w, o, stderr)
	return errors.Join(err, s.writeFiles(context.WithoutCancel(ctx), o.out, o.formats))
}

// connect returns a client of the service that the environment names, else of
// a fake that runs until stop is called. source tells the two apart.
func connect() (client *horseracing.Client, source string, stop func(), err error) {
	if os.Getenv("HORSERACING_BASE_URL") == "" && os.Getenv("HORSERACING_API_KEY") == "" {
		// The fake begins at midnight and is put forward to now, so that every
		// run of a day meets the same races and can go on where another stopped.
		midnight := time.Now().UTC().Truncate(24 * time.Hour)
		since := time.Since(midnight)
		fake := horseracingtest.NewServer(horseracingtest.WithClock(func() time.Time { return time.Now().Add(-since) }))
		fake.Advance(since)
		return fake.Client(), "the embedded fake of " + midnight.Format(time.DateOnly), fake.Close, nil
	}
	client, err = horseracing.NewClientFromEnv()
	return client, os.Getenv("HORSERACING_BASE_URL"), func() {}, err
}

// crawl walks the listing from the newest race to the oldest, a transaction a page.
func crawl(ctx context.Context, client *horseracing.Client, s *store, w *walk, o options, stderr io.Writer) (err error) {
	if w.done {
		fmt.Fprintf(stderr, "export: %s.sqlite is complete already\n", o.out)
		return nil
	}
	p := newProgress(stderr, remaining(ctx, client, w))
	defer func() { p.end(err) }()
	pager := client.Races.Results(horseracing.ResultsQuery{
		Tier: w.tier, Since: w.floor, Before: w.before, Resume: w.cursor, Concurrency: o.concurrency,
	})
	for {
		var tie *horseracing.TieOverflowError
		for page, err := range pager.Pages(ctx) {
			if err != nil && !errors.As(err, &tie) {
				return err
			}
			added, err := s.save(ctx, w, page, pager.Cursor())
			if err != nil {
				return err
			}
			p.add(page, added)
		}
		if tie == nil {
			return s.finish(ctx, w)
		}
		// A whole page shares an instant: the listing cannot show whether there
		// are more. Behind it the walk goes on.
		p.note(fmt.Sprintf("%d races start at %s, a whole page: the service cannot show whether there are more", tie.Seen, tie.StartTime.Format(time.RFC3339)))
	}
}

// follow saves each new result until the context ends. A page that cannot be
// read (a DecodeError) does not keep Follow from handing out what is newer, and
// each poll that does not get beyond it begins with the error. So what started
// after the last such error was handed out by a poll that read everything.
func follow(ctx context.Context, client *horseracing.Client, s *store, w *walk, o options, stderr io.Writer) error {
	fmt.Fprintln(stderr, "export: following new results, Ctrl-C stops")
	for race, err := range client.Races.Follow(ctx, horseracing.FollowQuery{
		Tier: w.tier, Since: w.newest.Add(-lookback), Interval: o.interval, Lookback: lookback,
	}) {
		switch {
		case errors.Is(err, horseracing.ErrUnauthorized), errors.Is(err, horseracing.ErrForbidden):
			return err // asking again would not help
		case err != nil:
			if _, unread := errors.AsType[*horseracing.DecodeError](err); unread {
				w.unread = time.Now()
			}
			fmt.Fprintf(stderr, "export: %v; trying again\n", err)
			continue
		}
		saved, err := s.save(ctx, w, []horseracing.Race{*race}, w.cursor)
		if err != nil {
			return err
		}
		if saved > 0 {
			fmt.Fprintf(stderr, "%s  race %d  %d furlongs at %q\n", race.StartTime.Format(time.DateTime), race.MainRaceID, race.Length, race.Info.HippodromeName)
		}
	}
	return ctx.Err()
}

// remaining estimates how many races the walk has before it, 0 if it cannot
// tell. The listing that it walks has no count, but the older one skips
// entries by number: a few requests find where it passes an instant.
func remaining(ctx context.Context, client *horseracing.Client, w *walk) int {
	failed := false
	position := func(instant time.Time) int {
		within := func(offset int) bool {
			if failed {
				return false
			}
			races, err := client.Races.ResultsV1(horseracing.OffsetQuery{Tier: w.tier, Offset: offset}).Take(ctx, 1)
			failed = err != nil
			return err == nil && len(races) > 0 && !races[0].StartTime.Before(instant)
		}
		low, high := 0, 64
		for high < 1<<26 && within(high) {
			low, high = high, high*2
		}
		for high-low > 10+high/50 {
			if middle := (low + high) / 2; within(middle) {
				low = middle
			} else {
				high = middle
			}
		}
		return high
	}
	n := position(w.floor) - w.saved
	if !w.before.IsZero() {
		n -= position(w.before)
	}
	if failed {
		return 0
	}
	return max(n, 0)
}

// progress shows a bar on a terminal, and elsewhere a line every few seconds.
type progress struct {
	out                io.Writer
	bar                *progressbar.ProgressBar // nil: lines
	done, added, total int
	began, next        time.Time
}

const lineEvery = 5 * time.Second

func newProgress(out io.Writer, total int) *progress {
	p := &progress{out: out, total: total, began: time.Now(), next: time.Now().Add(lineEvery)}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if total == 0 {
			total = -1 // a spinner
		}
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(out), progressbar.OptionFullWidth(), progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("races"),
			progressbar.OptionSetPredictTime(true), progressbar.OptionSetElapsedTime(false))
	}
	return p
}

func (p *progress) add(page []horseracing.Race, added int) {
	p.done += len(page)
	p.added += added
	if p.bar != nil {
		if p.total > 0 && p.done > p.total { // it was an estimate
			p.total = p.done
			p.bar.ChangeMax(p.total)
		}
		if len(page) > 0 {
			p.bar.Describe(page[len(page)-1].StartTime.Format(time.DateOnly))
		}
		p.bar.Add(len(page))
		return
	}
	if now := time.Now(); now.After(p.next) && len(page) > 0 {
		p.next = now.Add(lineEvery)
		rate := float64(p.done) / now.Sub(p.began).Seconds()
		line := fmt.Sprintf("%d races, %.0f a second, back to %s", p.done, rate, page[len(page)-1].StartTime.Format(time.DateTime))
		if left := p.total - p.done; left > 0 {
			line += fmt.Sprintf(", %s left", (time.Duration(float64(left)/rate) * time.Second).Round(time.Second))
		}
		fmt.Fprintln(p.out, line)
	}
}

func (p *progress) note(text string) {
	if p.bar != nil {
		p.bar.Clear()
	}
	fmt.Fprintln(p.out, "export:", text)
}

// end sums up, unless an error left nothing to sum up.
func (p *progress) end(err error) {
	if p.bar != nil {
		p.bar.Exit()
		fmt.Fprintln(p.out)
	}
	if err != nil && p.done == 0 {
		return
	}
	fmt.Fprintf(p.out, "export: %d races in %s, %d of them new\n", p.done, time.Since(p.began).Round(time.Millisecond), p.added)
}
