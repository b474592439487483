package main

import (
	"fmt"
	"io"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
)

// A crawl is what the flags say.
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
		return usageError(fmt.Sprintf("-since %s is not before -before %s", c.since.Format(time.RFC3339), c.before.Format(time.RFC3339)))
	case c.window < time.Minute:
		return usageError(fmt.Sprintf("-window %v is less than a minute", c.window))
	case c.tier < 1 || c.concurrency < 1 || c.perSecond < 0:
		return usageError("-tier and -concurrency are at least 1, and -rate cannot be negative")
	case c.out == "":
		return usageError("-out is empty")
	}
	return nil
}

// build lays out the pipeline: one span, read in windows, and two sets of files.
func build(s beam.Scope, c crawl) {
	span := Span{Tier: c.tier, Since: c.since.UnixMilli(), Before: c.before.UnixMilli()}
	read := &readRaces{Window: c.window.Milliseconds(), Concurrency: c.concurrency, PerSecond: c.perSecond}
	races, participants := beam.ParDo2(s.Scope("read"), read, beam.Create(s, span))
	writeMonths(s.Scope("races"), c.out+"/races", races)
	writeMonths(s.Scope("participants"), c.out+"/participants", participants)
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

func printTotals(out io.Writer, sums map[string]int64, c crawl) {
	fmt.Fprintf(out, "%d races with %d participants, read in %d windows, of which the runner cut %d short to share them out\n",
		sums["races"], sums["participants"], sums["windows"], sums["windows_cut"])
	fmt.Fprintf(out, "%s/races and %s/participants hold a file of JSON lines per month\n", c.out, c.out)
}
