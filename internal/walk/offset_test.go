package walk

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Between two requests up to a page but one may arrive, which may come too, or one entry
// may be removed.
func TestAWalkByOffsetMissesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		arrivals := rapid.SampledFrom([]int{0, 1, 5, 9}).Draw(t, "most arrivals")
		isRemoved := arrivals == 0 && rapid.Bool().Draw(t, "one is removed")
		want, left := map[uint64]bool{}, 300
		for _, id := range w.ids() {
			want[id] = true
		}
		c := newCrawl(NewOffset[uint64](&Position{}, 10), 1, func(at int64) []Entry[uint64] {
			if isRemoved && len(w.entries) > w.pageSize {
				i := rng.IntN(len(w.entries))
				delete(want, w.entries[i].Value)
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
		for id := range want {
			if !got[id] {
				t.Fatalf("entry %d was missed", id)
			}
		}
	})
}

func TestAServiceThatFiltersPagesByOffsetLosesNothing(t *testing.T) {
	for part := uint64(2); part < 9; part++ {
		w := &world{pageSize: 10, keep: func(id uint64) bool { return id%part == 0 }}
		for i := range 400 {
			w.add(1_700_000_000_000-60_000*int64(i), uint64(400-i))
		}
		want := slices.DeleteFunc(w.ids(), func(id uint64) bool { return id%part != 0 })
		c := newCrawl(NewOffset[uint64](&Position{}, 10), 1, w.from)
		var got []uint64
		for e, ok := c.take(); ok && e.Err == nil; e, ok = c.take() {
			got = append(got, e.Value)
		}
		if !slices.Equal(want, got) || c.requests > 800 {
			t.Errorf("one in %d: entries %v in %d requests", part, got, c.requests)
		}
	}
}

// If pages are filtered so that they hardly ever overlap, the walk ends all the same. It
// may miss entries: an empty page is the end.
func TestAWalkByOffsetEndsAlsoIfNoPageIsLinked(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 1))
		shown, isShown := map[uint64]bool{}, false
		w := &world{pageSize: 10, keep: func(id uint64) bool { return shown[id] }}
		for i := range 300 {
			if rng.IntN(3) == 0 {
				isShown = rng.IntN(2) == 0
			}
			w.add(1_700_000_000_000-60_000*int64(i), uint64(300-i))
			shown[uint64(300-i)] = isShown
		}
		c := newCrawl(NewOffset[uint64](&Position{}, 10), 1, w.from)
		for _, ok := c.take(); ok; _, ok = c.take() {
		}
		if c.requests > 400 {
			t.Fatalf("seed %d: %d requests for 30 pages", seed, c.requests)
		}
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

// However fast a listing is pushed back, up to a page but one for each request,
// all of it is read, and few requests go beyond its end.
func TestAWalkByOffsetEndsUnderArrivals(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	patterns := map[string]func(most, request int) int{
		"as many before each request": func(most, _ int) int { return most },
		"before every other request":  func(most, request int) int { return most * (request % 2) },
		"at random":                   func(most, _ int) int { return rng.IntN(most + 1) },
	}
	for name, arrivals := range patterns {
		for _, size := range []int{0, 1, 2, 3, 9, 10, 11, 19, 20, 87} {
			for most := range 10 {
				for _, tied := range []bool{false, true} {
					for _, resumed := range []bool{false, true} {
						w := &world{pageSize: 10}
						for i := range size {
							start := int64(1_600_000_000_000)
							if !tied {
								start -= 60_000 * int64(i)
							}
							w.add(start, uint64(size-i))
						}
						position, want := &Position{}, w.ids()
						var got []uint64
						if resumed && size > 0 {
							begun := NewOffset[uint64](position, 10)
							begun.Learn(Request{}, w.from(0), nil)
							for range min(size, 10) {
								e, _ := begun.Take()
								got = append(got, e.Value)
							}
						}
						requests, beyond := 0, 0
						c := newCrawl(NewOffset[uint64](position, 10), 1, func(at int64) []Entry[uint64] {
							requests++
							w.arrive(arrivals(most, requests))
							if int(at) >= len(w.entries) {
								beyond++
							}
							return w.from(at)
						})
						for requests < 3_000 {
							e, ok := c.take()
							if !ok || e.Err != nil {
								break
							}
							if e.Value < 1_000_000 {
								got = append(got, e.Value)
							}
						}
						slices.Sort(want)
						slices.Sort(got)
						if !slices.Equal(want, got) || requests > 60+4*size || beyond > 12 {
							t.Fatalf("%d entries, tied %v, %d arrivals %s, resumed %v: %d entries in %d requests, %d of them beyond the end",
								size, tied, most, name, resumed, len(got), requests, beyond)
						}
					}
				}
			}
		}
	}
}
