package walk

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawDense makes a listing with several entries in a second, but never a page
// of them.
func drawDense(t *rapid.T) *world {
	w := &world{pageSize: 10}
	at, id := int64(1_700_000_000_000), uint64(1000)
	for range rapid.IntRange(0, 80).Draw(t, "seconds") {
		at -= 1000 * rapid.SampledFrom([]int64{1, 1, 1, 2, 60, 3600, 60 * 24 * 3600}).Draw(t, "gap")
		var within []int64
		for range rapid.SampledFrom([]int{1, 2, 3, 4, 9}).Draw(t, "entries") {
			within = append(within, rapid.SampledFrom([]int64{0, 1, 2, 300, 301, 500, 998, 999}).Draw(t, "ms"))
		}
		slices.Sort(within)
		for _, ms := range slices.Backward(within) {
			w.add(at+ms, id)
			id--
		}
	}
	return w
}

func (w *world) beforeSecond(at int64) []Entry[uint64] { return w.before(second(at)) }

func TestAServiceThatTakesWholeSecondsLosesNothing(t *testing.T) {
	w := &world{pageSize: 10}
	for i := range 90 { // four a second
		w.add(1_700_000_000_900-250*int64(i), uint64(100-i))
	}
	for _, slots := range []int{1, 3, 16} {
		got, requests := walkAll(t, NewTime[uint64](Earliest, Latest, nil, slots, w.pageSize), slots, w.beforeSecond)
		sameIDs(t, w.ids(), got)
		if requests > 60 {
			t.Errorf("%d slots: %d requests for 90 entries", slots, requests)
		}
	}
}

func TestWholeSecondsLoseNothingThroughBreaksErrorsAndResumes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawDense(t)
		since, before := int64(Earliest), int64(Latest)
		if len(w.entries) > 0 && rapid.Bool().Draw(t, "bounds") {
			bound := func(name string) int64 {
				return rapid.SampledFrom(w.entries).Draw(t, name).Start + rapid.Int64Range(-1, 1).Draw(t, name+" offset")
			}
			a, b := bound("since"), bound("before")
			since, before = min(a, b), max(a, b)
		}
		var got, want []uint64
		for _, e := range w.entries {
			if since <= e.Start && e.Start < before {
				want = append(want, e.ID)
			}
		}
		last := int64(Latest)
		begin := func(resume *Position, slots int) Walker[uint64] {
			return NewTime[uint64](since, before, resume, slots, w.pageSize)
		}
		fetch := func(at int64) ([]Entry[uint64], error) { return w.beforeSecond(at), nil }
		crawlWithBreaks(t, begin, fetch, func(e Entry[uint64]) {
			if e.Err != nil || e.Start > last {
				t.Fatalf("%v, %d after %d", e.Err, e.Start, last)
			}
			last = e.Start
			got = append(got, e.ID)
		})
		sameIDs(t, want, got)
	})
}

func TestWholeSecondsLoseNothingWithAnyConcurrency(t *testing.T) {
	for _, slots := range []int{1, 3, 16} {
		t.Run(fmt.Sprint(slots), rapid.MakeCheck(func(t *rapid.T) {
			w := drawDense(t)
			c := &crawl{walk: NewTime[uint64](Earliest, Latest, nil, slots, w.pageSize), slots: slots, pick: drawPick(t)}
			c.fetch = func(at int64) ([]Entry[uint64], error) { return w.beforeSecond(at), nil }
			var got []uint64
			last := int64(Latest)
			for {
				e, ok := c.take()
				if !ok {
					break
				}
				if e.Err != nil || e.Start > last {
					t.Fatalf("%v, %d after %d", e.Err, e.Start, last)
				}
				last = e.Start
				got = append(got, e.ID)
			}
			if c.requests > 20+5*len(w.entries) {
				t.Fatalf("%d requests for %d entries", c.requests, len(w.entries))
			}
			sameIDs(t, w.ids(), got)
		}))
	}
}

// A second that holds more than a page hides some of it from every request:
// that must be reported, and passed.
func TestASecondThatFillsAPageIsReported(t *testing.T) {
	w := &world{pageSize: 10}
	for i := range 30 {
		w.add(1_700_000_100_300-700*int64(i), uint64(1000-i))
	}
	for i := range 12 {
		w.add(1_700_000_000_900-50*int64(i), uint64(900-i))
	}
	for i := range 30 {
		w.add(1_699_999_999_300-700*int64(i), uint64(800-i))
	}
	for _, slots := range []int{1, 3, 16} {
		c := &crawl{walk: NewTime[uint64](Earliest, Latest, nil, slots, w.pageSize), slots: slots, pick: func(int) int { return 0 }}
		c.fetch = func(at int64) ([]Entry[uint64], error) { return w.beforeSecond(at), nil }
		ties, came := 0, map[uint64]bool{}
		for {
			e, ok := c.take()
			if !ok {
				break
			}
			if e.Err != nil {
				if ties++; second(e.Start) != 1_700_000_000_000 {
					t.Errorf("%v", e.Err)
				}
				continue
			}
			if came[e.ID] {
				t.Errorf("%d again", e.ID)
			}
			came[e.ID] = true
		}
		if len(came) != 70 || ties != 1 || c.requests > 100 {
			t.Errorf("%d slots: %d of 72 entries, %d ties, %d requests", slots, len(came), ties, c.requests)
		}
	}
}

// An entry that is removed while it is about to show again is no error.
func TestARemovedEntryIsNoWholeSecond(t *testing.T) {
	for _, page := range []func(*world, int64) []Entry[uint64]{(*world).before, (*world).beforeSecond} {
		rapid.Check(t, func(t *rapid.T) {
			w := drawDense(t)
			slots := rapid.SampledFrom([]int{1, 3, 16}).Draw(t, "slots")
			part := rapid.IntRange(2, 20).Draw(t, "one in")
			removed := map[uint64]bool{}
			pick := drawPick(t)
			c := &crawl{walk: NewTime[uint64](Earliest, Latest, nil, slots, w.pageSize), slots: slots, pick: pick}
			c.fetch = func(at int64) ([]Entry[uint64], error) {
				p := page(w, at)
				if len(p) > 0 && pick(part) == 0 { // the last on the page goes at once
					id := p[len(p)-1].ID
					removed[id] = true
					w.entries = slices.DeleteFunc(w.entries, func(e Entry[uint64]) bool { return e.ID == id })
				}
				return p, nil
			}
			all := len(w.entries)
			came := map[uint64]bool{}
			for {
				e, ok := c.take()
				if !ok {
					break
				}
				if e.Err != nil || came[e.ID] {
					t.Fatalf("%v, or %d again", e.Err, e.ID)
				}
				came[e.ID] = true
			}
			for _, e := range w.entries {
				if !came[e.ID] {
					t.Fatalf("%d, which stays, did not come", e.ID)
				}
			}
			if c.requests > 40+6*all {
				t.Fatalf("%d requests for %d entries", c.requests, all)
			}
		})
	}
}
