package main

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/horseracing-go/horseracing"
)

func init() {
	register.DoFn4x1[context.Context, *sdf.LockRTracker, Span, func(string, string), error](&readRaces{})
	register.Emitter2[string, string]()
	beam.RegisterType(reflect.TypeFor[Span]())
}

// A Span is what is to be read: the finished races of a tier that start in [Since, Before).
type Span struct {
	Tier          int
	Since, Before int64 // milliseconds since the Unix epoch
}

// readRaces is a splittable DoFn: the runner may cut a span into windows of time, at first and again while they are
// being read, and spread them over its workers. See [readWindow] for what a window is.
type readRaces struct {
	Window      int64   // how many milliseconds a window spans at first
	Concurrency int     // pages that each window has in flight
	PerSecond   float64 // requests of one worker process; unlimited if zero

	client   *horseracing.Client
	counters counters
}

// Setup makes the client from the worker's own environment: the pipeline, which runners store and show, holds
// neither address nor key.
func (r *readRaces) Setup(context.Context) (err error) {
	r.counters = newCounters()
	r.client, err = workerClient(r.PerSecond)
	return err
}

// CreateInitialRestriction is the whole span.
func (r *readRaces) CreateInitialRestriction(span Span) offsetrange.Restriction {
	return offsetrange.Restriction{Start: 0, End: span.Before - span.Since}
}

// SplitRestriction cuts it into windows to begin with.
func (r *readRaces) SplitRestriction(_ Span, whole offsetrange.Restriction) []offsetrange.Restriction {
	return whole.SizedSplits(r.Window)
}

// RestrictionSize is the length of a window in milliseconds.
func (r *readRaces) RestrictionSize(_ Span, window offsetrange.Restriction) float64 {
	return window.Size()
}

// CreateTracker returns the tracker of a window, through which the runner may cut it.
func (r *readRaces) CreateTracker(window offsetrange.Restriction) *sdf.LockRTracker {
	return sdf.NewLockRTracker(offsetrange.NewTracker(window))
}

// ProcessElement reads one window and emits a line for each race, by month.
func (r *readRaces) ProcessElement(ctx context.Context, tracker *sdf.LockRTracker, span Span, emit func(month, line string)) error {
	since, before := bounds(tracker.GetRestriction().(offsetrange.Restriction), span.Before)
	pager := r.client.Races.Results(horseracing.ResultsQuery{
		Tier: horseracing.TierID(span.Tier), Since: since, Before: before, Concurrency: r.Concurrency,
	})
	missing, err := readWindow(ctx, tracker, span.Before, pager, func(race horseracing.Entry[horseracing.Race]) error {
		var line bytes.Buffer
		if err := json.Compact(&line, race.JSON); err != nil { // as received, on one line
			return err
		}
		emit(race.Value.StartTime.UTC().Format("2006-01"), line.String())
		r.counters.races.Inc(ctx, 1)
		return nil
	})
	r.counters.overflows.Inc(ctx, int64(missing.overflows))
	r.counters.unreadable.Inc(ctx, int64(missing.unreadable))
	r.counters.windows.Inc(ctx, 1)
	return err
}

// counters are the pipeline's Beam metrics. A runner adds them up over all its workers.
type counters struct {
	races      beam.Counter
	windows    beam.Counter // windows read to their end
	overflows  beam.Counter // instants of which the listing cannot show every race
	unreadable beam.Counter // races that cannot be read, which are in no file
}

// metricsNamespace is where the runner's own pages list the counters.
const metricsNamespace = "horseracing"

func newCounters() counters {
	return counters{
		races:      beam.NewCounter(metricsNamespace, "races"),
		windows:    beam.NewCounter(metricsNamespace, "windows"),
		overflows:  beam.NewCounter(metricsNamespace, "overflows"),
		unreadable: beam.NewCounter(metricsNamespace, "unreadable"),
	}
}
