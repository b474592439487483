package walk

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/horseracing-go/horseracing/guarantees/double/check"

	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing/internal/entry"
)

// Between two requests up to a page but one may arrive, which may come too, or one entry
// may be removed.
func TestAWalkByOffsetMissesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		arrivals := rapid.SampledFrom([]int{0, 1, 5, 9}).Draw(t, "most arrivals")
		isRemoved := arrivals == 0 && rapid.Bool().Draw(t, "one is removed")
		want, left := w.ids(), 300
		c := newCrawl(NewOffset[uint64](&Position{}, 10), 1, func(at int64) []entry.Entry[uint64] {
			if isRemoved && len(w.entries) > w.pageSize {
				i := rng.IntN(len(w.entries))
				want = slices.DeleteFunc(want, func(id uint64) bool { return id == w.entries[i].Value })
				w.entries = slices.Delete(w.entries, i, i+1)
			}
			if n := rng.IntN(arrivals + 1); n <= left {
				left -= n
				w.arrive(n)
			}
			return w.from(at)
		})
		got, last := map[uint64]bool{}, int64(math.MaxInt64)
		for e, ok := c.take(); ok; e, ok = c.take() {
			hasArrived := e.Value >= 1_000_000
			if e.Err != nil || got[e.Value] || !hasArrived && e.Start > last {
				t.Fatalf("entry %d came twice or after an older one, or %v", e.Value, e.Err)
			}
			if got[e.Value] = true; !hasArrived {
				last = e.Start
			}
		}
		want = slices.DeleteFunc(want, func(id uint64) bool { return got[id] })
		check.Equal(t, "entries that were missed", 0, len(want))
	})
}

// An offset that is ignored shows the same page again and again.
func TestAnIgnoredOffsetIsNoticedAtTheThirdPageThatRepeats(t *testing.T) {
	for size := 1; size < 12; size++ {
		w := newWorld(10, size, 1)
		c := newCrawl(NewOffset[uint64](&Position{}, 10), 1, func(int64) []entry.Entry[uint64] { return w.from(0) })
		got, _, err := c.drain()
		check.Equal(t, "the error", ErrIgnored, err)
		check.Equal(t, "entries and requests", []int{min(size, 10), 4}, []int{len(got), c.requests})
	}
}

// Between two pages so many entries arrive that a page shows only known ones. The next one is wrongly
// empty.
func TestSmallPagesByOffsetSkipNothing(t *testing.T) {
	for size := 1; size <= 10; size++ {
		w, n := newWorld(size, 60, 1), 0
		c := newCrawl(NewOffset[uint64](&Position{}, 10), 1, func(at int64) []entry.Entry[uint64] {
			switch n++; {
			case n == 2:
				w.arrive(max(1, size-1))
			case n == 3:
				return nil
			case n < 6:
				w.arrive(size)
			}
			return w.from(at)
		})
		got, _, _ := c.drain()
		check.Equal(t, fmt.Sprintf("%d requests are at most seventy", c.requests), true, c.requests <= 70)
		for id := range uint64(60) {
			check.Equal(t, fmt.Sprintf("pages of %d: entry %d came", size, id+1), true, slices.Contains(got, id+1))
		}
	}
}

// An offset of pages, or entries that were removed in number: a page that should show a known entry shows none.
func TestPagesWithoutAnEntryInCommonAreReadAgainAndThenAnError(t *testing.T) {
	w := newWorld(10, 250, 1)
	c := newCrawl(NewOffset[uint64](&Position{}, 10), 1, func(at int64) []entry.Entry[uint64] { return w.from(10 * at) })
	got, _, err := c.drain()
	check.Equal(t, "the error of an offset of pages", ErrNoOverlap, err)
	check.Equal(t, "entries and requests", []int{10, 3}, []int{len(got), c.requests})

	removed := 0
	c = newCrawl(NewOffset[uint64](&Position{}, 10), 1, func(at int64) []entry.Entry[uint64] {
		if removed++; removed == 2 {
			w.entries = w.entries[4:]
		}
		return w.from(at)
	})
	got, _, err = c.drain()
	check.Equal(t, "entries, although four were removed", 250, len(got))
	check.Equal(t, "no error", nil, err)

	position := &Position{At: 100, Seen: []string{"gone@1"}}
	got, _, err = byOffset(w, position, 1).drain()
	check.Equal(t, "entries of a walk that was resumed", 146, len(got))
	check.Equal(t, "its error", nil, err)
	check.Equal(t, "entries that its cursor remembers", recentEntries, len(position.Seen))
}

// An empty page after one that had room for more entries, and showed no new one, needs no check. One after a full page
// does, but since 1970 nothing is below it.
func TestAWalkChecksNoEndThatItHasSeen(t *testing.T) {
	w := newWorld(10, 25, 1)
	first, _ := NewOffset[uint64](&Position{}, 10).Next()
	check.Equal(t, "the first request", PageRequest{}, first)
	full, long := newWorld(10, 20, 1), newWorld(10, 125, 1000)
	for c, requests := range map[*crawl]int{
		byOffset(w, &Position{}, 1): 5, crawlOf(w, &Position{}, 1): 5,
		newCrawl(NewTime[uint64](1, &Position{At: Latest}, Position{}, 1, 10), 1, full.before): 5,
		// the page before the empty one comes after it
		newCrawl(NewTime[uint64](0, &Position{At: Latest}, Position{}, 2, 10), 2, long.before): 17,
	} {
		c.drain()
		check.Equal(t, "requests", requests, c.requests)
	}
}

// arrive puts n entries at the top of a listing.
func (w *world) arrive(n int) {
	for range n {
		at, id := int64(1_700_000_000_000), uint64(1_000_000)
		if len(w.entries) > 0 {
			at, id = max(at, w.entries[0].Start+60_000), max(id, w.entries[0].Value+1)
		}
		w.entries = slices.Insert(w.entries, 0, numbered(at, id))
	}
}
