package horseracing

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestOffsetWalkReadsEveryEntryOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		q := OffsetQuery{Concurrency: rapid.IntRange(1, 16).Draw(t, "concurrency")}
		q.Offset = rapid.IntRange(0, 30).Draw(t, "offset")
		got := collect(t, w.client(t).Races.ResultsV1(q), never)
		sameEntries(t, got, w.ids[min(q.Offset, len(w.ids)):])
		if w.most > q.Concurrency {
			t.Fatalf("%d requests in flight at concurrency %d", w.most, q.Concurrency)
		}
	})
}

func TestOffsetWalkSurvivesBreaksErrorsAndResumes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.before = failSome(t)
		q := OffsetQuery{Offset: rapid.IntRange(0, 30).Draw(t, "offset")}
		var got []int64
		for range 10_000 {
			q.Concurrency = rapid.IntRange(1, 16).Draw(t, "concurrency")
			p := w.client(t).Races.ResultsV1(q)
			finished := true
			stop := rapid.IntRange(1, 40).Draw(t, "stop after")
			for r, err := range p.All(context.Background()) {
				if err != nil && !errors.Is(err, errBroken) {
					t.Fatal(err)
				}
				if err != nil {
					finished = false
					break
				}
				got = append(got, int64(r.MainRaceID))
				if stop--; stop == 0 {
					finished = false
					break
				}
			}
			if finished {
				sameEntries(t, got, w.ids[min(q.Offset, len(w.ids)):])
				return
			}
			c, err := ParseCursor(p.Cursor().String())
			if err != nil {
				t.Fatal(err)
			}
			q.Resume = c
		}
		t.Fatal("the walk does not end")
	})
}

func TestOffsetWalkMissesNothingThatStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		arrived, removed := map[int64]bool{}, map[int64]bool{}
		next := int64(5000)
		changes := rapid.IntRange(0, 12).Draw(t, "most changes")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		total := 0
		w.before = func(int64) error {
			for range rng.IntN(changes + 1) {
				if total++; total > 150 {
					return nil
				}
				if rng.IntN(2) == 0 || len(w.ids) == 0 {
					start := int64(2_000_000_000_001)
					if len(w.starts) > 0 {
						start = max(start, w.starts[0]+1)
					}
					w.starts, w.ids = slices.Insert(w.starts, 0, start), slices.Insert(w.ids, 0, next)
					arrived[next] = true
					next++
				} else {
					i := rng.IntN(len(w.ids))
					removed[w.ids[i]] = true
					w.remove(i)
				}
			}
			return nil
		}
		original := slices.Clone(w.ids)
		got := map[int64]bool{}
		for _, id := range collectAnyOrder(t, w.client(t).Races.ResultsV1(OffsetQuery{Concurrency: rapid.IntRange(1, 8).Draw(t, "concurrency")})) {
			if got[id] {
				t.Fatalf("entry %d came twice", id)
			}
			got[id] = true
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
	page := func(at int64) (entries []entry[int]) {
		for n := at; n < at+pageSize; n++ {
			entries = append(entries, entry[int]{start: 1000 - n, id: uint64(n + 1)})
		}
		return entries
	}
	for _, failure := range []error{errBroken, fmt.Errorf("another tier: %w", ErrBodyIgnored)} {
		w := newOffsetWalk[int](operation{}, 0, Cursor{}, 3)
		take := func() (n int, err error) {
			for {
				e, ok := w.take()
				if !ok || e.err != nil {
					return n, e.err
				}
				n++
			}
		}
		var asked []int64
		ask := func() {
			for len(asked) < 4 {
				at, ok := w.next()
				if !ok {
					return
				}
				asked = append(asked, at)
				if at == 0 {
					_ = w.learn(0, page(0))
				}
			}
		}
		if ask(); !slices.Equal(asked, []int64{0, 9, 18, 27}) {
			t.Fatalf("asks %v", asked)
		}
		w.fail(18, failure)
		if n, err := take(); n != 10 || err != nil {
			t.Errorf("%v: %d entries, then %v, although the page before is on its way", failure, n, err)
		}
		_ = w.learn(9, page(9))
		if n, err := take(); n != 9 || !errors.Is(err, failure) {
			t.Errorf("%v: %d entries, then %v", failure, n, err)
		}
	}
}

func collectAnyOrder(t failer, p *Pager[Race]) (ids []int64) {
	for r, err := range p.All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, int64(r.MainRaceID))
	}
	return ids
}

func TestAnIgnoredOffsetIsNoticedWhateverArrives(t *testing.T) {
	for _, arrivals := range []int{1, 4, 6, 10, 25} {
		w := dense(500, 60_000)
		w.ignoreBody = true
		w.before = func(int64) error {
			if w.requests > 100 {
				return errBroken
			}
			for range arrivals {
				w.starts = slices.Insert(w.starts, 0, w.starts[0]+60_000)
				w.ids = slices.Insert(w.ids, 0, int64(len(w.ids)+1))
			}
			return nil
		}
		_, err := w.client(t).Races.ResultsV1(OffsetQuery{}).Take(t.Context(), 10_000)
		if !errors.Is(err, ErrBodyIgnored) {
			t.Errorf("%d arrivals between two requests: %v after %d requests", arrivals, err, w.requests)
		}
	}
}

// With one arrival a request the same few entries lie at each offset asked for.
func TestArrivalsAreNotTakenForAnIgnoredOffset(t *testing.T) {
	w := &world{}
	w.add(1000, 1000, 1000)
	w.before = func(int64) error {
		if w.requests > 1 && w.requests < 30 {
			w.add(w.starts[0] + 1)
		}
		return nil
	}
	if got := collectAnyOrder(t, w.client(t).Races.ResultsV1(OffsetQuery{})); len(got) != 3 {
		t.Errorf("entries %v came, want those three that were there", got)
	}
}
