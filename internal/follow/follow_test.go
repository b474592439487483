package follow

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/horseracing-go/horseracing/guarantees/double/check"

	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing/internal/entry"
)

// race is an entry of a listing. Its value reports whether it lacks its result.
type race = entry.Entry[bool]

func at(start int64, isPending bool) race {
	return race{ID: strconv.FormatInt(start, 10), Start: start, Value: isPending}
}

// world is a listing in memory, and a follower of it that keeps what it yielded.
type world struct {
	progress *Progress[bool]
	listed   []race // oldest first
	yielded  []race
	newest   int64 // that a poll has read
}

func newWorld(position Watermark, lookback int64, bound int) *world {
	w := &world{progress: New(position, lookback, func(isPending bool) bool { return isPending })}
	w.progress.bound = bound
	return w
}

func (w *world) list(races ...race) {
	for _, r := range races {
		w.listed = slices.DeleteFunc(w.listed, func(other race) bool { return other.ID == r.ID && other.Start == r.Start })
	}
	w.listed = append(w.listed, races...)
	slices.SortStableFunc(w.listed, func(a, b race) int { return int(a.Start - b.Start) })
}

// batch returns what is listed from low on and before high, without what is old if it is to be fresh.
func (w *world) batch(low, high int64, isFresh bool) (batch []race) {
	for _, r := range w.listed {
		if r.Start >= low && r.Start < high && (!isFresh || w.progress.IsNew(r)) {
			batch = append(batch, r)
		}
	}
	return batch
}

// poll reads the listing in one batch, and is left after n entries.
func (w *world) poll(n int) {
	w.progress.Begin()
	w.progress.Add(w.batch(w.progress.Settled, math.MaxInt64, true), w.listed[len(w.listed)-1].Start)
	for range n {
		r, ok := w.progress.Next()
		if !ok {
			return
		}
		w.yielded = append(w.yielded, r)
	}
}

// resume continues in another process.
func (w *world) resume(t interface{ Fatal(...any) }) {
	text, err := json.Marshal(w.progress.Watermark)
	position := Watermark{Seen: map[string]int64{}}
	if err != nil || json.Unmarshal(text, &position) != nil {
		t.Fatal(err)
	}
	w.progress = newWorld(position, w.progress.Lookback, w.progress.bound).progress
}

// The example of the comment of Progress.
func TestProgressSettlesOneLookbackBeforeTheNewestEntry(t *testing.T) {
	w := newWorld(Watermark{1, map[string]int64{}}, 60, Bound)
	for i, poll := range []struct {
		listed        []race
		leave         int
		yielded, seen []int64
		settled       int64
	}{
		{[]race{at(10, false), at(50, false), at(100, true)}, 9, []int64{10, 50}, []int64{50}, 40},
		{[]race{at(100, false)}, 9, []int64{100}, []int64{50, 100}, 40},
		{[]race{at(70, false), at(80, true), at(85, false), at(150, false)}, 9, []int64{70, 80, 85, 150}, []int64{100, 150}, 90},
		{[]race{at(20, false), at(80, false)}, 9, nil, []int64{100, 150}, 90},
		{[]race{at(200, false), at(900, false)}, 1, []int64{200}, []int64{150, 200}, 140},
		{nil, 9, []int64{900}, []int64{900}, 840},
	} {
		w.yielded = nil
		w.list(poll.listed...)
		w.poll(poll.leave)
		var yielded []int64
		for _, r := range w.yielded {
			yielded = append(yielded, r.Start)
		}
		got := [][]int64{yielded, slices.Sorted(maps.Values(w.progress.Seen)), {w.progress.Settled}}
		check.Equal(t, fmt.Sprintf("poll %d: yielded, seen and settled", i+1), [][]int64{poll.yielded, poll.seen, {poll.settled}}, got)
	}
}

