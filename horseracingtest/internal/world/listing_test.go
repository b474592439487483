package world

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// noon is 2025-06-01 12:00.
const noon int64 = 1748779200000

type event struct{ start, id int64 }

func byStart(a, b event) int {
	one, other := listed[int64, int]{start: a.start, id: a.id}, listed[int64, int]{start: b.start, id: b.id}
	return one.compare(other)
}

// drawListing returns a listing with ties, from which entries were removed, and the same
// as a plain list, newest first.
func drawListing(t *rapid.T) (l listing[int64, int], all []event) {
	for i, start := range timeline(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 300).Draw(t, "n"), noon) {
		all = append(all, event{start, int64(i)})
	}
	for _, e := range rapid.Permutation(all).Draw(t, "added") {
		l.add(e.start, e.id, nil)
	}
	for i := range min(len(all), rapid.IntRange(0, 20).Draw(t, "removed")) {
		l.remove(all[i].start, all[i].id)
		if all[i].id += 1000; rapid.Bool().Draw(t, "again") { // with another id
			l.add(all[i].start, all[i].id, nil)
		} else {
			all[i].id = -1
		}
	}
	all = slices.DeleteFunc(all, func(e event) bool { return e.id < 0 })
	slices.SortFunc(all, func(a, b event) int { return byStart(b, a) })
	return l, all
}

func compare(t *rapid.T, page listing[int64, int], want []event) {
	var got []event
	for _, e := range page {
		got = append(got, event{e.start, e.id})
	}
	if want = want[:min(pageSize, len(want))]; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestPagesByTimeAreTheNewestTenBeforeTheInstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, all := drawListing(t)
		instant := noon + 1
		if len(all) > 0 {
			instant = all[rapid.IntRange(0, len(all)-1).Draw(t, "at")].start + int64(rapid.IntRange(-1, 1).Draw(t, "beside"))
		}
		compare(t, l.before(instant, pageSize), slices.DeleteFunc(slices.Clone(all), func(e event) bool { return e.start >= instant }))
	})
}

func TestPagesByOffsetAreTheNextTenAfterIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, all := drawListing(t)
		offset := rapid.IntRange(0, len(all)+20).Draw(t, "offset")
		compare(t, l.skip(offset), all[min(offset, len(all)):])
	})
}

func TestATimelineIsInOrderAndBeforeItsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 5000).Draw(t, "n")
		starts := timeline(rapid.Uint64().Draw(t, "seed"), n, noon)
		if len(starts) != n || !slices.IsSorted(starts) || n > 0 && starts[n-1] >= noon {
			t.Fatalf("%d starts, %v", len(starts), starts)
		}
		most, run := 0, 0
		for i := range starts {
			if run++; i == 0 || starts[i] != starts[i-1] {
				run = 1
			}
			most = max(most, run)
		}
		if most > tieBlock {
			t.Fatalf("%d events on one instant cannot be read by paging", most)
		}
	})
}
