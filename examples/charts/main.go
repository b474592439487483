// Charts draws finished races: finishing times by hippodrome, and entry fees over
// time.
//
//	go -C examples/charts run . -out /tmp/charts
//	go -C examples/charts run . -out /tmp/charts -format svg -since 30d -newest 20000
//
// It writes times.png and fees.png, or the same as SVG, and prints their names.
// Each picture has a line that names its races.
//
// It reads a fake of the service that lives for this run, unless
// HORSERACING_BASE_URL and HORSERACING_API_KEY are set.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

const usage = `Usage: charts [flags]

Draws finishing times and entry fees, as PNG or SVG. Reads an embedded fake
unless HORSERACING_BASE_URL and HORSERACING_API_KEY are set.

Examples:
  charts -out pictures                          the 2000 newest races
  charts -since 30d -format svg

Flags:
`

func main() { program.Main("charts", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("charts", flag.ContinueOnError)
	out := flags.String("out", ".", "write into this `DIRECTORY`")
	format := flags.String("format", "png", "png or svg")
	tier := flags.Int("tier", int(horseracing.TierOmega), "tier `ID`")
	var since time.Time
	flags.Func("since", "only races that start at this `TIME` or later: "+program.TimeFormats, program.Time(&since))
	newest := flags.Int("newest", 2000, "draw at most `N` races, the newest") // about 230 requests
	if err := program.Parse(flags, usage, args, stderr); err != nil {
		return err
	}
	if *newest < 1 || *format != "png" && *format != "svg" {
		return program.UsageError("-newest is at least 1, and -format png or svg")
	}
	service, err := program.Connect(stderr, nil, program.Waits(stderr), horseracing.WithSkipHandler(func(_ context.Context, err error) {
		fmt.Fprintf(stderr, "charts: left out: %v\n", err)
	}))
	if err != nil {
		return err
	}
	defer service.Close()
	query := horseracing.ResultsQuery{Tier: horseracing.TierID(*tier), Since: since, Concurrency: 4}
	races, err := read(ctx, service.Client, query, *newest)
	if err != nil {
		return err
	}
	if len(races) == 0 {
		return fmt.Errorf("there are no finished races of tier %d to draw (-tier)", *tier)
	}
	folder, err := filepath.Abs(*out) // go -C runs in another folder than the user's
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	about := caption(races, query.Tier, *newest)
	if service.Fake != nil {
		about = "Invented by the embedded fake: " + about
	}
	for _, c := range charts {
		p, err := c.draw(races)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		path := filepath.Join(folder, c.name+"."+*format)
		if err := save(path, *format, p, about); err != nil {
			return err
		}
		fmt.Fprintln(stdout, path)
	}
	return ctx.Err()
}

// read returns the newest races.
func read(ctx context.Context, client *horseracing.Client, query horseracing.ResultsQuery, newest int) ([]horseracing.Race, error) {
	var races []horseracing.Race
	for race, err := range client.Races.Results(query).All(ctx) {
		if err != nil {
			return nil, err
		}
		if races = append(races, *race); len(races) == newest {
			break
		}
	}
	return races, nil
}

// caption names the races of a picture.
func caption(races []horseracing.Race, tier horseracing.TierID, newest int) string {
	const layout = "2 Jan 2006"
	first, last := races[len(races)-1].StartTime.Format(layout), races[0].StartTime.Format(layout)
	which := "all"
	if len(races) == newest {
		which = "the newest"
	}
	return fmt.Sprintf("%s %d races of tier %s, %s to %s (UTC)", which, len(races), program.Tier(tier), first, last)
}
