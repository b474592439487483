// Beam reads a tier's finished races as an Apache Beam pipeline: windows of time go to as many workers as the runner has,
// and races come out as JSON lines, a file per month.
//
//	go -C examples/beam run . -out /tmp/history
//	go -C examples/beam run . -out /tmp/history -tier 4 -since 2026-01-01 -before 2026-04-01 -rate 20
//
// By default it runs on Prism, the runner inside Beam's Go SDK, in this process; --runner and its flags choose another (see
// README.md). The workers find the service in their own environment, HORSERACING_BASE_URL and HORSERACING_API_KEY. If
// that is empty and Prism runs, they read a fake.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

const usage = `Usage: beam [flags]

Reads a tier's finished races as an Apache Beam pipeline, into files of JSON
lines, one a month. Reads an embedded fake unless HORSERACING_BASE_URL and
HORSERACING_API_KEY are set.

Examples:
  beam -out history                    a month of tier Omega
  beam -out history -tier 4 -since 2026-01-01 -before 2026-04-01 -rate 20
  beam -out history --runner=flink ... on a runner of its own: see README.md

Beam's own flags, such as --runner and --endpoint, are in README.md and in Beam's
documentation.

Flags:
`

func main() { program.Main("beam", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var c crawl
	own := flag.NewFlagSet("beam", flag.ContinueOnError)
	own.IntVar(&c.tier, "tier", int(horseracing.TierOmega), "tier `ID`")
	own.Func("since", "only races that start at this `TIME` or later: "+program.TimeFormats+" (default: a month before -before)", program.Time(&c.since))
	own.Func("before", "only races that start before this `TIME` (default: now)", program.Time(&c.before))
	own.StringVar(&c.out, "out", "history", "new `FOLDER` for the files, a path or gs://bucket/folder")
	own.DurationVar(&c.window, "window", 24*time.Hour, "length of a window at first; the runner may cut it further")
	own.IntVar(&c.concurrency, "concurrency", 2, "pages that each window has in flight")
	own.Float64Var(&c.perSecond, "rate", 0, "requests per second of each worker process; 0: no limit")
	if slices.Contains(args, "-h") {
		return program.Parse(own, usage, args, stderr) // Beam and its runners bring about a hundred flags more
	}
	own.VisitAll(func(f *flag.Flag) { flag.CommandLine.Var(f.Value, f.Name, f.Usage) })
	flag.CommandLine.Init("beam", flag.ContinueOnError)
	if err := program.Parse(flag.CommandLine, usage, args, stderr); err != nil {
		return err
	}
	beam.Init() // on a worker of another machine this does the work and does not return
	slog.SetDefault(slog.New(slog.DiscardHandler))
	return read(ctx, c, stdout, stderr)
}

// read completes c, starts the fake if one is needed, and runs the pipeline.
func read(ctx context.Context, c crawl, stdout, stderr io.Writer) error {
	var client *horseracing.Client // nil if only the workers know the service
	if c.before.IsZero() {
		c.before = time.Now()
	}
	if os.Getenv("HORSERACING_BASE_URL") != "" || inProcess() {
		service, err := program.Connect(stderr, nil)
		if err != nil {
			return err
		}
		defer service.Close()
		client = service.Client
		if service.Fake != nil { // Prism's workers are this process, so its environment is theirs
			if err := errors.Join(os.Setenv("HORSERACING_BASE_URL", service.Fake.URL), os.Setenv("HORSERACING_API_KEY", service.Fake.APIKey)); err != nil {
				return err
			}
		}
	}
	if c.since.IsZero() {
		c.since = c.before.AddDate(0, -1, 0)
	}
	if err := c.check(); err != nil {
		return err
	}
	if client != nil { // a wrong key or tier is a plainer error here than from a runner
		_, err := client.Races.Results(horseracing.ResultsQuery{Tier: horseracing.TierID(c.tier)}).Take(ctx, 1)
		if err != nil && !errors.Is(err, horseracing.ErrSkipped) {
			return err
		}
	}
	if err := c.prepare(ctx); err != nil {
		return err
	}
	pipeline, scope := beam.NewPipelineWithRoot()
	build(scope, c)
	result, err := beamx.RunWithMetrics(ctx, pipeline)
	if err = errors.Join(err, ctx.Err()); err != nil {
		c.discard()
		return errors.New(cause(err))
	}
	if *jobopts.Async {
		fmt.Fprintln(stdout, "submitted; the runner shows the counts as metrics of namespace", metricsNamespace)
		return nil
	}
	return report(stdout, totals(result.Metrics()), c)
}

// cause returns the last line of an error: Beam writes the reason there, after plans and bundles.
func cause(err error) string {
	text := strings.TrimSpace(err.Error())
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// inProcess reports whether the workers will be this process.
func inProcess() bool {
	return (*runners.Runner == "" || *runners.Runner == "prism") && *jobopts.Endpoint == ""
}
