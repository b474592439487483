package walk

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// merged is a walk over several worlds under way.
type merged struct {
	walk     *Merge[uint64]
	worlds   []*world
	slots    int
	fail     func() error
	pick     func(n int) int
	inFlight []Request
	waited   int // the most entries that waited
}

func (m *merged) take() (Entry[uint64], int, bool) {
	for !m.walk.Done() {
		if e, source, ok := m.walk.Take(); ok {
			return e, source, true
		}
		for len(m.inFlight) < m.slots {
			r, ok := m.walk.Next()
			if !ok {
				break
			}
			m.inFlight = append(m.inFlight, r)
		}
		m.receive()
	}
	return Entry[uint64]{}, 0, false
}

func (m *merged) receive() {
	i := m.pick(len(m.inFlight))
	r := m.inFlight[i]
	m.inFlight = append(m.inFlight[:i], m.inFlight[i+1:]...)
	if err := m.fail(); err != nil {
		m.walk.Fail(r, err)
		return
	}
	m.walk.Learn(r, m.worlds[r.Source].before(r.At))
	waiting := 0
	for _, w := range m.walk.walks {
		waiting += w.Waiting()
	}
	m.waited = max(m.waited, waiting)
}

func (m *merged) stop() {
	for len(m.inFlight) > 0 {
		m.receive()
	}
	m.walk.Restart()
}

func mergeOf(worlds []*world, resume []Position, slots int) *Merge[uint64] {
	walks := make([]Walker[uint64], len(worlds))
	for i, w := range worlds {
		var position *Position
		if resume != nil {
			position = &resume[i]
		}
		walks[i] = NewTime[uint64](Earliest, Latest, position, slots, w.pageSize)
	}
	return NewMerge(walks, slots, 10)
}

func TestSeveralListingsAreWalkedAsOneThroughBreaksErrorsAndResumes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		worlds := make([]*world, rapid.IntRange(1, 4).Draw(t, "listings"))
		got := make([][]uint64, len(worlds))
		for i := range worlds {
			worlds[i] = drawWorld(t)
		}
		failure := drawFailures(t)
		last := int64(math.MaxInt64)
		var resume []Position
		for range 10_000 {
			slots := rapid.IntRange(1, 16).Draw(t, "slots")
			m := &merged{walk: mergeOf(worlds, resume, slots), worlds: worlds, slots: slots, fail: failure, pick: drawPick(t)}
			for range rapid.IntRange(1, 3).Draw(t, "ranges") {
				for range rapid.IntRange(1, 60).Draw(t, "stop after") {
					e, source, ok := m.take()
					if !ok {
						for i, w := range worlds {
							sameIDs(t, w.ids(), got[i])
						}
						return
					}
					if errors.Is(e.Err, errBroken) {
						break
					}
					if e.Start > last {
						t.Fatalf("not newest first: %d after %d", e.Start, last)
					}
					last = e.Start
					got[source] = append(got[source], e.ID)
				}
				m.stop()
			}
			resume = m.walk.Positions()
		}
		t.Fatal("the walk does not end")
	})
}

// A listing of which nothing was handed out is resumed from where the others
// stand: what arrived in it since is as new as what arrived in them.
func TestWhatArrivesAboveAMergedPositionStaysOut(t *testing.T) {
	busy, quiet := &world{pageSize: 10}, &world{pageSize: 10}
	for i := range 40 {
		busy.add(int64(100_000-i), uint64(100-i))
	}
	quiet.add(50_000, 1)
	worlds := []*world{busy, quiet}
	m := &merged{walk: mergeOf(worlds, nil, 1), worlds: worlds, slots: 1, fail: func() error { return nil }, pick: func(int) int { return 0 }}
	for range 20 {
		if e, source, ok := m.take(); !ok || source != 0 {
			t.Fatalf("%+v of %d", e, source)
		}
	}
	quiet.entries = append([]Entry[uint64]{{Start: 100_001, ID: 2}, {Start: 99_990, ID: 3}}, quiet.entries...)
	m.walk = mergeOf(worlds, m.walk.Positions(), 1)
	var quietly []uint64
	n := 0
	for {
		e, source, ok := m.take()
		if !ok {
			break
		}
		if n++; source == 1 {
			quietly = append(quietly, e.ID)
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
			w.add(int64(3000-id), 100+id)
		}
		for id := range uint64(12) {
			w.add(2000, 200+id)
		}
		w.add(1000+int64(i), 300)
	}
	for _, slots := range []int{1, 3} {
		var resume []Position
		entries, ties := 0, 0
		last := int64(math.MaxInt64)
		for range 1000 { // each entry by a walk of its own
			m := &merged{walk: mergeOf(worlds, resume, slots), worlds: worlds, slots: slots, fail: func() error { return nil }, pick: rand.IntN}
			e, _, ok := m.take()
			if !ok {
				break
			}
			if _, tie := errors.AsType[*TieError](e.Err); tie {
				ties++
			} else {
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

// Three listings, of which one is as long as history and the others end early,
// or lie behind it.
func TestReadingAheadInSeveralListingsIsBounded(t *testing.T) {
	const slots = 4
	worlds := []*world{{pageSize: 10}, {pageSize: 10}, {pageSize: 10}}
	for i := range 20_000 {
		for k, w := range worlds {
			w.add(1_700_000_000_000-60_000*int64(i)-int64(k)*6_000_000_000, uint64(i+1))
		}
	}
	m := &merged{walk: mergeOf(worlds, nil, slots), worlds: worlds, slots: slots, fail: func() error { return nil }, pick: rand.IntN}
	for range 4_000 {
		for range 2 * slots {
			if len(m.inFlight) < slots {
				if r, ok := m.walk.Next(); ok {
					m.inFlight = append(m.inFlight, r)
				}
			}
			if len(m.inFlight) > 0 {
				m.receive()
			}
		}
		m.walk.Take()
	}
	if bound := 2 * 2 * lookAhead * 10 * slots; m.waited > bound {
		t.Errorf("%d entries waited, want at most %d", m.waited, bound)
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
	m := &merged{walk: mergeOf(worlds, nil, slots), worlds: worlds, slots: slots, fail: func() error { return nil }}
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
			more = true
		}
	}
	if e, source, ok := m.walk.Take(); ok {
		t.Fatalf("%+v of %d comes before the first page of the silent listing", e, source)
	}
	if bound := 2*lookAhead*pageSize*slots + pageSize*slots; m.waited > bound || m.waited < bound/2 {
		t.Errorf("%d entries waited, want at most %d", m.waited, bound)
	}
	m.inFlight = append(m.inFlight, silent)
	taken := 0
	for ; ; taken++ {
		if _, _, ok := m.take(); !ok {
			break
		}
	}
	if taken != 20*2_000 {
		t.Errorf("%d entries came", taken)
	}
}
