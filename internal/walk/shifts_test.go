package walk

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// The walk by offset likewise: listings of up to six entries, pages of two and
// three, one to three requests in flight, every order in which the responses can
// arrive, one arrival or one removal at every point, before or after each
// request on its way was served, and a break behind every entry with a resume.
// Without a break, and with up to two requests in flight, there are two changes.
// An entry that stays in the listing comes exactly once, and none comes twice.
func TestEveryShiftOfEverySmallListing(t *testing.T) {
	if raceDetector {
		t.Skip("one goroutine does everything")
	}
	all, states := 0.0, 0
	explore := func(size, pageSize, slots int, tied, breaks bool, changes ...int) {
		x := &shifts{t: t, slots: slots, size: size, seen: map[string]float64{}}
		w := &world{pageSize: pageSize}
		for i := range size {
			start := int64(1000)
			if !tied {
				start -= int64(i)
			}
			w.add(start, uint64(i))
		}
		x.versions = []*world{w}
		for n, change := range changes {
			w = &world{pageSize: pageSize, entries: slices.Clone(w.entries)}
			if change < 0 {
				w.entries = slices.Insert(w.entries, 0, Entry[uint64]{Start: int64(2000 + n), ID: uint64(60 + n)})
			} else {
				x.removed |= 1 << change
				w.entries = slices.DeleteFunc(w.entries, func(e Entry[uint64]) bool { return e.ID == uint64(change) })
			}
			x.versions = append(x.versions, w)
		}
		all += x.run(shifted{walk: NewOffset[uint64](0, nil, slots, pageSize), sent: map[int64]int{}, broken: !breaks})
		if states += len(x.seen); t.Failed() {
			t.Fatalf("%d entries, tied %v, pages of %d, changes %v, %d slots", size, tied, pageSize, changes, slots)
		}
	}
	for size := range 7 {
		for _, pageSize := range []int{2, 3} {
			for slots := 1; slots <= 3; slots++ {
				for change := -1; change < size; change++ {
					explore(size, pageSize, slots, false, true, change)
					explore(size, pageSize, slots, true, true, change)
					for second := -1; slots < 3 && second < size; second++ {
						explore(size, pageSize, slots, false, false, change, second)
					}
				}
			}
		}
	}
	t.Logf("%.3g schedules, %d states", all, states)
}

// shifts explores one listing and its changes.
type shifts struct {
	t        *testing.T
	slots    int
	size     int
	removed  uint64   // a set of entries
	versions []*world // the listing, and how it is after each change
	seen     map[string]float64
}

// shifted is a walk by offset under way.
type shifted struct {
	walk    *Offset[uint64]
	handed  uint64
	version int           // of the listing
	sent    map[int64]int // requests in flight, with the version at which they were sent
	broken  bool          // the one break is over
}

func (x *shifts) run(s shifted) (sum float64) {
	w := s.walk
	fill := func() {
		for len(w.inFlight) < x.slots {
			at, ok := w.Next()
			if !ok {
				return
			}
			s.sent[at] = s.version
		}
	}
	for !w.Done() {
		if x.slots > 1 {
			fill()
		}
		e, ok := w.Take()
		if !ok {
			break
		}
		if e.Err != nil || s.handed&(1<<e.ID) != 0 {
			x.t.Errorf("entry %d came again, or %v", e.ID, e.Err)
			return 0
		}
		s.handed |= 1 << e.ID
		if !s.broken {
			resumed := s
			resumed.walk, resumed.sent, resumed.broken = NewOffset[uint64](0, w.Position(), x.slots, w.pageSize), map[int64]int{}, true
			sum += x.run(resumed)
		}
	}
	if !w.Done() {
		fill()
		return sum + x.arrive(s)
	}
	for i := range x.size {
		if x.removed&(1<<i) == 0 && s.handed&(1<<i) == 0 {
			x.t.Errorf("entry %d stayed and was missed", i)
		}
	}
	return sum + 1
}

func (x *shifts) arrive(s shifted) (sum float64) {
	key := s.key()
	if n, explored := x.seen[key]; explored {
		if math.IsNaN(n) {
			x.t.Fatal("a schedule does not end")
		}
		return n
	}
	x.seen[key] = math.NaN()
	if len(s.walk.inFlight) == 0 {
		x.t.Fatal("the walk requests nothing")
	}
	if s.version+1 < len(x.versions) {
		changed := s.clone()
		changed.version++
		sum += x.arrive(changed)
	}
	for _, at := range slices.Sorted(maps.Keys(s.sent)) {
		for version := s.sent[at]; version <= s.version && !x.t.Failed(); version++ {
			next := s.clone()
			delete(next.sent, at)
			next.walk.Learn(at, x.versions[version].from(at))
			sum += x.run(next)
		}
	}
	x.seen[key] = sum
	return sum
}

func (s shifted) clone() shifted {
	w := *s.walk
	w.previous, w.recent, w.ready, w.handed = slices.Clone(w.previous), slices.Clone(w.recent), slices.Clone(w.ready), slices.Clone(w.handed)
	w.pages, w.inFlight, w.failed, w.top = maps.Clone(w.pages), slices.Clone(w.inFlight), maps.Clone(w.failed), slices.Clone(w.top)
	s.walk, s.sent = &w, maps.Clone(s.sent)
	return s
}

// key is equal for equal states.
func (s shifted) key() string {
	w := s.walk
	var b strings.Builder
	ids := func(entries []Entry[uint64]) {
		for _, e := range entries {
			fmt.Fprint(&b, e.ID, ",")
		}
		b.WriteByte(';')
	}
	list := func(entries []placed[uint64]) {
		for _, e := range entries {
			fmt.Fprint(&b, e.ID, "@", e.resumeAt, ",")
		}
		b.WriteByte(';')
	}
	fmt.Fprint(&b, s.handed, s.version, s.broken, w.wanted, w.behind, w.bare, w.doubts, w.idle, w.pushed, w.short, w.longest, w.stepBack, w.emptyAt, w.ended, w.newest, w.evidence, w.ignored, w.proven, min(w.unproven, unprovenLimit), ";")
	ids(w.previous)
	list(w.recent)
	list(w.ready)
	ids(w.top)
	for _, at := range slices.Sorted(maps.Keys(w.pages)) {
		fmt.Fprint(&b, at, ":")
		ids(w.pages[at].placed)
	}
	for _, at := range slices.Sorted(maps.Keys(s.sent)) {
		fmt.Fprint(&b, at, s.sent[at], ",")
	}
	return b.String()
}
