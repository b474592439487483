package walk

import (
	"errors"
	"testing"
)

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
	w := NewTime[uint64](Earliest, Position{At: Latest - 1}, 3, 10, &Pages{})
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

// A service may filter a page after it has limited it. That a short page is not the last
// one is noticed once; without full pages the end is never expected.
func TestAShortPageIsTheEndOnlyInAListingOfFullPages(t *testing.T) {
	for name, test := range map[string]struct {
		keep   func(id uint64) bool
		misled int
		ends   bool // the end was expected
	}{
		"full pages":           {func(uint64) bool { return true }, 0, true},
		"some pages are short": {func(id uint64) bool { return id%23 != 0 }, 1, false},
		"all pages are short":  {func(id uint64) bool { return id%3 != 0 }, 0, false},
	} {
		w := &world{pageSize: 10, keep: test.keep}
		for i := range uint64(200) {
			w.add(1_700_000_000_000-60_000*int64(i), 1000-i)
		}
		c, misled, ends := mergeOf([]*world{w}, nil, 1), 0, false
		c.fetch = func(r Request) ([]Entry[uint64], error) {
			page := w.before(r.At)
			if r.AcceptEmpty && len(page) > 1 {
				misled++
			}
			ends = r.AcceptEmpty && len(page) == 0
			return page, nil
		}
		for _, ok := c.take(); ok; _, ok = c.take() {
		}
		if misled > test.misled || ends != test.ends {
			t.Errorf("%s: the end was expected %d times too early, and at the end %v", name, misled, ends)
		}
	}
}
