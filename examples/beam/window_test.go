package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/horseracing-go/horseracing"
	"pgregory.net/rapid"
)

// memory is a listing like the service's, of starts in milliseconds; the id of a race is its index.
// It has the holes that a pager has: races that cannot be read, and behind the races of an overflowing instant an error.
type memory struct {
	starts      []int64
	since, till int64
	overflowing map[int64]bool
	unreadable  map[int]bool // by index
}

func (m *memory) Entries(context.Context) iter.Seq2[horseracing.Entry[horseracing.Race], error] {
	order := make([]int, len(m.starts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(m.starts[b] - m.starts[a]) })
	order = slices.DeleteFunc(order, func(i int) bool { return m.starts[i] < m.since || m.starts[i] >= m.till })
	return func(yield func(horseracing.Entry[horseracing.Race], error) bool) {
		for n, i := range order {
			start := horseracing.NewTimestamp(time.UnixMilli(m.starts[i]))
			entry := horseracing.Entry[horseracing.Race]{
				Value: &horseracing.Race{MainRaceID: horseracing.RaceID(i), StartTime: start},
				JSON:  fmt.Appendf(nil, `{"main_race_id":%d,"start_time":%d}`, i, m.starts[i]),
			}
			var err error
			if m.unreadable[i] {
				entry.Value, err = nil, horseracing.ErrHole
			}
			if !yield(entry, err) {
				return
			}
			if last := n == len(order)-1 || m.starts[order[n+1]] != m.starts[i]; last && m.overflowing[m.starts[i]] &&
				!yield(horseracing.Entry[horseracing.Race]{}, &horseracing.TieOverflowError{StartTime: start}) {
				return
			}
		}
	}
}

func TestWindowsReadEveryRaceOnceHoweverTheyAreCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const base = 1_700_000_000_000
		length := rapid.Int64Range(1, 200).Draw(t, "length")
		starts := rapid.SliceOfN(rapid.Int64Range(base-5, base+length+5), 0, 60).Draw(t, "starts") // often several at once
		before := base + length
		fraction := rapid.OneOf(rapid.SampledFrom([]float64{-1, 0, 0.5, 1, 2}), rapid.Float64Range(0, 1))
		overflowing, unreadable := map[int64]bool{}, map[int]bool{}
		var want holes
		for i, start := range starts {
			inside := start >= base && start < before
			if rapid.IntRange(0, 9).Draw(t, "overflow") == 0 && !overflowing[start] {
				overflowing[start] = true
				if inside {
					want.overflows++
				}
			}
			if rapid.IntRange(0, 9).Draw(t, "unreadable") == 0 {
				unreadable[i] = true
				if inside {
					want.unreadable++
				}
			}
		}

		dofn := &readRaces{Window: rapid.Int64Range(1, length).Draw(t, "window")}
		span := Span{Since: base, Before: before}
		todo := dofn.SplitRestriction(span, dofn.CreateInitialRestriction(span))
		seen := map[horseracing.RaceID]int{}
		var found holes
		for len(todo) > 0 {
			window := todo[0]
			todo = todo[1:]
			tracker := dofn.CreateTracker(window)
			cut := func() {
				if !rapid.Bool().Draw(t, "cut") {
					return
				}
				held := tracker.GetRestriction().(offsetrange.Restriction)
				primary, residual, err := tracker.TrySplit(fraction.Draw(t, "fraction"))
				if err != nil {
					t.Fatalf("TrySplit: %v", err)
				}
				kept := primary.(offsetrange.Restriction)
				if residual == nil {
					if kept != held {
						t.Fatalf("TrySplit gave nothing away, and %v became %v", held, kept)
					}
					return
				}
				given := residual.(offsetrange.Restriction)
				if kept.Start != held.Start || kept.End != given.Start || given.End != held.End {
					t.Fatalf("TrySplit cut %v into %v and %v", held, kept, given)
				}
				todo = append(todo, given)
			}
			cut()
			since, till := bounds(tracker.GetRestriction().(offsetrange.Restriction), before)
			listing := &memory{starts: starts, since: since.UnixMilli(), till: till.UnixMilli(), overflowing: overflowing, unreadable: unreadable}
			part, err := readWindow(t.Context(), tracker, before, listing, func(race *horseracing.Race) error {
				seen[race.MainRaceID]++
				cut()
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			found.overflows += part.overflows
			found.unreadable += part.unreadable
			if !tracker.IsDone() { // Beam fails the bundle then
				t.Fatalf("the window %v is not read to its end: %v", window, tracker.GetError())
			}
		}
		for i, start := range starts {
			want := 0
			if start >= base && start < before && !unreadable[i] {
				want = 1
			}
			if got := seen[horseracing.RaceID(i)]; got != want {
				t.Errorf("the race at %d of [%d, %d) came out %d times, want %d", start, int64(base), before, got, want)
			}
		}
		if found != want {
			t.Errorf("it counted %+v, want %+v", found, want)
		}
	})
}

func TestWindowsAreExactAtBothEnds(t *testing.T) {
	span := Span{Since: 1000, Before: 2000}
	dofn := &readRaces{Window: 400}
	var got [][2]int64
	for _, window := range dofn.SplitRestriction(span, dofn.CreateInitialRestriction(span)) {
		since, before := bounds(window, span.Before)
		got = append(got, [2]int64{since.UnixMilli(), before.UnixMilli()})
	}
	if want := [][2]int64{{1600, 2000}, {1200, 1600}, {1000, 1200}}; !slices.Equal(got, want) {
		t.Errorf("windows of [1000, 2000): %v, want %v", got, want)
	}
}

func TestReadWindowPassesErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		name  string
		pager races
		emit  error
	}{
		{name: "of the service", pager: failing{broken}},
		{name: "of the output", pager: &memory{starts: []int64{5}, till: 10}, emit: broken},
	} {
		t.Run(test.name, func(t *testing.T) {
			tracker := sdf.NewLockRTracker(offsetrange.NewTracker(offsetrange.Restriction{End: 10}))
			_, err := readWindow(t.Context(), tracker, 10, test.pager, func(*horseracing.Race) error { return test.emit })
			if !errors.Is(err, broken) {
				t.Errorf("error = %v, want %v", err, broken)
			}
			if tracker.IsDone() {
				t.Error("the window counts as read")
			}
		})
	}
}

type failing struct{ err error }

func (f failing) Entries(context.Context) iter.Seq2[horseracing.Entry[horseracing.Race], error] {
	return func(yield func(horseracing.Entry[horseracing.Race], error) bool) {
		yield(horseracing.Entry[horseracing.Race]{}, f.err)
	}
}
