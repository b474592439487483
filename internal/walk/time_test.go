package walk

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/horseracing-go/horseracing/guarantees/double/check"

	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing/internal/entry"
)

// Whatever fails, wherever a loop is left, and if the service filters a page after it has
// limited it. Then a page of one instant may look full, and a tie may be reported.
func TestEveryEntryComesOnceNewestFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		if part := rapid.Uint64Range(1, 7).Draw(t, "one in so many is filtered"); part > 1 {
			w.keep = func(id uint64) bool { return id%part != 0 }
		}
		begin, position := crawlOf, &Position{}
		if rapid.Bool().Draw(t, "by offset") {
			begin = byOffset
		}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var got []uint64
		last := int64(math.MaxInt64)
		for isDone := false; !isDone; {
			c := begin(w, position, 1+random.IntN(16))
			c.pick = random.IntN
			page := c.fetch
			c.fetch = func(r PageRequest) ([]entry.Entry[uint64], error) {
				if random.IntN(6) == 0 {
					return nil, errBroken
				}
				return page(r)
			}
			left := 1 + random.IntN(80)
			isDone = true
			for e, ok := c.take(); ok; e, ok = c.take() {
				if e.Ties > 0 && w.keep != nil {
					continue
				}
				if e.Err == nil {
					if e.Start > last {
						t.Fatalf("entry %d starts after the one before it", e.Value)
					}
					got, last = append(got, e.Value), e.Start
					left--
				}
				if isDone = e.Err == nil && left > 0; !isDone {
					break
				}
			}
		}
		want := slices.DeleteFunc(w.ids(), func(id uint64) bool { return w.keep != nil && !w.keep(id) })
		slices.Sort(want)
		slices.Sort(got)
		check.Equal(t, "entries", want, got, cmpopts.EquateEmpty())
	})
}

// The loop ends with the failure, and would request them again.
func TestAWalkRequestsNothingOlderThanWhatFailed(t *testing.T) {
	w := newWorld(10, 2000, 60_000)
	walk := NewTime[uint64](0, &Position{At: Latest}, Position{}, 3, 10)
	learn(walk, w.before(Latest))
	upper, _ := walk.Next()
	lower, ok := walk.Next()
	check.Equal(t, "two requests, the second an older one", true, ok && lower.From < upper.From)
	walk.Learn(upper, nil, errBroken)
	after, ok := walk.Next()
	check.Equal(t, fmt.Sprint("a request after the failure, ", after), false, ok)
}

// A loop that is left after another entry of the page would not see it again. It is on no page for certain, so that its absence does not make an empty page wrong.
func TestAnEntryWithoutAStartComesFirstAndIsNotTheKnownOne(t *testing.T) {
	ten, seven, none := numbered(10, 1), numbered(7, 2), entry.Entry[uint64]{ID: "?", Start: 7, NoStart: true, Err: errBroken}
	check.Equal(t, "the first of a page", "?", sortPage([]entry.Entry[uint64]{seven, none})[0].ID)
	walk := NewTime[uint64](0, &Position{At: Latest}, Position{}, 1, 10)
	learn(walk, []entry.Entry[uint64]{ten, seven}, []entry.Entry[uint64]{none, seven})
	for _, ok := walk.Take(); ok; _, ok = walk.Take() {
	}
	learn(walk, nil, []entry.Entry[uint64]{ten, seven}, nil)
	e, _ := walk.Take()
	check.Equal(t, "the error at the end", nil, e.Err)
}

// A caller that takes slowly finds 32 pages for each slot.
func TestAWalkReadsAheadWithinItsBound(t *testing.T) {
	for _, slots := range []int{1, 4, 8} {
		c, most := crawlOf(newWorld(10, 20_000, 20_000), &Position{}, slots), 0
		c.fill()
		c.receive()
		c.fill()
		check.Equal(t, "requests in flight after a page", min(2, slots), len(c.inFlight))
		for range 10_000 {
			for c.fill(); len(c.inFlight) > 0; c.fill() {
				c.receive()
			}
			waiting := 0
			for _, s := range c.walk.(*Time[uint64]).segments {
				waiting += len(s.ready)
			}
			most = max(most, waiting)
			if _, ok := c.take(); !ok {
				t.Fatal("the walk ends early")
			}
		}
		if bound := 10 * (32*slots + slots); most > bound || most < bound/4 {
			t.Errorf("with %d slots up to %d entries waited, want at most %d", slots, most, bound)
		}
	}
}