// A newer entry that is passed in with a later batch of the poll releases no race from waiting.
func TestProgressKeepsTheCeilingOfTheFirstBatch(t *testing.T) {
	for _, newest := range []int64{0, 1, 59, 60, 61, 110} { // lookback is 60
		w := newWorld(Watermark{1, map[string]int64{}}, 60, Bound)
		w.progress.Begin()
		w.progress.Add(nil, newest)
		w.progress.Add([]race{at(110, true)}, 1000)
		_, isYielded := w.progress.Next()
		check.Equal(t, fmt.Sprintf("newest %d: it was yielded, or more is settled", newest), false, isYielded || w.progress.Settled > max(1, newest-60))
	}
}

// What the first poll lists is old, also if it can be read later, but not what lacks its result.
func TestProgressSkipsWhatTheFirstPollLists(t *testing.T) {
	w, unreadable := newWorld(Watermark{0, map[string]int64{}}, 60, Bound), at(60, false)
	unreadable.Err = errors.New("unreadable")
	w.list(at(30, false), at(50, true), unreadable, at(70, false))
	w.progress.SkipListed(40, w.listed)
	check.Equal(t, "settled", 40, w.progress.Settled)
	w.poll(9)
	w.list(at(45, false), at(50, false), at(60, false))
	w.poll(9)
	check.Equal(t, "yielded", []race{at(45, false), at(50, false)}, w.yielded)
	check.Equal(t, "all is decided", true, w.progress.IsDecided())
}

// Polls read a listing that grows at its end, late and with results that are lacking, in batches
// of any size. They are left anywhere, and continue in the same process or in another one. Whatever
// was read and is settled was yielded, once; and so is, at last, everything that was in time.
func TestProgressYieldsEachEntryOnceWhereverItIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const lookback = 60
		bound := rapid.SampledFrom([]int{3, 10, Bound, Bound}).Draw(t, "bound")
		isBounded := bound < Bound // settled may rise above the ceiling, and late entries may be missed
		w := newWorld(Watermark{1, map[string]int64{}}, lookback, bound)
		times, wasRead, inTime, now := map[int64]int{}, map[int64]bool{}, map[int64]bool{}, int64(100)
		add := func(start int64) {
			w.list(at(start, rapid.Bool().Draw(t, "lacks its result")))
			isInTime := start >= w.newest-lookback
			if inTime[start] = inTime[start] || isInTime; isInTime && !isBounded && start < w.progress.Settled {
				t.Fatalf("%d is in time, the newest entry was %d, and %d is settled", start, w.newest, w.progress.Settled)
			}
		}
		// step takes an entry, and checks what is true between any two steps.
		step := func() bool {
			r, ok := w.progress.Next()
			if ok {
				if times[r.Start]++; times[r.Start] > 1 {
					t.Fatalf("%d came %d times", r.Start, times[r.Start])
				}
				if r.Value && r.Start >= w.progress.ceiling && !isBounded {
					t.Fatalf("%d came without its result, and the ceiling is %d", r.Start, w.progress.ceiling)
				}
				if len(w.progress.Seen) > 2*bound+1 {
					t.Fatalf("%d are remembered", len(w.progress.Seen))
				}
			}
			for start := range wasRead {
				if start < w.progress.Settled && times[start] == 0 {
					t.Fatalf("%d was read, did not come, and %d is settled", start, w.progress.Settled)
				}
			}
			return ok
		}
		poll := func() {
			w.progress.Begin()
			end := w.listed[len(w.listed)-1].Start + 1
			for low := w.progress.Settled; low < end; {
				high := low + rapid.Int64Range(1, end-low).Draw(t, "length")
				newest := end - 1 - rapid.SampledFrom([]int64{0, 0, 50, 500}).Draw(t, "newer ones come while the poll reads")
				w.newest = max(w.newest, newest)
				batch := w.batch(low, high, rapid.Bool().Draw(t, "without old ones"))
				for _, r := range batch {
					wasRead[r.Start] = true
				}
				for w.progress.Add(batch, newest); step(); {
					if rapid.IntRange(0, 9).Draw(t, "left") == 0 {
						return
					}
				}
				low = high
				if rapid.IntRange(0, 3).Draw(t, "late") == 0 {
					add(rapid.Int64Range(max(1, now-2*lookback), now).Draw(t, "a late start"))
				}
			}
		}
		for range rapid.IntRange(1, 30).Draw(t, "polls") {
			for range rapid.IntRange(0, 5).Draw(t, "new") {
				now += rapid.Int64Range(1, lookback).Draw(t, "gap")
				add(now)
			}
			if len(w.listed) > 0 {
				poll()
			}
			if rapid.Bool().Draw(t, "another process") {
				w.resume(t)
			}
		}
		for _, r := range w.listed { // every result is there, and then an entry that settles all
			w.list(at(r.Start, false))
		}
		w.list(at(now+10*lookback, false))
		w.poll(math.MaxInt)
		for _, r := range w.yielded {
			times[r.Start]++
		}
		for start := range inTime {
			mustCome := wasRead[start] || inTime[start] && !isBounded
			if times[start] > 1 || mustCome && times[start] == 0 {
				t.Fatalf("%d was read or was in time: %v, and came %d times", start, mustCome, times[start])
			}
		}
	})
}

