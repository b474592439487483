package world

import (
	"sort"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func starts(t *timeline) []int64 {
	all := make([]int64, t.n)
	for i := range all {
		all[i] = t.start(i)
	}
	return all
}

func TestTimelineCountsAsEnumerationDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		end := noon
		line := newTimeline(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 3000).Draw(t, "n"), end)
		all := starts(&line)
		if !sort.SliceIsSorted(all, func(i, j int) bool { return all[i] < all[j] }) {
			t.Fatal("starts are not ascending")
		}
		instants := []int64{end, end - dayMillis, 0}
		if line.n > 0 {
			at := all[rapid.IntRange(0, line.n-1).Draw(t, "event")]
			instants = append(instants, at-1, at, at+1, at+hourMillis, all[0]-1, all[0])
			if last := all[line.n-1]; last >= end {
				t.Fatalf("the last event starts at %d, not before %d", last, end)
			}
		}
		for _, instant := range instants {
			want := sort.Search(line.n, func(i int) bool { return all[i] >= instant })
			if got := line.before(instant); got != want {
				t.Fatalf("before(%d) = %d, want %d", instant, got, want)
			}
		}
	})
}

func TestTimelineHasTiesUpToNineBusyDaysAndQuietMonths(t *testing.T) {
	for seed := range uint64(20) {
		line := newTimeline(seed, 20_000, noon)
		tie, longestTie, longestGap := 1, 1, int64(0)
		perDay := map[int64]int{}
		all := starts(&line)
		for i, at := range all {
			perDay[at/dayMillis]++
			if i == 0 {
				continue
			}
			longestGap = max(longestGap, at-all[i-1])
			if tie++; at != all[i-1] {
				tie = 1
			}
			longestTie = max(longestTie, tie)
		}
		if longestTie != tieBlock {
			t.Errorf("seed %d: the longest tie is %d, want %d", seed, longestTie, tieBlock)
		}
		if longestGap < 20*dayMillis {
			t.Errorf("seed %d: the longest gap is %v, want 20 days at least", seed, time.Duration(longestGap)*time.Millisecond)
		}
		busiest, usual := 0, line.n/len(perDay)
		for _, n := range perDay {
			busiest = max(busiest, n)
		}
		if busiest < 3*usual {
			t.Errorf("seed %d: the busiest day has %d events where %d are usual", seed, busiest, usual)
		}
	}
}
