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
// as SVG, and prints their names. Each picture has a line that names its races.
//
// The pictures in docs/images were made by
//
//	go -C examples/charts run . -only times,days -out ../../docs/images
//
// Without HORSERACING_BASE_URL and HORSERACING_API_KEY the races are those of a
// fake of the service that lives for this run.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite", in Go alone

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

const usage = `Usage: charts [flags]

Draws finishing times, races per day, entry fees and win rates by lane, as PNG
or SVG. Reads the database of an export, or else the service: an embedded fake
unless HORSERACING_BASE_URL and HORSERACING_API_KEY are set.

Examples:
  charts -out pictures                          the 2000 newest races
  charts -db races.sqlite -format png,svg       all that export has stored
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
	newest        int // zero: all of a database, defaultNewest of the service
}

// defaultNewest is about 230 requests.
const defaultNewest = 2000

func main() { program.Main(run) }

// run is the whole program; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var names []string
	for _, c := range charts {
		names = append(names, c.name)
	}
	o := options{formats: []string{"png"}, only: names}
	flags := flag.NewFlagSet("charts", flag.ContinueOnError)
	flags.StringVar(&o.db, "db", "", "read this `FILE`, a database of the example export")
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
	flags.Func("newest", fmt.Sprintf("draw at most `N` races, the newest (default: all of a database, %d of the service)", defaultNewest), func(s string) (err error) {
		if o.newest, err = strconv.Atoi(s); err != nil || o.newest < 1 {
			return errors.New("want a number of at least 1")
		}
		return nil
	})
	status, ok := program.Parse(flags, usage, args, stderr, func() error {
		if o.tier < 1 {
			return errors.New("-tier must be at least 1")
		}
		return nil
	})
	if !ok {
		return status
	}
	return program.Exit(ctx, "charts", drawAll(ctx, o, stdout, stderr), stderr)
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

func drawAll(ctx context.Context, o options, stdout, stderr io.Writer) error {
	read := fromService
	if o.db != "" {
		read = fromDatabase
	}
	races, all, err := read(ctx, o, stderr)
	if err != nil {
		return err
	}
	if len(races) == 0 {
		return fmt.Errorf("there are no finished races of tier %d to draw (-tier)", o.tier)
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
			if err := c.save(path, format, races, caption(races, all, o.tier)); err != nil {
				return err
			}
			fmt.Fprintln(stdout, path)
		}
	}
	return ctx.Err()
}

// caption describes the races that are drawn, newest first: all since the
// beginning, or the newest of them.
func caption(races []race, all bool, tier horseracing.TierID) string {
	const layout = "2 Jan 2006"
	first, last := races[len(races)-1].start.UTC().Format(layout), races[0].start.UTC().Format(layout)
	when := "on " + last
	if first != last {
		when = first + " to " + last
	}
	if all {
		return fmt.Sprintf("All %d races of tier %d, %s (UTC)", len(races), tier, when)
	}
	return fmt.Sprintf("The %d newest races of tier %d, %s (UTC); older ones are not drawn", len(races), tier, when)
}

// fromService reads the newest races through the client, newest first. all
// reports whether there are no older ones.
func fromService(ctx context.Context, o options, stderr io.Writer) (races []race, all bool, err error) {
	// The fake's clock stands still: the same races, the same pictures.
	service, err := program.ConnectOrStart(func() (*horseracingtest.Server, error) { return horseracingtest.Start() })
	if err != nil {
		return nil, false, err
	}
	defer service.Close()
	service.Announce(stderr)
	return newestRaces(ctx, service.Client, o, stderr)
}

func newestRaces(ctx context.Context, client *horseracing.Client, o options, stderr io.Writer) (races []race, all bool, err error) {
	newest := cmp.Or(o.newest, defaultNewest)
	progress := program.NewProgress(stderr, nil, "races", newest)
	defer progress.AnnouncePauses(client)()
	pager := client.Races.Results(horseracing.ResultsQuery{Tier: o.tier, Since: o.since, Concurrency: 4})
	for entry, err := range pager.Entries(ctx) {
		_, isTie := errors.AsType[*horseracing.TieOverflowError](err)
		switch {
		case isTie || err != nil && entry.JSON != nil: // one place of the listing cannot be read, and the walk goes on
			progress.Println(fmt.Sprintf("charts: left out: %v", err))
			continue
		case err != nil:
			return nil, false, err
		case len(races) == newest:
			return races, false, nil
		}
		l := entry.Value
		finishers, err := l.Finishers()
		if err != nil {
			progress.Println(fmt.Sprintf("charts: left out: %v", err))
			continue
		}
		r := race{start: l.StartTime.Time, hippodrome: l.Info.HippodromeName, length: l.Length, fee: tokens(l.EntryFee)}
		for i, f := range finishers {
			r.runners = append(r.runners, runner{horse: int64(f.Number), lane: f.Lane, total: f.Total, place: i + 1})
		}
		races = append(races, r)
		progress.Add(1, "back to "+r.start.Format(time.DateOnly), program.Pace(client))
	}
	return races, true, nil
}

// tokens is a fee in units of 10^18, good enough to draw.
func tokens(fee horseracing.BigInt) float64 {
	f, _ := strconv.ParseFloat(fee.Decimal(18), 64) // Decimal writes nothing else
	return f
}

// fromDatabase reads the newest races from a database of the example export,
// newest first. all reports whether there are no older ones.
func fromDatabase(ctx context.Context, o options, stderr io.Writer) (races []race, all bool, err error) {
	if _, err := os.Stat(o.db); err != nil { // opening would create it
		return nil, false, err
	}
	name, err := program.SQLiteURI(o.db)
	if err != nil {
		return nil, false, err
	}
	db, err := sql.Open("sqlite", name+"?_pragma=busy_timeout(5000)&_pragma=query_only(1)")
	if err != nil {
		return nil, false, err
	}
	defer db.Close()
	if err := program.CheckExport(ctx, db, o.db, false); err != nil {
		return nil, false, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", o.db, err)
		}
	}()
	source := "none yet"
	if err := db.QueryRowContext(ctx, `SELECT name FROM source`).Scan(&source); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, false, err
	}
	fmt.Fprintf(stderr, "Service: %s, as stored in %s\n", source, o.db)
	limit := -1
	if o.newest > 0 {
		limit = o.newest + 1
	}
	rows, err := db.QueryContext(ctx, `
		WITH newest AS (
			SELECT race_id, start_time, hippodrome, length, entry_fee FROM races
			WHERE tier_id = ? AND start_time >= ? ORDER BY start_time DESC, race_id DESC LIMIT ?)
		SELECT r.*, coalesce(p.horse, 0), coalesce(p.lane, 0), coalesce(p.total, 0), coalesce(p.place, 0)
		FROM newest r LEFT JOIN participants p USING (race_id)
		ORDER BY r.start_time DESC, r.race_id DESC, p.place`,
		o.tier, max(0, o.since.UnixMilli()), limit)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	for last := int64(-1); rows.Next(); {
		var id, start int64
		var fee horseracing.BigInt
		var r race
		var p runner
		if err := rows.Scan(&id, &start, &r.hippodrome, &r.length, &fee, &p.horse, &p.lane, &p.total, &p.place); err != nil {
			return nil, false, err
		}
		if id != last {
			if o.newest > 0 && len(races) == o.newest {
				return races, false, nil
			}
			last, r.start, r.fee = id, time.UnixMilli(start).UTC(), tokens(fee)
			races = append(races, r)
		}
		if p.horse != 0 {
			r := &races[len(races)-1]
			r.runners = append(r.runners, p)
		}
	}
	return races, true, rows.Err()
}
