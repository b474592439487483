package horseracing

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

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
