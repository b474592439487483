// Charts draws finished races: finishing times by hippodrome and length, races
// per day, and entry fees over time.
//
//	go -C examples/charts run . -out /tmp/charts
//	go -C examples/charts run . -out /tmp/charts -format svg -since 2025-03-01 -newest 20000
//
// It writes times.png, days.png and fees.png, or the same as SVG, and prints
// their names. Each picture has a line that names its races. The pictures in
// docs/images were made by
//
//	go -C examples/charts run . -only times,days -out ../../docs/images
//
// It reads a fake of the service that lives for this run, unless
// HORSERACING_BASE_URL and HORSERACING_API_KEY are set.
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

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

const usage = `Usage: charts [flags]

Draws finishing times, races per day and entry fees, as PNG or SVG. Reads an
embedded fake unless HORSERACING_BASE_URL and HORSERACING_API_KEY are set.

Examples:
  charts -out pictures                          the 2000 newest races
  charts -only fees,days -since 2025-03-01 -format png,svg

Flags:
`

type options struct {
	out           string
	formats, only []string
	tier          horseracing.TierID
	since         time.Time
	newest        int
}

func main() { program.Main(run) }

// run is the whole program; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	names := []string{}
	for _, c := range charts {
		names = append(names, c.name)
	}
	o := options{formats: []string{"png"}, only: names}
	flags := flag.NewFlagSet("charts", flag.ContinueOnError)
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
	flags.IntVar(&o.newest, "newest", 2000, "draw at most `N` races, the newest") // about 230 requests
	status, ok := program.Parse(flags, usage, args, stderr, func() error {
		if o.tier < 1 || o.newest < 1 {
			return errors.New("-tier and -newest must be at least 1")
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
	// The fake's clock stands still: the same races, the same pictures.
	service, err := program.ConnectOrStart(func() (*horseracingtest.Server, error) { return horseracingtest.Start() }, program.Waits(stderr))
	if err != nil {
		return err
	}
	defer service.Close()
	service.Announce(stderr)
	races, err := read(ctx, service.Client, o, stderr)
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
			if err := c.save(path, format, races, caption(races, o)); err != nil {
				return err
			}
			fmt.Fprintln(stdout, path)
		}
	}
	return ctx.Err()
}

// read returns the newest races.
func read(ctx context.Context, client *horseracing.Client, o options, stderr io.Writer) ([]horseracing.Race, error) {
	progress := program.NewProgress(stderr, "races")
	var races []horseracing.Race
	for race, err := range client.Races.Results(horseracing.ResultsQuery{Tier: o.tier, Since: o.since, Concurrency: 4}).All(ctx) {
		switch {
		case errors.Is(err, horseracing.ErrHole):
			fmt.Fprintf(stderr, "charts: left out: %v\n", err)
			continue
		case err != nil:
			return nil, err
		}
		if races = append(races, *race); len(races) == o.newest {
			break
		}
		progress.Add(1, "back to "+race.StartTime.Format(time.DateOnly), program.Pace(client))
	}
	return races, nil
}

// caption names the races of a picture.
func caption(races []horseracing.Race, o options) string {
	const layout = "2 Jan 2006"
	first, last := races[len(races)-1].StartTime.Format(layout), races[0].StartTime.Format(layout)
	which := "All"
	if len(races) == o.newest {
		which = "The newest"
	}
	return fmt.Sprintf("%s %d races of tier %d, %s to %s (UTC)", which, len(races), o.tier, first, last)
}
