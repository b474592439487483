//go:build !race

// The race detector finds nothing here: one goroutine does everything.

package walk

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/horseracing-go/horseracing/internal/entry"
)

// Every schedule of every small world: all listings of up to six entries on up
// to four instants, pages of two and three, of which the walk knows how many entries they can
// have, or only that it is at most ten, one to three requests in flight,
// every order in which the responses can arrive, until the first break one request that
// fails or one page that is wrongly empty, and a break after every entry with a resume at
// every number of requests. Equal states are explored once. The ids of entries do not matter,
// so worlds differ in how many entries their instants hold, and in how far apart
// these are.
//
// The whole of it takes half a minute, and is for HORSERACING_DEEP=1. Otherwise
// the listings have up to five entries on up to three instants.
func TestEveryScheduleOfEverySmallWorld(t *testing.T) {
	entries, instants := 5, 3
	if deep {
		entries, instants = 6, 4
	}
	for name, apart := range map[string][]int64{"dense and sparse": {2, 300, 2}, "ever sparser": {1, 40, 900}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			states := 0
			for _, counts := range smallWorlds(entries, instants) {
				for _, size := range []int{2, 3} {
					w := onInstants(size, apart, counts...)
					for _, most := range []int{size, 10} {
						if most > size && len(counts) == 1 && counts[0] >= size {
							continue // nothing shows that the page is full
						}
						if states += explore(t, w, most); t.Failed() {
							t.Fatalf("%v entries, %v ms apart, pages of %d of at most %d", counts, apart, size, most)
						}
					}
				}
			}
			t.Logf("%d states", states)
		})
	}
}

// deep makes the exhaustive tests run in full.
var deep = os.Getenv("HORSERACING_DEEP") != ""

// smallWorlds returns how many entries each instant holds, in every way.
func smallWorlds(entries, instants int) (worlds [][]int) {
	var add func(counts []int, left int)
	add = func(counts []int, left int) {
		worlds = append(worlds, slices.Clone(counts))
		if len(counts) == instants {
			return
		}
		for n := 1; n <= left; n++ {
			add(append(counts, n), left-n)
		}
	}
	add(nil, entries)
	return worlds
}

// state is a walk under way, with what it has yielded.
type state struct {
	walk    *Time[uint64]
	sent    []PageRequest
	handed  uint64 // a set of entries
	ties    uint64 // a set of instants, by the index of their first entry
	last    int64
	mayFail bool
	failed  bool
}

// root is where a range begins.
type root struct {
	position     string
	handed, ties uint64
	last         int64
}

type explorer struct {
	t      *testing.T
	world  *world
	slots  int
	seen   map[string]bool // false while a state is being explored
	roots  map[root]Position
	queue  []root
	wanted struct{ handed, ties uint64 }
}

// explore explores a world with every number of slots from every break. The walk knows that pages
// have at most so many entries. It returns how many states there are.
func explore(t *testing.T, w *world, most int) (states int) {
	x := &explorer{t: t, world: w, roots: map[root]Position{}}
	for i, e := range w.entries {
		first := slices.IndexFunc(w.entries, func(o entry.Entry[uint64]) bool { return o.Start == e.Start })
		if i-first < w.pageSize { // more do not fit on a page
			x.wanted.handed |= 1 << i
		}
		if i-first == w.pageSize-1 {
			x.wanted.ties |= 1 << first
		}
	}
	x.breakAt(Position{At: Latest}, state{last: math.MaxInt64})
	for len(x.queue) > 0 && !t.Failed() {
		r := x.queue[0]
		x.queue = x.queue[1:]
		for x.slots = 1; x.slots <= 3; x.slots++ {
			x.seen = map[string]bool{}
			walk := NewTime[uint64](0, new(clonePosition(x.roots[r])), Position{}, x.slots, most)
			x.run(state{walk, nil, r.handed, r.ties, r.last, r.last == math.MaxInt64, false})
			states += len(x.seen)
		}
	}
	return states
}

func (x *explorer) breakAt(p Position, s state) {
	slices.Sort(p.Seen)
	r := root{position: fmt.Sprint(p), handed: s.handed, ties: s.ties, last: s.last}
	if _, seen := x.roots[r]; !seen {
		x.roots[r] = p
		x.queue = append(x.queue, r)
	}
}

