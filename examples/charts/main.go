// Charts draws finished races: finishing times by hippodrome and length, races
// per day, entry fees over time, and how often the busiest horses win from
// each lane.
//
//	go -C examples/charts run . -out /tmp/charts
//	go -C examples/charts run . -db /tmp/races.sqlite -out /tmp/charts -format svg
//	go -C examples/charts run . -since 2025-03-01 -newest 20000
//
// It reads a database that the example export left (-db), or else the service
// itself, and writes times.png, days.png, fees.png and lanes.png, or the same
// as SVG, and prints their names.
//
// The pictures in docs/images were made by
//
//	go -C examples/charts run . -only times,days -out ../../docs/images
//
// Without HORSERACING_BASE_URL and HORSERACING_API_KEY the races are those of a
// fake of the service that lives for this run.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite", in Go alone

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

const usage = `Usage: charts [flags]

Draws finishing times, races per day, entry fees and win rates by lane, as PNG
or SVG. Reads the database of an export, or else the service: an embedded fake
unless HORSERACING_BASE_URL and HORSERACING_API_KEY are set.

Examples:
  charts -out pictures                          the 2000 newest races
  charts -db races.sqlite -format png,svg       what export has stored
  charts -only fees,days -since 2025-03-01

Flags:
`

// A race is what the charts need of one.
type race struct {
	start      time.Time
	hippodrome string
	length     int
	fee        float64 // in units of 10^18; for drawing, exact values stay elsewhere
	runners    []runner
}

type runner struct {
	horse int64
	lane  int // 0: not known
	total float64
	place int // 0: not known
}

