package world

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// noon is 2025-06-01 12:00.
const noon int64 = 1748779200000

// drawListing returns a listing with added and removed entries, and the same as a
// plain list, newest first.
func drawListing(t *rapid.T) (*listing[int64, int64], []order[int64]) {
	const firstID = 100
	l := &listing[int64, int64]{
		past: newTimeline(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 3000).Draw(t, "n"), noon),
		id:   func(index int) int64 { return firstID + int64(index) },
	}
	gone := map[int]bool{}
	if l.past.n > 0 {
		for range rapid.IntRange(0, 20).Draw(t, "removals") {
			i := rapid.IntRange(0, l.past.n-1).Draw(t, "removed")
			l.removePast(i)
			gone[i] = true
		}
	}
	var all []order[int64]
	for i := range l.past.n {
		if !gone[i] {
			all = append(all, order[int64]{l.past.start(i), l.id(i)})
		}
	}
	for i := range rapid.IntRange(0, 20).Draw(t, "additions") {
		at := order[int64]{noon - rapid.Int64Range(-10, 60*dayMillis).Draw(t, "age"), int64(1000 + i)}
		if l.past.n > 0 && rapid.Bool().Draw(t, "tied") { // with ids below and above those of the past
			at.start = l.past.start(rapid.IntRange(0, l.past.n-1).Draw(t, "with"))
			at.id = int64(rapid.SampledFrom([]int{1 + i, 1000 + i}).Draw(t, "id"))
		}
		l.add(at, at.id)
		all = append(all, at)
	}
	slices.SortFunc(all, func(a, b order[int64]) int { return b.compare(a) })
	return l, all
}

func ids(l *listing[int64, int64], page []place[int64]) []int64 {
	list := []int64{}
	for _, p := range page {
		if p.index >= 0 {
			p.entry = l.id(p.index)
		}
		list = append(list, p.entry)
	}
	return list
}

func idsOf(all []order[int64]) []int64 {
	list := []int64{}
	for _, o := range all {
		list = append(list, o.id)
	}
	return list
}

func TestPagesByTimeAreTheNewestTenBeforeTheInstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, all := drawListing(t)
		instant := noon + 1
		if len(all) > 0 {
			instant = all[rapid.IntRange(0, len(all)-1).Draw(t, "at")].start + int64(rapid.IntRange(-1, 1).Draw(t, "beside"))
		}
		older := slices.DeleteFunc(slices.Clone(all), func(o order[int64]) bool { return o.start >= instant })
		want := idsOf(older[:min(pageSize, len(older))])
		if diff := cmp.Diff(want, ids(l, l.before(instant, pageSize))); diff != "" {
			t.Fatalf("page before %d (-want +got):\n%s", instant, diff)
		}
	})
}

func TestPagesByOffsetAreTheNextTenAfterIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, all := drawListing(t)
		offset := rapid.IntRange(0, len(all)+20).Draw(t, "offset")
		rest := all[min(offset, len(all)):]
		want := idsOf(rest[:min(pageSize, len(rest))])
		if diff := cmp.Diff(want, ids(l, l.skip(offset))); diff != "" {
			t.Fatalf("page at %d (-want +got):\n%s", offset, diff)
		}
	})
}
