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
