package walk

import (
	"slices"
	"testing"
)

// The walk by offset likewise: listings of up to six entries, pages of two and
// three, up to two arrivals or removals at every point, and a break after every entry
// with a resume. An entry that stays in the listing comes exactly once, and none
// comes twice.
func TestEveryShiftOfEverySmallListing(t *testing.T) {
	runs := 0
	explore := func(size, pageSize int, tied bool, changes ...int) {
		x := &shifts{t: t, size: size}
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
				w.entries = slices.Insert(w.entries, 0, numbered(int64(2000+n), uint64(60+n)))
			} else {
				x.removed |= 1 << change
				w.entries = slices.DeleteFunc(w.entries, func(e Entry[uint64]) bool { return e.Value == uint64(change) })
			}
			x.versions = append(x.versions, w)
		}
		x.run(shifted{walk: NewOffset[uint64](Position{}, pageSize)})
		if runs += x.runs; t.Failed() {
			t.Fatalf("%d entries, tied %v, pages of %d, changes %v", size, tied, pageSize, changes)
		}
	}
	for size := range 7 {
		for _, pageSize := range []int{2, 3} {
			for change := -1; change < size; change++ {
				for _, tied := range []bool{false, true} {
					explore(size, pageSize, tied, change)
					for second := -1; second < size; second++ {
						explore(size, pageSize, tied, change, second)
					}
				}
			}
		}
	}
	t.Logf("%d runs", runs)
}

// shifts explores one listing and its changes.
type shifts struct {
	t        *testing.T
	size     int
	removed  uint64   // a set of entries
	versions []*world // the listing, and how it is after each change
	runs     int
}

// shifted is a walk by offset under way.
type shifted struct {
	walk     *Offset[uint64]
	taken    uint64 // a set of entries
	version  int    // of the listing
	requests int
	broken   bool // the one break is over
}

// run takes what is ready, with a break after each entry, then lets the next page
// be served by each version of the listing from the present one on.
func (x *shifts) run(s shifted) {
	for w := s.walk; !w.Done(); {
		e, ok := w.Peek()
		if !ok {
			break
		}
		w.Take()
		if e.Err != nil || s.taken&(1<<e.Value) != 0 {
			x.t.Errorf("entry %d came again, or %v", e.Value, e.Err)
			return
		}
		s.taken |= 1 << e.Value
		if !s.broken {
			resumed := s
			resumed.walk, resumed.broken = NewOffset[uint64](w.Positions()[0], w.pageSize), true
			x.run(resumed)
		}
	}
	if s.walk.Done() {
		x.runs++
		for i := range x.size {
			if x.removed&(1<<i) == 0 && s.taken&(1<<i) == 0 {
				x.t.Errorf("entry %d stayed and was missed", i)
			}
		}
		return
	}
	r, ok := s.walk.Next()
	if !ok || s.requests == 60 {
		x.t.Errorf("after %d requests, next %v", s.requests, ok)
		return
	}
	for version := s.version; version < len(x.versions) && !x.t.Failed(); version++ {
		next := s
		walk := *s.walk
		walk.recent = slices.Clone(walk.recent)
		walk.Learn(r, x.versions[version].from(r.At))
		next.walk, next.version, next.requests = &walk, version, s.requests+1
		x.run(next)
	}
}
