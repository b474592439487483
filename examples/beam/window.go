package main

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/horseracing-go/horseracing"
)

// races is what a *horseracing.Pager[horseracing.Race] does.
type races interface {
	All(context.Context) iter.Seq2[*horseracing.Race, error]
}

// readWindow hands out the races of the tracker's window, of a span that ends at before, in milliseconds.
//
// A runner takes work off the end of a restriction while its beginning is being read, and the listing comes newest
// first. So positions count milliseconds backwards: position 0 is the last millisecond of the span. The races
// that start in one millisecond share a position, which is claimed once, so a cut never parts them; and since the listing
// includes Since and excludes Before, windows that touch neither share a race nor leave one out.
//
// Instants whose races fill a page alone are counted: the listing cannot show whether there are more.
func readWindow(ctx context.Context, tracker *sdf.LockRTracker, before int64, pager races, emit func(*horseracing.Race) error) (overflows int, err error) {
	window := tracker.GetRestriction().(offsetrange.Restriction)
	claimed := window.Start - 1
	for {
		again := false
		for race, err := range pager.All(ctx) {
			if tie := (*horseracing.TieOverflowError)(nil); errors.As(err, &tie) {
				overflows++
				again = true // ranging again goes on behind that instant
				break
			}
			if err != nil {
				return overflows, err
			}
			position := before - 1 - race.StartTime.UnixMilli()
			if position != claimed && !tracker.TryClaim(position) {
				return overflows, nil // the runner has given the rest to someone else
			}
			claimed = position
			if err := emit(race); err != nil {
				return overflows, err
			}
		}
		if !again {
			tracker.TryClaim(window.End) // there is nothing more down to the end
			return overflows, nil
		}
	}
}

// bounds are the times between which a window of a span that ends at before lies.
func bounds(window offsetrange.Restriction, before int64) (from, to time.Time) {
	return time.UnixMilli(before - window.End).UTC(), time.UnixMilli(before - window.Start).UTC()
}
