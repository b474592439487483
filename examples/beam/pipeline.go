package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
	"github.com/horseracing-go/horseracing/examples/internal/program"
)

// A crawl is the flags, parsed.
type crawl struct {
	tier          int
	since, before time.Time
	window        time.Duration
	concurrency   int
	perSecond     float64
	out           string // a folder: a path, or gs://bucket/folder
}

func (c crawl) check() error {
	switch {
	case !c.since.Before(c.before):
		return program.UsageError(fmt.Sprintf("-since %s is not before -before %s", c.since.Format(time.RFC3339), c.before.Format(time.RFC3339)))
	case c.window < time.Minute:
		return program.UsageError(fmt.Sprintf("-window %v is less than a minute", c.window))
	case c.tier < 1 || c.concurrency < 1 || c.perSecond < 0:
		return program.UsageError("-tier and -concurrency are at least 1, and -rate cannot be negative")
	case c.out == "":
		return program.UsageError("-out is empty")
	}
	return nil
}

// build lays out the pipeline: one span, read in windows, and a file for each month.
func build(s beam.Scope, c crawl) {
	span := Span{Tier: c.tier, Since: c.since.UnixMilli(), Before: c.before.UnixMilli()}
	read := &readRaces{Window: c.window.Milliseconds(), Concurrency: c.concurrency, PerSecond: c.perSecond}
	races := beam.ParDo(s.Scope("read"), read, beam.Create(s, span))
	writeMonths(s.Scope("write"), c.out, races)
}

// totals are the counters' values by name.
func totals(results metrics.Results) map[string]int64 {
	sums := map[string]int64{}
	for _, counter := range results.AllMetrics().Counters() {
		if counter.Namespace() == metricsNamespace {
			sums[counter.Name()] += counter.Result()
		}
	}
	return sums
}

// report prints the result. It returns an error if races are missing.
func report(out io.Writer, sums map[string]int64, c crawl) error {
	fmt.Fprintf(out, "Wrote %d races, read in %d windows, to %s, a file per month.\n", sums["races"], sums["windows"], c.out)
	var missing []string
	if n := sums["overflows"]; n > 0 {
		missing = append(missing, fmt.Sprintf("at %d instants a whole page of races starts together, and the listing cannot show whether there are more", n))
	}
	if n := sums["unreadable"]; n > 0 {
		missing = append(missing, fmt.Sprintf("%d races could not be read and are in no file", n))
	}
	if len(missing) > 0 {
		return errors.New("incomplete: " + strings.Join(missing, "; "))
	}
	fmt.Fprintf(out, "Complete: every race of tier %d that starts from %s to %s.\n", c.tier, c.since.UTC().Format(time.RFC3339), c.before.UTC().Format(time.RFC3339))
	return nil
}
