package walk

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// mergeOf is a crawl of several worlds, from their tops if resume is nil.
func mergeOf(worlds []*world, resume []Position, slots int) *crawl {
	if resume == nil {
		for range worlds {
			resume = append(resume, Position{At: Latest - 1})
		}
	}
	return &crawl{walk: NewTiers[uint64](Earliest, resume, slots, 10, Shown{}), slots: slots, pick: rand.IntN, fetch: func(r Request) ([]Entry[uint64], error) {
		return worlds[r.Source].before(r.At), nil
	}}
}

// waiting returns how many entries of all listings were read and not taken yet.
func (c *crawl) waiting() (n int) {
	for _, w := range c.walk.(*Tiers[uint64]).walks {
		n += w.waiting()
	}
	return n
}

// A listing of which nothing was yielded is resumed from where the others
// are: what arrived in it since is as new as what arrived in them.
func TestWhatArrivesAboveAMergedPositionStaysOut(t *testing.T) {
	busy, quiet := &world{pageSize: 10}, &world{pageSize: 10}
	for i := range 40 {
		busy.add(int64(100_000-i), uint64(100-i))
	}
	quiet.add(50_000, 1)
	worlds := []*world{busy, quiet}
	m := mergeOf(worlds, nil, 1)
	for range 20 {
		if e, ok := m.take(); !ok || e.Source != 0 {
			t.Fatalf("%+v", e)
		}
	}
	quiet.entries = append([]Entry[uint64]{numbered(100_001, 2), numbered(99_990, 3)}, quiet.entries...)
	m = mergeOf(worlds, m.walk.Positions(), 1)
	var quietly []uint64
	n := 0
	for {
		e, ok := m.take()
		if !ok {
			break
		}
		if n++; e.Source == 1 {
			quietly = append(quietly, e.Value)
		}
	}
	if n != 21 || len(quietly) != 1 || quietly[0] != 1 {
		t.Errorf("%d entries, of the quiet listing %v", n, quietly)
	}
}

// A tie in one listing keeps nothing of another from its place.
func TestTiesInSeveralListingsStandAtTheirPlaces(t *testing.T) {
	worlds := []*world{{pageSize: 10}, {pageSize: 10}}
	for i, w := range worlds {
		for id := range uint64(5) {
			w.add(int64(3000-id), uint64(1000*i)+100+id)
		}
		for id := range uint64(12) {
			w.add(2000, uint64(1000*i)+200+id)
		}
		w.add(1000+int64(i), 300)
	}
	for _, slots := range []int{1, 3} {
		var resume []Position
		entries, ties := 0, 0
		last := int64(math.MaxInt64)
		for range 1000 { // each entry by a walk of its own
			m := mergeOf(worlds, resume, slots)
			e, ok := m.take()
			if !ok {
				break
			}
			if _, tie := errors.AsType[*TieError](e.Err); tie {
				ties++
			} else if e.Err == nil {
				entries++
			}
			if e.Start > last {
				t.Fatalf("%d after %d", e.Start, last)
			}
			last = e.Start
			m.stop()
			resume = m.walk.Positions()
		}
		if entries != 2*(5+10+1) || ties != 2 {
			t.Errorf("with %d slots: %d entries and %d ties", slots, entries, ties)
		}
	}
}

// A listing whose position was lowered is resumed with the knowledge that it has shown
// entries: a page of it that is empty is not the end at once.
func TestAResumedListingThatHasShownEntriesIsNotTakenForEmpty(t *testing.T) {
	busy, quiet := &world{pageSize: 10}, &world{pageSize: 10}
	quiet.add(100_000, 1)
	for i := range 40 {
		busy.add(int64(99_000-i), uint64(100+i))
	}
	m := mergeOf([]*world{busy, quiet}, nil, 1)
	for range 5 {
		m.take()
	}
	resumed := mergeOf([]*world{busy, quiet}, m.walk.Positions(), 1)
	for range 2 {
		r, ok := resumed.walk.Next()
		if !ok || r.Witness < 0 || r.Source == 1 && r.Witness != 100_001 {
			t.Errorf("%+v", r)
		}
	}
}

// Of twenty listings one does not respond: the others read ahead of it no further
// than two would.
func TestListingsReadAheadOfOneThatDoesNotRespondWithinOneBound(t *testing.T) {
	const slots, pageSize = 4, 10
	worlds := make([]*world, 20)
	for k := range worlds {
		worlds[k] = &world{pageSize: pageSize}
		for i := range 2_000 {
			worlds[k].add(1_700_000_000_000-60_000*int64(i)-int64(k), uint64(i+1))
		}
	}
	m, waited := mergeOf(worlds, nil, slots), 0
	silent, ok := m.walk.Next()
	if !ok || silent.Source != 0 {
		t.Fatalf("the first request is %+v", silent)
	}
	m.pick = func(n int) int { return n - 1 }
	for more := true; more; {
		for more = false; len(m.inFlight) < slots-1; more = true {
			r, ok := m.walk.Next()
			if !ok {
				break
			}
			if r.Source == silent.Source {
				t.Fatalf("%+v is requested before there is a response", r)
			}
			m.inFlight = append(m.inFlight, r)
		}
		if len(m.inFlight) > 0 {
			m.receive()
			more, waited = true, max(waited, m.waiting())
		}
	}
	if e, ok := m.walk.Peek(); ok {
		t.Fatalf("%+v comes before the first page of the silent listing", e)
	}
	if bound := 2*lookAhead*pageSize*slots + pageSize*slots; waited > bound || waited < bound/2 {
		t.Errorf("%d entries waited, want at most %d", waited, bound)
	}
	m.inFlight = append(m.inFlight, silent)
	taken := 0
	for ; ; taken++ {
		if _, ok := m.take(); !ok {
			break
		}
	}
	if taken != 20*2_000 {
		t.Errorf("%d entries came", taken)
	}
}
