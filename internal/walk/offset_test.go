package walk

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestAWalkByOffsetReadsEveryEntryOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		slots, offset := rapid.IntRange(1, 16).Draw(t, "slots"), rapid.IntRange(0, 30).Draw(t, "offset")
		c := &crawl{walk: NewOffset[uint64](int64(offset), nil, slots, w.pageSize), slots: slots, pick: drawPick(t)}
		c.fetch = func(at int64) ([]Entry[uint64], error) { return w.from(at), nil }
		var got []uint64
		for {
			e, ok := c.take()
			if !ok {
				break
			}
			if e.Err != nil {
				t.Fatal(e.Err)
			}
			got = append(got, e.ID)
		}
		sameIDs(t, w.ids()[min(offset, len(w.entries)):], got)
	})
}

func TestAWalkByOffsetSurvivesBreaksErrorsAndResumes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		offset := rapid.IntRange(0, 30).Draw(t, "offset")
		var got []uint64
		begin := func(resume *Position, slots int) Walker[uint64] {
			return NewOffset[uint64](int64(offset), resume, slots, w.pageSize)
		}
		crawlWithBreaks(t, begin, func(at int64) ([]Entry[uint64], error) { return w.from(at), nil }, func(e Entry[uint64]) {
			if e.Err != nil {
				t.Fatal(e.Err)
			}
			got = append(got, e.ID)
		})
		sameIDs(t, w.ids()[min(offset, len(w.entries)):], got)
	})
}

func TestAWalkByOffsetMissesNothingThatStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		slots := rapid.IntRange(1, 8).Draw(t, "slots")
		changes := rapid.IntRange(0, 12).Draw(t, "most changes")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		original, removed := w.ids(), map[uint64]bool{}
		next, total := uint64(5000), 0
		change := func() {
			if total++; total > 150 {
				return
			}
			if rng.IntN(2) == 0 || len(w.entries) == 0 {
				start := int64(2_000_000_000_001)
				if len(w.entries) > 0 {
					start = max(start, w.entries[0].Start+1)
				}
				w.entries = slices.Insert(w.entries, 0, Entry[uint64]{Start: start, ID: next})
				next++
			} else {
				i := rng.IntN(len(w.entries))
				removed[w.entries[i].ID] = true
				w.entries = slices.Delete(w.entries, i, i+1)
			}
		}
		c := &crawl{walk: NewOffset[uint64](0, nil, slots, w.pageSize), slots: slots, pick: drawPick(t)}
		c.fetch = func(at int64) ([]Entry[uint64], error) {
			for range rng.IntN(changes + 1) {
				change()
			}
			return w.from(at), nil
		}
		got := map[uint64]bool{}
		for {
			e, ok := c.take()
			if !ok {
				break
			}
			if e.Err != nil || got[e.ID] {
				t.Fatalf("entry %d came twice, or %v", e.ID, e.Err)
			}
			got[e.ID] = true
		}
		for _, id := range original {
			if !removed[id] && !got[id] {
				t.Fatalf("entry %d stayed in the listing and was missed", id)
			}
		}
	})
}

// Also where reading ahead finds that the body of one request was ignored.
func TestAnErrorByOffsetComesAfterWhatLiesBeforeIt(t *testing.T) {
	page := func(at int64) (entries []Entry[uint64]) {
		for n := at; n < at+10; n++ {
			entries = append(entries, Entry[uint64]{Start: 1000 - n, ID: uint64(n + 1)})
		}
		return entries
	}
	for _, failure := range []error{errBroken, fmt.Errorf("page: %w", Ignored("another tier"))} {
		w := NewOffset[uint64](0, nil, 3, 10)
		take := func() (n int, err error) {
			for {
				e, ok := w.Take()
				if !ok || e.Err != nil {
					return n, e.Err
				}
				n++
			}
		}
		var requested []int64
		for len(requested) < 4 {
			at, ok := w.Next()
			if !ok {
				break
			}
			if requested = append(requested, at); at == 0 {
				w.Learn(0, page(0))
			}
		}
		if !slices.Equal(requested, []int64{0, 9, 18, 27}) {
			t.Fatalf("requests %v", requested)
		}
		w.Fail(18, failure)
		if n, err := take(); n != 10 || err != nil {
			t.Errorf("%v: %d entries, then %v, although the page before is on its way", failure, n, err)
		}
		w.Learn(9, page(9))
		if n, err := take(); n != 9 || !errors.Is(err, failure) {
			t.Errorf("%v: %d entries, then %v", failure, n, err)
		}
	}
}