// Other segments may be as far ahead as they can be, while the page at the top comes last.
func TestAWalkContinuesAtItsTopHoweverMuchIsReady(t *testing.T) {
	c := crawlOf(newWorld(10, 20_000, 20_000), &Position{}, 8)
	c.pick = func(n int) int { return n - 1 }
	c.fill()
	got, _, err := c.drain()
	check.Equal(t, "the error", nil, err)
	check.Equal(t, "entries", 20_000, len(got))
}

// A page of as many rows as a page can have is full, also if it shows an entry twice.
func TestAPageWithDuplicatesOnOneInstantIsATie(t *testing.T) {
	walk, page := NewTime[uint64](0, &Position{At: Latest}, Position{}, 1, 10), onInstants(10, []int64{1}, 5).entries
	learn(walk, append(page, page...))
	for range page {
		walk.Take()
	}
	e, _ := walk.Take()
	check.Equal(t, "ties after the five entries", 5, e.Ties)
}

// Once a tie was taken its entries are known, also to a walk that continues after it.
func TestAnEmptyListAfterATieIsNotTheEnd(t *testing.T) {
	w, position := onInstants(10, []int64{1000}, 10, 1), &Position{}
	c := crawlOf(w, position, 1)
	for e, ok := c.take(); ok && e.Ties == 0; e, ok = c.take() {
	}
	c = crawlOf(w, position, 1)
	c.fetch = func(PageRequest) ([]entry.Entry[uint64], error) { return nil, nil }
	e, _ := c.take()
	check.Equal(t, "the error while lists are empty", ErrEmptied, e.Err)
	e, _ = crawlOf(w, position, 1).take()
	check.Equal(t, "the entry after that", w.entries[10], e)
}

// The page of a service that includes the bound may be full of entries that were read.
func TestAPageThatIncludesItsBoundHidesNothing(t *testing.T) {
	for _, counts := range [][]int{{9, 5}, {4, 4, 4}} {
		w := onInstants(10, []int64{1}, counts...)
		c := crawlOf(w, &Position{}, 1)
		c.fetch = func(r PageRequest) ([]entry.Entry[uint64], error) { return w.before(max(r.From, r.From+1)), nil }
		if got, ties, _ := c.drain(); len(got) != len(w.entries) && ties == 0 {
			t.Errorf("%d of %d entries, without an error", len(got), len(w.entries))
		}
	}
}

// A page that shows older entries takes back that the one before showed none, and that one was empty.
// If the caller knows an older entry, also a page is not the end that is empty after one with room.
func TestAnEmptyPageThatMayNotBeTheEndIsRequestedAgain(t *testing.T) {
	ten, nine, seven := numbered(10, 1), numbered(9, 2), numbered(7, 3)
	for _, test := range []struct {
		known Position
		pages [][]entry.Entry[uint64]
		want  int64
	}{
		{Position{}, [][]entry.Entry[uint64]{nil, {ten, nine}, {nine}, {seven}, nil}, 8},
		{Position{At: 5, Seen: []string{"4"}}, [][]entry.Entry[uint64]{{ten, nine}, {nine}, nil}, 10},
	} {
		walk := NewTime[uint64](0, &Position{At: Latest}, test.known, 1, 3)
		learn(walk, test.pages...)
		for _, ok := walk.Take(); ok; _, ok = walk.Take() {
		}
		r, _ := walk.Next()
		check.Equal(t, "the next request", PageRequest{test.want, true}, r)
	}
}

// While every list is empty, from any request on and for any number of them, a walk fails
// or waits, and loses nothing. The first page of all may be empty once, as it looks like an
// empty listing.
func TestAWalkLosesNothingWhileListsAreEmpty(t *testing.T) {
	for name, begin := range map[string]func(*world, *Position, int) *crawl{"by time": crawlOf, "by offset": byOffset} {
		for _, slots := range []int{1, 2, 5} {
			for first := range 40 {
				for _, times := range []int{1, 2, 3, 10} {
					if first == 0 && times > 1 {
						continue
					}
					w, position, n, requests := newWorld(10, 195, 60_000), &Position{}, 0, 0
					for isDone := false; !isDone; {
						c := begin(w, position, slots)
						page := c.fetch
						c.fetch = func(r PageRequest) ([]entry.Entry[uint64], error) {
							if requests++; requests > first && requests <= first+times {
								return nil, nil
							}
							return page(r)
						}
						got, _, err := c.drain()
						n += len(got)
						isDone = !errors.Is(err, ErrEmptied)
					}
					check.Equal(t, fmt.Sprintf("%s, %d slots, %d lists are empty from the %d. on: entries", name, slots, times, first+1), 195, n)
				}
			}
		}
	}
}

