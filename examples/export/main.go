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
// It leaves races.sqlite (tables races, participants and walks) and, with
// -format, races.csv, races-participants.csv, races.parquet and
// races-participants.parquet. Fees and prizes are text with every digit: no
// format here has an integer that is wide enough for them. With -raw the column
// json holds each race as it came.
//
// Without HORSERACING_BASE_URL and HORSERACING_API_KEY it reads a fake of the
// service that lives for this run and is the same all day.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

const usage = `Usage: export [flags]

Crawls finished races and their participants into OUT.sqlite; stop it whenever
you like and start it again with the same flags to go on. Reads an embedded
fake unless HORSERACING_BASE_URL and HORSERACING_API_KEY are set.

Examples:
  export -out omega                            every race of tier Omega
  export -out year -since 2026-01-01 -format csv,parquet
  export -out omega -concurrency 8 -follow     then go on with new results
  export -out omega -raw                       with the members that no column has

Flags:
`

// options are the flags, parsed.
type options struct {
	out           string
	source        string // empty: the service's address
	formats       []string
	tier          horseracing.TierID
	since, before time.Time
	concurrency   int
	follow, raw   bool
	interval      time.Duration
}

func main() {
	program.Main(func(ctx context.Context, args []string, _, stderr io.Writer) int { return run(ctx, args, stderr) })
}

// run is the whole program; it returns the exit status.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	o := options{formats: []string{"sqlite"}}
	flags := flag.NewFlagSet("export", flag.ContinueOnError)
	flags.StringVar(&o.out, "out", "races", "write to files whose names begin with `NAME`")
	flags.StringVar(&o.source, "source", "", "the service's `NAME` in the database, which refuses another's races (default: its address)")
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
	flags.BoolVar(&o.raw, "raw", false, "store each race's JSON as it came, too, in the column json (what -follow stores gets it in the next run without -follow)")
	flags.DurationVar(&o.interval, "interval", 30*time.Second, "with -follow: how often to look for new results")
	if status, ok := program.Parse(flags, usage, args, stderr, func() error { return o.check() }); !ok {
		return status
	}
	err := export(ctx, o, stderr)
	if err != nil && ctx.Err() != nil {
		fmt.Fprintln(stderr, "export: stopped; the same command goes on from here")
		return 130
	}
	return program.Exit(ctx, "export", err, stderr)
}

func (o options) check() error {
	switch {
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
	service, source, err := connect()
	if err != nil {
		return err
	}
	defer service.Close()
	service.Announce(stderr)
	if o.source != "" {
		source = o.source
	}
	path := o.out + ".sqlite"
	if err := prepare(ctx, service.Client, o, path); err != nil {
		return err
	}
	unlock, err := lock(ctx, path)
	if err != nil {
		return err
	}
	defer unlock()
	s, err := openStore(ctx, path, source)
	if err != nil {
		return err
	}
	defer s.close()

	w, err := s.walk(ctx, o.tier, o.since, o.before, o.follow)
	if err != nil {
		return err
	}
	if err := crawl(ctx, service.Client, s, w, o, stderr); err != nil {
		return err
	}
	if o.raw {
		if n, err := s.count(ctx, "races WHERE json IS NULL"); err != nil {
			return err
		} else if n > 0 {
			fmt.Fprintf(stderr, "export: %d races have no JSON, as they were stored without -raw\n", n)
		}
	}
	if err := s.writeFiles(ctx, o, stderr); err != nil || !o.follow {
		return err
	}
	err = follow(ctx, service.Client, s, w, o, stderr)
	return errors.Join(err, s.writeFiles(context.WithoutCancel(ctx), o, stderr))
}

// connect returns the service, and its name in the database.
func connect() (service *program.Service, source string, err error) {
	// The fake begins at midnight and is put forward to now, so that every run
	// of a day meets the same races and can go on where another stopped.
	midnight := time.Now().UTC().Truncate(24 * time.Hour)
	service, err = program.ConnectOrStart(func() (*horseracingtest.Server, error) {
		since := time.Since(midnight)
		fake, err := horseracingtest.Start(horseracingtest.WithClock(func() time.Time { return time.Now().Add(-since) }))
		if err == nil {
			fake.Advance(since)
		}
		return fake, err
	})
	if err == nil && service.Fake != nil {
		return service, "the embedded fake of " + midnight.Format(time.DateOnly), nil
	}
	return service, os.Getenv("HORSERACING_BASE_URL"), err
}

// prepare makes the folder of a new database, but not before the service has
// responded: a wrong key, host or tier leaves nothing behind.
func prepare(ctx context.Context, client *horseracing.Client, o options, path string) error {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	results := client.Races.Results(horseracing.ResultsQuery{Tier: o.tier, Since: o.since, Before: o.before})
	if _, err := program.Newest(ctx, results, 1, io.Discard); err != nil {
		return err
	}
	return os.MkdirAll(filepath.Dir(path), 0o755)
}

// newProgress begins to count units on the terminal, if out is one.
func newProgress(out io.Writer, unit string, total int) *program.Progress {
	var width func() int
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		width = func() int {
			columns, _, _ := term.GetSize(int(f.Fd()))
			return columns
		}
	}
	return program.NewProgress(out, width, unit, total)
}
