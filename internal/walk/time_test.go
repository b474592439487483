package walk

import (
	"errors"
	"testing"
)

// Which of two responses comes first must not decide what is yielded before
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
		at, ok := w.Next(false)
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

// A service may filter a page after it has limited it. The end is expected only below a
// page that has room for older entries and shows none.
func TestAShortPageIsNotTheEnd(t *testing.T) {
	for part := range uint64(9) { // of the entries, one in so many is missing
		w := &world{pageSize: 10, keep: func(id uint64) bool { return part < 2 || id%part != 0 }}
		for i := range uint64(200) {
			w.add(1_700_000_000_000-60_000*int64(i), 1000-i)
		}
		c, ends := mergeOf([]*world{w}, nil, 1), false
		c.fetch = func(r Request) ([]Entry[uint64], error) {
			page := w.before(r.At)
			if ends = r.AcceptEmpty; ends && len(page) > 0 {
				t.Errorf("one in %d is missing: the end is expected at %d", part, r.At)
			}
			return page, nil
		}
		for _, ok := c.take(); ok; _, ok = c.take() {
		}
		if !ends {
			t.Errorf("one in %d is missing: the end is not expected", part)
		}
	}
}

// A caller that takes slowly finds 32 pages for each slot in the range that is read, and
// as many below it.
func TestAWalkReadsAheadWithinItsBound(t *testing.T) {
	for _, slots := range []int{1, 4, 8} {
		w := &world{pageSize: 10}
		for i := range 20_000 {
			w.add(1_700_000_000_000-20_000*int64(i), uint64(20_000-i))
		}
		c, most := mergeOf([]*world{w}, nil, slots), 0
		for range 10_000 {
			for c.fill(); len(c.inFlight) > 0; c.fill() {
				c.receive()
			}
			most = max(most, c.waiting())
			if _, ok := c.take(); !ok {
				t.Fatal("the walk ends early")
			}
		}
		if bound := 10 * (2*32*slots + slots); most > bound || most < bound/4 {
			t.Errorf("with %d slots up to %d entries waited, want at most %d", slots, most, bound)
		}
	}
}

// A page that shows an entry again cannot be empty, nor can one of which a page further
// down showed an entry.
func TestTheWitnessOfAPageShowsAnEntry(t *testing.T) {
	for name, test := range map[string]struct {
		walk    func(*world) Walker[uint64]
		page    func(*world, int64) []Entry[uint64]
		resumed bool
	}{
		"by time": {func(*world) Walker[uint64] {
			return NewTiers[uint64](Earliest, []Position{{At: Latest - 1}}, 1, 10, Shown{})
		}, (*world).before, false},
		"by time, resumed": {func(w *world) Walker[uint64] {
			return NewTiers[uint64](Earliest, []Position{{At: w.entries[20].Start, Seen: []string{w.entries[20].ID}}}, 1, 10, Shown{})
		}, (*world).before, true},
		"by offset": {func(*world) Walker[uint64] { return NewOffset[uint64](Position{}, 10) }, (*world).from, false},
	} {
		w := &world{pageSize: 10}
		for i := range uint64(95) {
			w.add(1_700_000_000_000-60_000*int64(i), 1000-i)
		}
		without, itself := 0, 0
		c := newCrawl(test.walk(w), 1, nil)
		c.fetch = func(r Request) ([]Entry[uint64], error) {
			if r.Witness < 0 {
				without++
			} else if len(test.page(w, r.Witness)) == 0 {
				t.Errorf("%s: the witness of %+v is empty", name, r)
			}
			if r.Witness == r.At {
				itself++
			}
			return test.page(w, r.At), nil
		}
		for _, ok := c.take(); ok; _, ok = c.take() {
		}
		if test.resumed && without > 0 || without > 1 || itself < 5 && name != "by offset" {
			t.Errorf("%s: %d requests, %d without a witness, %d are their own", name, c.requests, without, itself)
		}
	}
}