type options struct {
	db, out       string
	formats, only []string
	tier          horseracing.TierID
	since         time.Time
	newest        int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	switch err := drawAll(ctx, o, stdout); {
	case err != nil && ctx.Err() != nil:
		fmt.Fprintln(stderr, "charts: stopped")
		return 130
	case err != nil:
		fmt.Fprintf(stderr, "charts: %v\n", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (options, error) {
	var names []string
	for _, c := range charts {
		names = append(names, c.name)
	}
	o := options{formats: []string{"png"}, only: names}
	flags := flag.NewFlagSet("charts", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage); flags.PrintDefaults() }
	flags.StringVar(&o.db, "db", "", "read from this `FILE`, a database of the example export")
	flags.StringVar(&o.out, "out", ".", "write into this `DIRECTORY`")
	flags.Func("format", "comma-separated `LIST` of png, svg (default png)", listOf(&o.formats, "png", "svg"))
	flags.Func("only", "comma-separated `LIST` of "+strings.Join(names, ", ")+" (default all)", listOf(&o.only, names...))
	flags.IntVar((*int)(&o.tier), "tier", int(horseracing.TierOmega), "tier `ID`")
	flags.Func("since", "only races that start on this `DAY` (UTC, 2026-01-31) or later", func(s string) (err error) {
		if o.since, err = time.Parse(time.DateOnly, s); err != nil {
			return errors.New("want a day such as 2026-01-31")
		}
		return nil
	})
	flags.IntVar(&o.newest, "newest", 2000, "draw at most `N` races, the newest of the tier")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.tier < 1:
		err = errors.New("-tier must be at least 1")
	case o.newest < 1:
		err = errors.New("-newest must be at least 1")
	}
	if err != nil {
		fmt.Fprintf(stderr, "charts: %v (see charts -h)\n", err)
	}
	return o, err
}

// listOf reads a comma-separated list of known words.
func listOf(list *[]string, known ...string) func(string) error {
	return func(s string) error {
		*list = strings.Split(s, ",")
		for _, word := range *list {
			if !slices.Contains(known, word) {
				return fmt.Errorf("unknown %q", word)
			}
		}
		return nil
	}
}

func drawAll(ctx context.Context, o options, stdout io.Writer) error {
	read := fromService
	if o.db != "" {
		read = fromDatabase
	}
	races, err := read(ctx, o)
	if err != nil {
		return err
	}
	if len(races) == 0 {
		return errors.New("there are no finished races to draw")
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	for _, c := range charts {
		if !slices.Contains(o.only, c.name) {
			continue
		}
		for _, format := range o.formats {
			path := filepath.Join(o.out, c.name+"."+format)
			if err := c.save(path, format, races); err != nil {
				return err
			}
			fmt.Fprintln(stdout, path)
		}
	}
	return ctx.Err()
}

// fromService reads the newest races through the client, newest first.
func fromService(ctx context.Context, o options) ([]race, error) {
	client, stop, err := connect()
	if err != nil {
		return nil, err
	}
	defer stop()
	pager := client.Races.Results(horseracing.ResultsQuery{Tier: o.tier, Since: o.since, Concurrency: 4})
	listed, err := pager.Take(ctx, o.newest)
	if err != nil {
		return nil, err
	}
	races := make([]race, 0, len(listed))
	for _, l := range listed {
		finishers, err := l.Finishers()
		if err != nil {
			return nil, err
		}
		r := race{start: l.StartTime.Time, hippodrome: l.Info.HippodromeName, length: l.Length, fee: tokens(l.EntryFee)}
		for i, f := range finishers {
			r.runners = append(r.runners, runner{horse: int64(f.Number), lane: f.Lane, total: f.Total, place: i + 1})
		}
		races = append(races, r)
	}
	return races, nil
}

// connect returns a client of the service that the environment names, else of
// a fake that runs until stop is called.
func connect() (client *horseracing.Client, stop func(), err error) {
	if os.Getenv("HORSERACING_BASE_URL") == "" && os.Getenv("HORSERACING_API_KEY") == "" {
		fake := horseracingtest.NewServer() // its clock stands still: the same races, the same pictures
		return fake.Client(), fake.Close, nil
	}
	client, err = horseracing.NewClientFromEnv()
	return client, func() {}, err
}

// tokens is a fee in units of 10^18, good enough to draw.
func tokens(fee horseracing.BigInt) float64 {
	f, _ := strconv.ParseFloat(fee.Decimal(18), 64) // Decimal writes nothing else
	return f
}

// fromDatabase reads the newest races from a database of the example export.
func fromDatabase(ctx context.Context, o options) ([]race, error) {
	if _, err := os.Stat(o.db); err != nil { // opening would create it
		return nil, err
	}
	name, err := sqliteURI(o.db)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", name+"?_pragma=busy_timeout(5000)&_pragma=query_only(1)")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, `
		WITH newest AS (
			SELECT race_id, start_time, hippodrome, length, entry_fee FROM races
			WHERE tier_id = ? AND start_time >= ? ORDER BY start_time DESC, race_id DESC LIMIT ?)
		SELECT r.*, coalesce(p.horse, 0), coalesce(p.lane, 0), coalesce(p.total, 0), coalesce(p.place, 0)
		FROM newest r LEFT JOIN participants p USING (race_id)
		ORDER BY r.start_time DESC, r.race_id DESC, p.place`,
		o.tier, max(0, o.since.UnixMilli()), o.newest)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.db, err)
	}
	defer rows.Close()
	var races []race
	for last := int64(-1); rows.Next(); {
		var id, start int64
		var fee horseracing.BigInt
		var r race
		var p runner
		if err := rows.Scan(&id, &start, &r.hippodrome, &r.length, &fee, &p.horse, &p.lane, &p.total, &p.place); err != nil {
			return nil, fmt.Errorf("%s: %w", o.db, err)
		}
		if id != last {
			last, r.start, r.fee = id, time.UnixMilli(start).UTC(), tokens(fee)
			races = append(races, r)
		}
		if p.horse != 0 {
			r := &races[len(races)-1]
			r.runners = append(r.runners, p)
		}
	}
	return races, rows.Err()
}

// sqliteURI names a file so that SQLite takes every character of its path as it stands.
func sqliteURI(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // C:/...
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String(), nil
}
