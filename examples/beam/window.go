package main

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/horseracing-go/horseracing"
)

// races is what a *horseracing.Pager[horseracing.Race] does.
type races interface {
	Entries(context.Context) iter.Seq2[horseracing.Entry[horseracing.Race], error]
}

// skipped counts what is missing from a window.
type skipped struct {
	overflows  int // instants whose races fill a page alone: the listing cannot show whether there are more
	unreadable int // races that cannot be read
}

// readWindow emits the races of the tracker's window, of a span that ends at before, in milliseconds.
//
// A runner takes work off the end of a restriction while its beginning is being read, and the listing comes newest
// first. So positions count milliseconds backwards: position 0 is the last millisecond of the span. The races
// that start in one millisecond share a position, which is claimed once, so a cut never parts them; and since the listing
// includes Since and excludes Before, windows that touch neither share a race nor leave one out.
//
// A skipped entry is counted, and reading continues after it.
func readWindow(ctx context.Context, tracker *sdf.LockRTracker, before int64, pager races, emit func(horseracing.Entry[horseracing.Race]) error) (missing skipped, err error) {
	window := tracker.GetRestriction().(offsetrange.Restriction)
	claimed := window.Start - 1
	claim := func(start time.Time) bool {
		position := before - 1 - start.UnixMilli()
		if position > claimed && !tracker.TryClaim(position) {
			return false // the runner has given the rest to someone else
		}
		claimed = max(claimed, position)
		return true
	}
	for entry, err := range pager.Entries(ctx) {
		_, overflow := errors.AsType[*horseracing.TieOverflowError](err)
		switch {
		case overflow:
			missing.overflows++
		case errors.Is(err, horseracing.ErrSkipped): // a race that cannot be read
			if start, ok := startOf(entry.JSON); ok && !claim(start) {
				return missing, nil
			}
			missing.unreadable++
		case err != nil:
			return missing, err
		case !claim(entry.Value.StartTime.Time):
			return missing, nil
		default:
			if err := emit(entry); err != nil {
				return missing, err
			}
		}
	}
	tracker.TryClaim(window.End) // there is nothing more down to the end
	return missing, nil
}

// startOf returns the start of a race that cannot be read as a whole, and whether it has one. A race without one counts
// in every window whose pages hold it.
func startOf(race []byte) (time.Time, bool) {
	var part struct {
		StartTime horseracing.Timestamp `json:"start_time"`
	}
	err := json.Unmarshal(race, &part)
	return part.StartTime.Time, err == nil && !part.StartTime.IsZero()
}

// bounds are the times between which a window is, in a span that ends at before.
func bounds(window offsetrange.Restriction, before int64) (from, to time.Time) {
	return time.UnixMilli(before - window.End).UTC(), time.UnixMilli(before - window.Start).UTC()
}