// A service takes ten rows and filters them afterwards, and 21 rows in a row are filtered. A
// walk that knows nothing older ends there, unless it has a since. Once it has seen an older
// entry, it fails, also when it is continued.
func TestAnEmptyPageAboveWhatWasShownIsNotTheEnd(t *testing.T) {
	w := newWorld(10, 100, 1000)
	w.keep = func(id uint64) bool { return id < 40 || id > 60 }
	position, since := &Position{At: Latest}, w.entries[70].Start
	for _, test := range []struct {
		what     string
		position *Position
		since    int64
		slots    int // more than one read ahead
		want     error
	}{
		{"nothing older was shown", &Position{At: Latest}, 0, 1, nil},
		{"with a since", &Position{At: Latest}, since, 1, ErrEmptied},
		{"with a since below which there is nothing", &Position{At: Latest}, w.entries[99].Start, 1, nil},
		{"an older entry was shown", position, 0, 8, ErrEmptied},
		{"the same, continued", position, 0, 1, ErrEmptied},
	} {
		c, n := newCrawl(NewTime[uint64](test.since, test.position, Position{}, test.slots, 10), test.slots, w.before), 0
		e, ok := c.take()
		for ; ok && e.Err == nil; e, ok = c.take() {
			n++
			c.fill()
		}
		if !errors.Is(e.Err, test.want) || test.position != position && n != 40 {
			t.Errorf("%s: %d entries, %v", test.what, n, e.Err)
		}
	}
}

// A block of entries was removed, so that the service shows an empty page above older entries, which
// requests in flight show.
func TestTheEndOfAWalkDoesNotDependOnWhichResponseComesFirst(t *testing.T) {
	for _, test := range []struct{ slots, block int }{{2, 3}, {2, 45}, {4, 10}, {4, 94}, {8, 3}, {8, 66}} {
		for seed := range uint64(20) {
			w := newWorld(10, 127, 60_000)
			w.keep = func(id uint64) bool { return int(127-id) < test.block || int(127-id) >= test.block+22 }
			c := crawlOf(w, &Position{}, test.slots)
			c.pick = rand.New(rand.NewPCG(seed, 0)).IntN
			n, e := 0, entry.Entry[uint64]{}
			for ok := true; ok && e.Err == nil; n++ {
				c.fill()
				e, ok = c.take()
			}
			check.Equal(t, fmt.Sprintf("%+v, schedule %d: the error", test, seed), ErrEmptied, e.Err)
			check.Equal(t, "entries before it", test.block, n-1)
		}
	}
}

// The check of an empty page that had room may fail, and so may a page below it that was in flight.
func TestAFailureBesideAnEmptyPageThatHadRoomIsNotTheEnd(t *testing.T) {
	newWalk := func() (*Time[uint64], PageRequest) {
		w := NewTime[uint64](1, &Position{At: 50, Shown: Shown{Longest: 10, Newest: 100, Oldest: 60}}, Position{}, 2, 10)
		w.segments[0].hadRoom, w.segments[0].empty, w.inFlight = true, emptyOnce, 1
		return w, PageRequest{From: 51}
	}
	w, r := newWalk()
	w.segments[0].isSent, w.segments[0].sent = true, r
	w.position.Shown.Oldest = 5
	w.Learn(r, nil, errBroken)
	e, ok := w.Take()
	check.Equal(t, "an error comes", true, ok)
	check.Equal(t, "the error", errBroken, e.Err)

	w, _ = newWalk()
	w.Learn(PageRequest{From: 20}, nil, errBroken) // of a segment that was joined
	_, isChecked := w.Next()
	check.Equal(t, "the empty page is checked", true, isChecked)
}
