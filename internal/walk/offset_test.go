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