// arrive puts n entries at the top of a listing.
func (w *world) arrive(n int) {
	for range n {
		at, id := int64(1_700_000_000_000), uint64(1_000_000)
		if len(w.entries) > 0 {
			at, id = max(at, w.entries[0].Start+60_000), max(id, w.entries[0].ID+1)
		}
		w.entries = slices.Insert(w.entries, 0, Entry[uint64]{Start: at, ID: id})
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
				for _, slots := range []int{1, 4} {
					for _, resumed := range []bool{false, true} {
						w := &world{pageSize: 10}
						for i := range size {
							w.add(1_600_000_000_000-60_000*int64(i), uint64(size-i))
						}
						begun, want := NewOffset[uint64](0, nil, slots, w.pageSize), w.ids()
						var got []uint64
						if resumed && size > 0 {
							begun.Next()
							begun.Learn(0, w.from(0))
							for range min(size, 10) {
								e, _ := begun.Take()
								got = append(got, e.ID)
							}
							begun = NewOffset[uint64](0, begun.Position(), slots, w.pageSize)
						}
						requests, beyond := 0, 0
						c := &crawl{walk: begun, slots: slots, pick: rng.IntN, fetch: func(at int64) ([]Entry[uint64], error) {
							if requests++; requests > 3_000 {
								return nil, errBroken
							}
							w.arrive(arrivals(most, requests))
							if int(at) >= len(w.entries) {
								beyond++
							}
							return w.from(at), nil
						}}
						for {
							e, ok := c.take()
							if !ok || e.Err != nil {
								break
							}
							if e.ID < 1_000_000 {
								got = append(got, e.ID)
							}
						}
						if !slices.Equal(want, got) || requests > 60+4*slots*size || beyond > 2*slots+4 {
							t.Fatalf("%d entries, %d arrivals %s, %d slots, resumed %v: %d entries in %d requests, %d of them beyond the end",
								size, most, name, slots, resumed, len(got), requests, beyond)
						}
					}
				}
			}
		}
	}
}

// What is forgotten is newer than all that is remembered, also where entries
// share a start: dozens of arrivals on starts of their own repeat nothing.
func TestArrivalsRepeatNothingWhereTheListingHasTies(t *testing.T) {
	for _, tied := range []int{1, 2, 3, 9, 25} {
		for arrivals := range 160 {
			for _, resumed := range []bool{false, true} {
				w := &world{pageSize: 10}
				for i := range 200 {
					w.add(1_600_000_000_000-60_000*int64(i/tied), uint64(200-i))
				}
				walk, want := NewOffset[uint64](0, nil, 1, w.pageSize), w.ids()
				c := &crawl{walk: walk, slots: 1, pick: rand.IntN, fetch: func(at int64) ([]Entry[uint64], error) { return w.from(at), nil }}
				var got []uint64
				for {
					e, ok := c.take()
					if !ok {
						break
					}
					got = append(got, e.ID)
					if len(got) == 100 {
						w.arrive(arrivals)
						if resumed {
							c.walk = NewOffset[uint64](0, walk.Position(), 1, w.pageSize)
						}
					}
				}
				if !slices.Equal(want, got) {
					t.Fatalf("%d tied, %d arrivals, resumed %v: %d of 200 entries", tied, arrivals, resumed, len(got))
				}
			}
		}
	}
}
