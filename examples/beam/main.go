// Beam reads a tier's finished races as an Apache Beam pipeline: windows of time go to as many workers as the runner has,
// and races and participants come out as JSON lines, a file per month.
//
// By default it runs on Prism, the runner inside Beam's Go SDK, in this process; --runner and its flags choose another (see
// README.md). The workers find the service in their own environment, HORSERACING_BASE_URL and HORSERACING_API_KEY. Where
// that is empty and Prism runs, a fake stands in.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

func main() {
	var c crawl
	flag.IntVar(&c.tier, "tier", int(horseracing.TierOmega), "tier `id`")
	flag.Func("since", "read races that start at this `time` or later, like 2026-05-01 or 2026-05-01T12:00:00Z (default: the first of the month before that of -before)", parseTime(&c.since))
	flag.Func("before", "read races that start before this `time` (default: now)", parseTime(&c.before))
	flag.StringVar(&c.out, "out", "history", "`folder` for the files, a path or gs://bucket/folder; a month's file is replaced only by a run that covers what it holds")
	flag.DurationVar(&c.window, "window", 24*time.Hour, "length of a window at first; the runner may cut it further")
	flag.IntVar(&c.concurrency, "concurrency", 2, "pages that each window has in flight")
	flag.Float64Var(&c.perSecond, "rate", 0, "requests per second of each worker process; 0: no limit")
	verbose := flag.Bool("v", false, "show the runner's own messages")
	flag.Usage = usage
	flag.Parse()
	beam.Init() // on a worker of another machine this does the work and does not return
	if !*verbose {
		slog.SetDefault(slog.New(slog.DiscardHandler))
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	err := run(ctx, c)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "beam: stopped")
		os.Exit(130)
	case err != nil:
		fmt.Fprintf(os.Stderr, "beam: %s\n", cause(err))
		if _, ok := errors.AsType[usageError](err); ok {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// A usageError is a mistake on the command line.
type usageError string

func (e usageError) Error() string { return string(e) + " (see -h)" }

// run completes c, starts the fake where one is needed, and runs the pipeline.
func run(ctx context.Context, c crawl) error {
	if flag.NArg() > 0 {
		return usageError(fmt.Sprintf("there are no arguments, but %q is one", flag.Arg(0)))
	}
	now := time.Now()
	if os.Getenv("HORSERACING_BASE_URL") == "" && os.Getenv("HORSERACING_API_KEY") == "" && inProcess() {
		fake := horseracingtest.NewServer()
		defer fake.Close()
		now = fake.Now()
		// Prism's workers are this process, so its environment is theirs.
		if err := errors.Join(os.Setenv("HORSERACING_BASE_URL", fake.URL), os.Setenv("HORSERACING_API_KEY", fake.APIKey)); err != nil {
			return err
		}
	}
	if c.before.IsZero() {
		c.before = now
	}
	if c.since.IsZero() {
		c.since = defaultSince(c.before)
	}
	if err := c.check(); err != nil {
		return err
	}
	if err := c.claim(ctx); err != nil {
		return err
	}

	pipeline, scope := beam.NewPipelineWithRoot()
	build(scope, c)
	result, err := beamx.RunWithMetrics(ctx, pipeline)
	if err != nil {
		return err
	}
	if *jobopts.Async {
		fmt.Println("submitted; the runner shows the counts as metrics of namespace", metricsNamespace)
		return nil
	}
	sums := totals(result.Metrics())
	printTotals(os.Stdout, sums, c)
	if n := sums["overflows"]; n > 0 {
		return fmt.Errorf("at %d instants a whole page of races starts together: the listing cannot show whether there are more", n)
	}
	return nil
}

// cause is the last line of an error: Beam puts what failed on lines of its own, behind plans and bundles that only -v shows.
func cause(err error) string {
	text := strings.TrimSpace(err.Error())
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// inProcess reports whether the workers will be this process.
func inProcess() bool {
	return (*runners.Runner == "" || *runners.Runner == "prism") && *jobopts.Endpoint == ""
}

func parseTime(into *time.Time) func(string) error {
	return func(text string) error {
		for _, layout := range []string{time.DateOnly, time.RFC3339} {
			if t, err := time.Parse(layout, text); err == nil {
				*into = t
				return nil
			}
		}
		return errors.New("want 2026-05-01 or 2026-05-01T12:00:00Z")
	}
}

// usage shows this program's flags; Beam and its runners bring about a hundred more.
func usage() {
	own := flag.NewFlagSet("beam", flag.ContinueOnError)
	for _, name := range []string{"tier", "since", "before", "out", "window", "concurrency", "rate", "v"} {
		f := flag.Lookup(name)
		own.Var(f.Value, f.Name, f.Usage)
	}
	own.SetOutput(flag.CommandLine.Output())
	fmt.Fprintln(own.Output(), "Reads finished races into files of JSON lines, as an Apache Beam pipeline.")
	own.PrintDefaults()
	fmt.Fprintln(own.Output(), "Beam's own flags, like --runner and --endpoint, are in README.md and in Beam's documentation.")
}
