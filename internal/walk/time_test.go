package walk

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestEveryEntryComesOnceNewestFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		slots := rapid.IntRange(1, 16).Draw(t, "slots")
		since, before := int64(Earliest), int64(Latest)
		if len(w.entries) > 0 && rapid.Bool().Draw(t, "bounds") {
			bound := func(name string) int64 {
				return rapid.SampledFrom(w.entries).Draw(t, name).Start + rapid.Int64Range(-1, 1).Draw(t, name+" offset")
			}
			a, b := bound("since"), bound("before")
			since, before = min(a, b), max(a, b)
		}
		requested := map[int64]bool{}
		c := newCrawl(within(since, before, slots, w.pageSize), slots, func(at int64) []Entry[uint64] {
			if requested[at] {
				t.Fatalf("the page from %d was requested twice", at)
			}
			requested[at] = true
			return w.before(at)
		})
		c.pick = drawPick(t)
		var got []uint64
		last := int64(math.MaxInt64)
		for {
			e, ok := c.take()
			if !ok {
				break
			}
			if e.Err != nil || e.Start > last {
				t.Fatalf("%v, %d after %d", e.Err, e.Start, last)
			}
			last = e.Start
			got = append(got, e.Value)
		}
		var want []uint64
		for _, e := range w.entries {
			if since <= e.Start && e.Start < before {
				want = append(want, e.Value)
			}
		}
		sameIDs(t, want, got)
	})
}

func TestAWalkByTimeSurvivesBreaksErrorsAndResumes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		var got []uint64
		last := int64(math.MaxInt64)
		begin := func(resume []Position, slots int) Walker[uint64] {
			if resume == nil {
				return byTime(slots, w.pageSize)
			}
			return NewMerge[uint64](Earliest, resume, slots, w.pageSize)
		}
		crawlWithBreaks(t, 16, begin, func(r Request) []Entry[uint64] { return w.before(r.At) }, func(e Entry[uint64]) {
			if e.Err != nil || e.Start > last {
				t.Fatalf("%v, %d after %d", e.Err, e.Start, last)
			}
			last = e.Start
			got = append(got, e.Value)
		})
		sameIDs(t, w.ids(), got)
	})
}

// Which of two responses comes first must not decide what is handed out before
// an error.
func TestAnErrorWaitsForAPageOnItsWayThatMayLieBeforeIt(t *testing.T) {
	page := func(starts ...int64) (entries []Entry[uint64]) {
		for _, start := range starts {
			entries = append(entries, numbered(start, uint64(start)))
		}
		return entries
	}
	var taken []int64
	w := NewTime[uint64](Earliest, Position{At: Latest - 1}, 3, 10)
	take := func() error {
		for {
			e, ok := w.Peek()
			if !ok || e.Err != nil {
				return e.Err
			}
			w.Take()
			taken = append(taken, e.Start)
		}
	}
	next := func() int64 {
		at, ok := w.Next()
		if !ok {
			t.Fatal("the walk requests nothing")
		}
		return at
	}
	w.Learn(next(), page(1000, 999, 998, 997, 996, 995, 994, 993, 992, 991))
	own, guess := next(), next()
	if own != 992 || guess >= own || guess < 800 {
		t.Fatalf("requests %d and %d", own, guess)
	}
	w.Learn(own, page(991, 990, 989, 988, 987, 986, 985, 984, 983, guess-3)) // behind what was guessed at
	if own = next(); own != guess-2 {
		t.Fatalf("requests %d", own)
	}
	w.Fail(own, errBroken)
	if err := take(); err != nil || len(taken) != 19 {
		t.Errorf("%d entries, then %v, although a page that may hold more is on its way", len(taken), err)
	}
	w.Learn(guess, page(guess-3, guess-4, guess-5, guess-6, guess-7, guess-8, guess-9, guess-10, guess-11, guess-12))
	if err := take(); !errors.Is(err, errBroken) || len(taken) != 28 || taken[27] != guess-12 {
		t.Errorf("%d entries, then %v", len(taken), err)
	}
}

func TestReadingAheadIsBounded(t *testing.T) {
	const slots = 4
	w := &world{pageSize: 10}
	for i := range 20_000 {
		w.add(1_700_000_000_000-60_000*int64(i), uint64(i+1))
	}
	walk, most := NewTime[uint64](Earliest, Position{At: Latest - 1}, slots, w.pageSize), 0
	for range 5_000 { // a reader that takes one entry where twenty come
		for range 2 * slots {
			if at, ok := walk.Next(); ok {
				walk.Learn(at, w.before(at))
			}
		}
		walk.Take()
		most = max(most, walk.waiting())
	}
	if bound := 2*lookAhead*w.pageSize*slots + slots*w.pageSize; most > bound || most < bound/4 {
		t.Errorf("%d entries waited, want at most %d", most, bound)
	}
}

func TestAShortPageIsNotTheEnd(t *testing.T) {
	w := &world{pageSize: 10, keep: func(id uint64) bool { return id%3 == 0 }}
	for i := range 400 {
		w.add(1_700_000_000_000-60_000*int64(i), uint64(i+1))
	}
	want := slices.DeleteFunc(w.ids(), func(id uint64) bool { return id%3 != 0 })
	for _, slots := range []int{1, 8} {
		got, _ := walkAll(t, byTime(slots, w.pageSize), slots, w.before)
		sameIDs(t, want, got)
	}
}

// A page may be shorter than documented, or hold an entry several times: an
// instant that fills one may hide more entries either way.
func TestAnInstantThatFillsAPageIsReportedWhateverThePageHolds(t *testing.T) {
	for _, size := range []int{2, 3, 5, 9, 10} {
		for _, twice := range []bool{false, true} {
			for _, first := range []bool{false, true} {
				for _, slots := range []int{1, 4} {
					fit := size
					if twice {
						fit = (size + 1) / 2
					}
					if fit < 2 {
						continue // a listing of single entries is no tie
					}
					w := &world{pageSize: size}
					id := uint64(1000)
					add := func(start int64) {
						if w.add(start, id); twice {
							w.add(start, id)
						}
						id--
					}
					for i := range int64(30) {
						if !first {
							add(2_000_000 - 1000*i)
						}
					}
					for range fit + 1 { // one more than fit
						add(1_000_000)
					}
					for i := range int64(30) {
						add(900_000 - 1000*i)
					}
					c := newCrawl(byTime(slots, 10), slots, w.before)
					ties, came := 0, map[uint64]bool{}
					for {
						e, ok := c.take()
						if !ok {
							break
						}
						if tie, ok := errors.AsType[*TieError](e.Err); ok {
							if ties++; tie.Start != 1_000_000 || tie.Seen != fit {
								t.Errorf("%+v", tie)
							}
							continue
						}
						if came[e.Value] || e.Err != nil {
							t.Fatalf("%d again, or %v", e.Value, e.Err)
						}
						came[e.Value] = true
					}
					if missed := int(1000-id) - len(came); missed != 1 || ties != 1 {
						t.Errorf("pages of %d, twice %v, first %v, %d slots: %d missed, %d ties", size, twice, first, slots, missed, ties)
					}
				}
			}
		}
	}
}

func TestAListingOfSingleEntriesHasNoTies(t *testing.T) {
	for _, size := range []int{1, 2, 3, 10} {
		w := &world{pageSize: size}
		for i := range 30 {
			w.add(int64(2_000_000-1000*i), uint64(100-i))
		}
		got, _ := walkAll(t, byTime(1, 10), 1, w.before)
		sameIDs(t, w.ids(), got)
	}
}