// As many races as Seen can have start within lookback, at a race a minute. Bounding what is
// remembered costs none of those that are read, however often the loop is left, in one process or in
// many.
func TestProgressBoundsWhatItRemembersAndLosesNone(t *testing.T) {
	const bound, none, minute = 30, math.MaxInt, 60_000
	for name, test := range map[string]struct {
		seen, pending, late int // pending and late races are listed later, and start before those that were seen
		leave               int // after so many entries
	}{
		"late results below 59 races, left at each second entry": {2*bound - 1, 0, 8, 2},
		"late results below 59 races":                            {2*bound - 1, 0, 8, none},
		"races that wait below two late ones":                    {2*bound - 6, 5, 2, none},
		"more than Seen can have, left at each entry":            {2*bound - 3, 0, 20, 1},
		"none has a result":                                      {1, 5 * bound, 1, none},
	} {
		for _, inOneProcess := range []bool{true, false} {
			w := newWorld(Watermark{1, map[string]int64{}}, 7*24*60*minute, bound)
			first := int64(1_700_000_000_000)
			for i := range test.seen {
				w.listed = append(w.listed, at(first+int64(test.pending+test.late+i)*minute, false))
			}
			w.poll(none)
			var earlier []race
			for i := range test.pending + test.late {
				earlier = append(earlier, at(first+int64(i)*minute, i < test.pending))
			}
			w.listed = append(earlier, w.listed...)
			for before := -1; before != len(w.yielded); {
				before = len(w.yielded)
				if !inOneProcess {
					w.resume(t)
				}
				w.poll(test.leave)
				if remembered := len(w.progress.Seen) + len(w.progress.waiting); remembered > 2*bound {
					t.Fatalf("%s: %d are remembered", name, remembered)
				}
			}
			times := map[int64]int{}
			for _, r := range append(w.yielded, w.progress.waiting...) {
				times[r.Start]++
			}
			if n := len(w.yielded) + len(w.progress.waiting); n != len(times) || n != len(w.listed) {
				t.Errorf("%s, in one process: %v: %d entries, %d different ones of %d", name, inOneProcess, n, len(times), len(w.listed))
			}
		}
	}
}

// Entries that differ have keys that differ, and so do an entry and its error.
func TestTheKeysOfEntriesDiffer(t *testing.T) {
	keys, ids := map[string]bool{}, []string{"", "7", "71", "-7", "?7", "é", " 7"}
	for _, id := range ids {
		keys[key(race{ID: id, NoStart: true})] = true
		for start := range int64(3) {
			keys[key(race{ID: id, Start: start})] = true
			keys[key(race{ID: id, Start: start, Err: errors.New("unreadable")})] = true
		}
	}
	check.Equal(t, "different keys", 7*len(ids), len(keys))
}
