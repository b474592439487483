package world

import (
	"math"
	"slices"
)

const (
	hourMillis = 60 * 60 * 1000
	dayMillis  = 24 * hourMillis

	// tieBlock is how many consecutive entries can share one instant. It stays
	// below the ten of a page: more on one instant cannot be read by paging.
	tieBlock = 9
)

// day spreads count events, the first of which is event number first, from the
// instant from on: event j of the day is within its own slot.
type day struct {
	from, slot   int64 // milliseconds
	first, count int
}

// days lays n events out before the instant end, newest first: with busy days, days
// on which everything happens within one hour, and now and then weeks in which
// nothing does. The number of active days grows with the square root of n, and
// stops growing where a million events take about fourteen years.
func days(seed uint64, n int, end int64) (all []day) {
	if n == 0 {
		return nil
	}
	active := max(1, min(2500, int(2.5*math.Sqrt(float64(n)))))
	usual := max(1, n/active)
	d := drawFrom(seed, forDays, 0)
	at := end
	for left := n; left > 0; {
		if i := len(all); i > 0 && (i == active/3 || d.oneIn(40)) {
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
		all = append(all, day{from: from, slot: width / int64(count), first: left, count: count})
	}
	return all
}

// timeline returns when each of n past events started, in epoch milliseconds, oldest
// first.
func timeline(seed uint64, n int, end int64) []int64 {
	starts := make([]int64, 0, n)
	for _, day := range slices.Backward(days(seed, n, end)) {
		for j := range day.count {
			block := j - j%tieBlock
			if j > block && j-block < tied(seed, day.first+block) {
				starts = append(starts, starts[len(starts)-1])
				continue
			}
			jitter := drawFrom(seed, forInstants, uint64(day.first+j))
			starts = append(starts, day.from+int64(j)*day.slot+jitter.below64(day.slot))
		}
	}
	return starts
}

// tied returns how many events share the instant of the first one of a block.
func tied(seed uint64, first int) int {
	d := drawFrom(seed, forTies, uint64(first))
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