// run takes what is ready and requests what is wanted, then lets each response
// arrive in turn.
func (x *explorer) run(s state) {
	w := s.walk
	fill := func() {
		for len(s.sent) < x.slots {
			r, ok := w.Next()
			if !ok {
				return
			}
			s.sent = append(s.sent, r)
		}
	}
	for !w.Done() {
		if x.slots > 1 {
			fill()
		}
		e, ok := w.Take()
		if !ok {
			fill()
			break
		}
		switch {
		case e.Ties > 0:
			first := slices.IndexFunc(x.world.entries, func(o entry.Entry[uint64]) bool { return o.Start == e.Start })
			if s.ties&(1<<first) != 0 {
				x.t.Errorf("the tie at %d came twice", e.Start)
			}
			s.ties |= 1 << first
		case e.Err != nil: // the range ends; the next one is that of the last break
			if !s.failed {
				x.t.Errorf("the walk ends with %v", e.Err)
			}
			for i, above := range x.world.entries {
				if above.Start > e.Start && (s.handed|^x.wanted.handed)&(1<<i) == 0 {
					x.t.Errorf("an error at %d comes before entry %d", e.Start, i)
				}
			}
			return
		case s.handed&(1<<e.Value) != 0 || e.Start > s.last:
			x.t.Errorf("entry %d, which starts at %d, came again or after %d", e.Value, e.Start, s.last)
		default:
			s.handed |= 1 << e.Value
		}
		s.last = e.Start
		x.breakAt(clonePosition(*w.position), s)
	}
	if !w.Done() {
		x.arrive(s)
	} else if s.handed != x.wanted.handed || s.ties != x.wanted.ties {
		x.t.Errorf("the walk ends with %b of %b entries and %b of %b ties", s.handed, x.wanted.handed, s.ties, x.wanted.ties)
	}
}

// arrive lets each response arrive first, and each request fail once.
func (x *explorer) arrive(s state) {
	key := s.key()
	if isExplored, ok := x.seen[key]; isExplored {
		return
	} else if ok {
		x.t.Fatal("a schedule does not end")
	}
	x.seen[key] = false
	if len(s.sent) == 0 {
		x.t.Fatal("the walk requests nothing")
	}
	for i, r := range s.sent {
		if x.t.Failed() {
			break
		}
		next := s
		next.walk, next.sent = s.walk.clone(), slices.Delete(slices.Clone(s.sent), i, i+1)
		next.walk.Learn(r, x.world.before(r.From), nil)
		x.run(next)
		for _, failure := range []error{errBroken, nil} { // the second is a page that is wrongly empty
			if s.mayFail {
				failed := next
				failed.walk, failed.mayFail, failed.failed = s.walk.clone(), false, true
				failed.walk.Learn(r, nil, failure)
				x.run(failed)
			}
		}
	}
	x.seen[key] = true
}

func (w *Time[V]) clone() *Time[V] {
	c := *w
	c.segments = nil
	for _, x := range w.segments {
		copied := *x
		copied.ready = slices.Clone(x.ready)
		c.segments = append(c.segments, &copied)
	}
	c.position, c.known = new(clonePosition(*w.position)), clonePosition(w.known)
	return &c
}

func clonePosition(p Position) Position {
	p.Seen = slices.Clone(p.Seen)
	return p
}

// key is equal for equal states.
func (s state) key() string {
	w := s.walk
	p := w.position
	b := fmt.Appendln(nil, s.handed, s.ties, s.last, s.mayFail, s.failed, min(w.pages, 3), p.At, p.Tied, slices.Sorted(slices.Values(p.Seen)), p.Shown, w.known)
	for _, x := range w.segments {
		b = fmt.Appendln(b, x.ready, x.low, x.high, x.span, x.failed != nil, x.isSent, x.sent, x.empty, x.doubt)
	}
	sent := slices.SortedFunc(slices.Values(s.sent), func(a, b PageRequest) int { return cmp.Compare(a.From, b.From) })
	return string(fmt.Append(b, sent))
}
