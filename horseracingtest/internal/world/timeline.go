package world

import (
	"math"
	"sort"
)

const (
	hourMillis = 60 * 60 * 1000
	dayMillis  = 24 * hourMillis

	// tieBlock is how many consecutive entries can share one instant. It stays
	// below the ten of a page: more on one instant cannot be read by paging.
	tieBlock = 9
)

// timeline is when each of n past events started. Event 0 is the oldest. It
// stores one line per day and computes the rest, so that a million events cost
// as little memory as a thousand.
type timeline struct {
	seed uint64
	n    int
	days []day // oldest first; days without events are not in it
}

// day spreads count events, the first of which is event number first, from the
// instant from on: event j of the day lies within its own slot.
type day struct {
	from, slot   int64 // milliseconds
	first, count int
}

// newTimeline lays n events out before the instant end: with busy days, days
// on which everything happens within one hour, and now and then weeks in which
// nothing does. The number of active days grows with the square root of n, and
// stops growing where a million events take about fourteen years.
func newTimeline(seed uint64, n int, end int64) timeline {
	t := timeline{seed: seed, n: n}
	if n == 0 {
		return t
	}
	active := min(2500, int(2.5*math.Sqrt(float64(n))))
	active = max(1, active, n/200_000)
	usual := max(1, n/active)
	d := drawFrom(seed, forDays, 0)
	at := end
	for left := n; left > 0; {
		if i := len(t.days); i > 0 && (i == active/3 || d.oneIn(40)) {
			at -= int64(d.between(20, 60)) * dayMillis
		}
		at -= dayMillis
		count := d.between(usual/4, usual*7/4)
		if d.oneIn(16) {
			count = 5 * usual
		}
		count = min(left, max(1, count))
		from, width := at, int64(dayMillis)
		if d.oneIn(8) {
			from += int64(d.below(24)) * hourMillis
			width = hourMillis
		}
		left -= count
		t.days = append(t.days, day{from: from, slot: width / int64(count), first: left, count: count})
	}
	for i, j := 0, len(t.days)-1; i < j; i, j = i+1, j-1 {
		t.days[i], t.days[j] = t.days[j], t.days[i]
	}
	return t
}

// start returns the start of event i in epoch milliseconds. It never decreases
// with i.
func (t *timeline) start(i int) int64 {
	k := sort.Search(len(t.days), func(k int) bool { return t.days[k].first > i }) - 1
	return t.startInDay(&t.days[k], i-t.days[k].first)
}

func (t *timeline) startInDay(d *day, j int) int64 {
	block := j - j%tieBlock
	if j-block < t.tied(d.first+block) {
		j = block
	}
	jitter := drawFrom(t.seed, forInstants, uint64(d.first+j))
	return d.from + int64(j)*d.slot + jitter.below64(d.slot)
}

// tied returns how many events share the instant of the first one of a block.
func (t *timeline) tied(first int) int {
	d := drawFrom(t.seed, forTies, uint64(first))
	switch n := d.below(32); {
	case n == 0:
		return tieBlock
	case n < 4:
		return d.between(3, tieBlock-1)
	case n < 10:
		return 2
	}
	return 1
}

// before returns how many events start before the instant: the events of
// lower number.
func (t *timeline) before(instant int64) int {
	k := sort.Search(len(t.days), func(k int) bool { return t.days[k].from >= instant }) - 1
	if k < 0 {
		return 0
	}
	d := &t.days[k]
	// All events of the blocks before this one lie within their slots, which
	// end before the instant; all behind it start later.
	j := min((instant-d.from)/d.slot, int64(d.count))
	j -= j % tieBlock
	for end := min(j+tieBlock, int64(d.count)); j < end && t.startInDay(d, int(j)) < instant; {
		j++
	}
	return d.first + int(j)
}
