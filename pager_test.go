package horseracing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawWorld makes a listing with up to nine entries on an instant, dense and
// sparse stretches, and gaps of months.
func drawWorld(t *rapid.T) *world {
	w := &world{}
	at := rapid.Int64Range(1_000, 2_000_000_000_000).Draw(t, "newest")
	n := rapid.IntRange(0, 150).Draw(t, "instants")
	id := int64(1000)
	for range n {
		for range rapid.SampledFrom([]int{1, 1, 1, 1, 1, 2, 3, 9}).Draw(t, "ties") {
			w.starts, w.ids = append(w.starts, at), append(w.ids, id)
			id--
		}
		at -= rapid.SampledFrom([]int64{1, 2, 1_000, 60_000, 61_000, 3_600_000, 60 * 24 * 3_600_000}).Draw(t, "gap")
		if at < 1 {
			break
		}
	}
	if rapid.Bool().Draw(t, "shuffled") {
		w.shuffle = rand.New(rand.NewPCG(1, 2))
	}
	return w
}

// failSome lets a part of the requests fail.
func failSome(t *rapid.T) func(int64) error {
	part := rapid.IntRange(2, 6).Draw(t, "one request fails of")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "failures"), 0))
	return func(int64) error {
		if rng.IntN(part) == 0 {
			return errBroken
		}
		return nil
	}
}

func sorted(ids []int64) []int64 {
	ids = append([]int64{}, ids...)
	slices.Sort(ids)
	return ids
}

func sameEntries(t failer, got, want []int64) {
	t.Helper()
	if d := cmp.Diff(sorted(want), sorted(got)); d != "" {
		t.Fatalf("entries (-want +got):\n%s", d)
	}
}

func drawBound(t *rapid.T, w *world, name string) time.Time {
	if len(w.starts) == 0 || rapid.Bool().Draw(t, "no "+name) {
		return time.Time{}
	}
	at := rapid.SampledFrom(w.starts).Draw(t, name) + rapid.Int64Range(-1, 1).Draw(t, name+" offset")
	return time.UnixMilli(at)
}

func millis(t time.Time, zero int64) int64 {
	if t.IsZero() {
		return zero
	}
	return t.UnixMilli()
}

func TestEveryEntryComesOnceNewestFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		q := ResultsQuery{Concurrency: rapid.IntRange(1, 16).Draw(t, "concurrency")}
		q.Before, q.Since = drawBound(t, w, "before"), drawBound(t, w, "since")
		if !q.Before.IsZero() && q.Since.After(q.Before) {
			q.Before, q.Since = q.Since, q.Before
		}
		got := collect(t, w.client(t).Races.Results(q), never)
		sameEntries(t, got, w.between(millis(q.Since, math.MinInt64), millis(q.Before, math.MaxInt64)))
		if w.most > q.Concurrency {
			t.Fatalf("%d requests in flight at concurrency %d", w.most, q.Concurrency)
		}
		slices.Sort(w.asked)
		if len(slices.Compact(w.asked)) != w.requests {
			t.Fatalf("a question was asked twice")
		}
	})
}

func TestAWalkSurvivesBreaksErrorsAndResumes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.before = failSome(t)
		q := ResultsQuery{}
		var got []int64
		last := int64(math.MaxInt64)
		for range 10_000 {
			q.Concurrency = rapid.IntRange(1, 16).Draw(t, "concurrency")
			p := w.client(t).Races.Results(q)
			finished := false
			for range rapid.IntRange(1, 3).Draw(t, "ranges") {
				stop := rapid.IntRange(1, 40).Draw(t, "stop after")
				finished = true
				for r, err := range p.All(context.Background()) {
					if err != nil {
						if !errors.Is(err, errBroken) {
							t.Fatal(err)
						}
						finished = false
						break
					}
					if r.StartTime.UnixMilli() > last {
						t.Fatalf("not newest first")
					}
					last = r.StartTime.UnixMilli()
					got = append(got, int64(r.MainRaceID))
					if stop--; stop == 0 {
						finished = false
						break
					}
				}
			}
			if finished {
				sameEntries(t, got, w.ids)
				return
			}
			c, err := ParseCursor(p.Cursor().String())
			if err != nil {
				t.Fatal(err)
			}
			q.Resume = c
		}
		t.Fatal("the walk does not end")
	})
}

func TestOffsetWalkReadsEveryEntryOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		q := OffsetQuery{Concurrency: rapid.IntRange(1, 16).Draw(t, "concurrency")}
		q.Offset = rapid.IntRange(0, 30).Draw(t, "offset")
		got := collect(t, w.client(t).Races.ResultsV1(q), never)
		sameEntries(t, got, w.ids[min(q.Offset, len(w.ids)):])
		if w.most > q.Concurrency {
			t.Fatalf("%d requests in flight at concurrency %d", w.most, q.Concurrency)
		}
	})
}

func TestOffsetWalkSurvivesBreaksErrorsAndResumes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.before = failSome(t)
		q := OffsetQuery{Offset: rapid.IntRange(0, 30).Draw(t, "offset")}
		var got []int64
		for range 10_000 {
			q.Concurrency = rapid.IntRange(1, 16).Draw(t, "concurrency")
			p := w.client(t).Races.ResultsV1(q)
			finished := true
			stop := rapid.IntRange(1, 40).Draw(t, "stop after")
			for r, err := range p.All(context.Background()) {
				if err != nil && !errors.Is(err, errBroken) {
					t.Fatal(err)
				}
				if err != nil {
					finished = false
					break
				}
				got = append(got, int64(r.MainRaceID))
				if stop--; stop == 0 {
					finished = false
					break
				}
			}
			if finished {
				sameEntries(t, got, w.ids[min(q.Offset, len(w.ids)):])
				return
			}
			c, err := ParseCursor(p.Cursor().String())
			if err != nil {
				t.Fatal(err)
			}
			q.Resume = c
		}
		t.Fatal("the walk does not end")
	})
}

func TestOffsetWalkMissesNothingThatStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		arrived, removed := map[int64]bool{}, map[int64]bool{}
		next := int64(5000)
		changes := rapid.IntRange(0, 12).Draw(t, "most changes")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		total := 0
		w.before = func(int64) error {
			for range rng.IntN(changes + 1) {
				if total++; total > 150 {
					return nil
				}
				if rng.IntN(2) == 0 || len(w.ids) == 0 {
					start := int64(2_000_000_000_001)
					if len(w.starts) > 0 {
						start = max(start, w.starts[0]+1)
					}
					w.starts, w.ids = slices.Insert(w.starts, 0, start), slices.Insert(w.ids, 0, next)
					arrived[next] = true
					next++
				} else {
					i := rng.IntN(len(w.ids))
					removed[w.ids[i]] = true
					w.remove(i)
				}
			}
			return nil
		}
		original := slices.Clone(w.ids)
		got := map[int64]bool{}
		for _, id := range collectAnyOrder(t, w.client(t).Races.ResultsV1(OffsetQuery{Concurrency: rapid.IntRange(1, 8).Draw(t, "concurrency")})) {
			if got[id] {
				t.Fatalf("entry %d came twice", id)
			}
			got[id] = true
		}
		for _, id := range original {
			if !removed[id] && !got[id] {
				t.Fatalf("entry %d stayed in the listing and was missed", id)
			}
		}
	})
}

func collectAnyOrder(t failer, p *Pager[Race]) (ids []int64) {
	for r, err := range p.All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, int64(r.MainRaceID))
	}
	return ids
}

func TestAFullPageOnOneInstantIsToldAndPassed(t *testing.T) {
	for _, ties := range []int{10, 11, 25} {
		for _, concurrency := range []int{1, 2, 16} {
			t.Run(fmt.Sprintf("%d ties at %d", ties, concurrency), func(t *testing.T) {
				w := &world{}
				for i := range 40 {
					w.add(int64(1_000_000 - i*1000))
				}
				for range ties {
					w.add(900_000)
				}
				for i := range 40 {
					w.add(int64(800_000 - i*1000))
				}
				overflows := 0
				got := collect(t, w.client(t).Races.Results(ResultsQuery{Concurrency: concurrency}), func(err error) bool {
					overflow, ok := errors.AsType[*TieOverflowError](err)
					if ok {
						overflows++
						if overflow.StartTime.UnixMilli() != 900_000 || overflow.Seen < 10 {
							t.Errorf("unexpected %+v", overflow)
						}
					}
					return ok
				})
				if overflows != 1 {
					t.Errorf("told %d times", overflows)
				}
				outside := 0
				for _, id := range got {
					if i := slices.Index(w.ids, id); w.starts[i] != 900_000 {
						outside++
					}
				}
				if outside != 80 || len(got) < 90 {
					t.Errorf("%d entries outside the instant, %d in all", outside, len(got))
				}
			})
		}
	}
}

func TestAnIgnoredBodyIsNoticedWithinADozenRequests(t *testing.T) {
	v2 := func(q ResultsQuery) func(*Client, int) *Pager[Race] {
		return func(c *Client, concurrency int) *Pager[Race] { q.Concurrency = concurrency; return c.Races.Results(q) }
	}
	v1 := func(q OffsetQuery) func(*Client, int) *Pager[Race] {
		return func(c *Client, concurrency int) *Pager[Race] {
			q.Concurrency = concurrency
			return c.Races.ResultsV1(q)
		}
	}
	walks := map[string]func(*Client, int) *Pager[Race]{
		"v2":        v2(ResultsQuery{}),
		"v2 before": v2(ResultsQuery{Before: time.UnixMilli(1_000_000_001)}),
		"v2 resume": v2(ResultsQuery{Resume: Cursor{listing: "r2", tier: TierOmega, at: 1_000_000_001, seen: []uint64{7}}}),
		"tier":      v2(ResultsQuery{Tier: 3}),
		"v1 resume": v1(OffsetQuery{Resume: Cursor{listing: "r1", tier: TierOmega, at: 55, newest: 900_000_000, seen: []uint64{901, 902, 903}}}),
	}
	for _, offset := range []int{0, 1, 3, 7, 8, 9, 12, 1000} {
		walks[fmt.Sprintf("v1 from %d", offset)] = v1(OffsetQuery{Offset: offset})
	}
	for _, size := range []int{500, 10, 9, 5, 3, 2, 1} {
		for _, apart := range []int64{1000, 0} {
			for _, concurrency := range []int{1, 2, 4, 8, 16, 64} {
				for name, walk := range walks {
					if apart == 0 && size >= pageSize && strings.HasPrefix(name, "v2") {
						continue // the tie comes first
					}
					w := &world{ignoreBody: true, delay: 20 * time.Millisecond}
					for i := range size {
						w.add(1_000_000_000 - int64(i)*apart)
					}
					var err error
					synctest.Test(t, func(t *testing.T) {
						_, err = walk(w.client(t), concurrency).Take(t.Context(), 10_000)
					})
					if !errors.Is(err, ErrBodyIgnored) || w.requests > 12 {
						t.Errorf("%s, %d entries %d ms apart, %d at once: %v after %d requests", name, size, apart, concurrency, err, w.requests)
					}
				}
			}
		}
	}
}

func TestAnIgnoredOffsetIsNoticedWhateverArrives(t *testing.T) {
	for _, arrivals := range []int{1, 4, 6, 10, 25} {
		w := dense(500, 60_000)
		w.ignoreBody = true
		w.before = func(int64) error {
			if w.requests > 100 {
				return errBroken
			}
			for range arrivals {
				w.starts = slices.Insert(w.starts, 0, w.starts[0]+60_000)
				w.ids = slices.Insert(w.ids, 0, int64(len(w.ids)+1))
			}
			return nil
		}
		_, err := w.client(t).Races.ResultsV1(OffsetQuery{}).Take(t.Context(), 10_000)
		if !errors.Is(err, ErrBodyIgnored) {
			t.Errorf("%d arrivals between two requests: %v after %d requests", arrivals, err, w.requests)
		}
	}
}

// With one arrival a request the same few entries lie at each offset asked for.
func TestArrivalsAreNotTakenForAnIgnoredOffset(t *testing.T) {
	w := &world{}
	w.add(1000, 1000, 1000)
	w.before = func(int64) error {
		if w.requests > 1 && w.requests < 30 {
			w.add(w.starts[0] + 1)
		}
		return nil
	}
	if got := collectAnyOrder(t, w.client(t).Races.ResultsV1(OffsetQuery{})); len(got) != 3 {
		t.Errorf("entries %v came, want those three that were there", got)
	}
}

func dense(n int, pace int64) *world {
	w := &world{starts: make([]int64, n), ids: make([]int64, n)}
	rng := rand.New(rand.NewPCG(7, 7))
	at := int64(1_700_000_000_000)
	for i := range n {
		w.starts[i], w.ids[i] = at, int64(n-i)
		at -= 1 + rng.Int64N(2*pace)
	}
	return w
}

// simulate walks under a virtual clock with 20 ms a request.
func simulate(t *testing.T, w *world, concurrency int) (requests int, took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		w.delay, w.requests = 20*time.Millisecond, 0
		started := time.Now()
		got := collect(t, w.client(t).Races.Results(ResultsQuery{Concurrency: concurrency}), never)
		if len(got) != len(w.ids) {
			t.Errorf("%d of %d entries", len(got), len(w.ids))
		}
		requests, took = w.requests, time.Since(started)
	})
	return requests, took
}

func clusters() *world {
	w := &world{}
	for c := range 4 {
		for i := range 60 {
			w.starts = append(w.starts, int64(1_700_000_000_000)-int64(c)*200*86_400_000-int64(i)*60_000)
		}
	}
	return w.numbered()
}

func busyHours() *world {
	w := &world{}
	for d := range 100 {
		for i := range 60 {
			w.starts = append(w.starts, int64(1_700_000_000_000)-int64(d)*86_400_000-int64(i)*60_000)
		}
	}
	return w.numbered()
}

func (w *world) numbered() *world {
	for i := range w.starts {
		w.ids = append(w.ids, int64(len(w.starts)-i))
	}
	return w
}

// Under a virtual clock the figures do not depend on the machine.
func TestConcurrentWalkIsFastAndWastesLittle(t *testing.T) {
	for _, test := range []struct {
		name        string
		w           *world
		concurrency int
		faster      float64 // at least
		more        float64 // requests, at most
	}{
		{"5,000 races", dense(5_000, 60_000), 16, 14, 1.15},
		{"20,000 races", dense(20_000, 60_000), 4, 3.5, 1.15},
		{"20,000 races", dense(20_000, 60_000), 16, 14.5, 1.15},
		{"20,000 races", dense(20_000, 60_000), 64, 50, 1.15},
		{"four clusters 200 days apart", clusters(), 8, 2, 3},
		{"a busy hour a day", busyHours(), 8, 7, 1.15},
		{"a busy hour a day", busyHours(), 16, 11, 1.15},
	} {
		one, slow := simulate(t, test.w, 1)
		if most := 1.2 * float64(len(test.w.ids)) / pageSize; test.name != "four clusters 200 days apart" && float64(one) > most {
			t.Errorf("%s: %d requests one at a time, more than %.0f", test.name, one, most)
		}
		several, fast := simulate(t, test.w, test.concurrency)
		faster, more := slow.Seconds()/fast.Seconds(), float64(several)/float64(one)
		t.Logf("%s: %d requests one at a time; at %d %d (%.2f), %.1f times as fast", test.name, one, test.concurrency, several, more, faster)
		if faster < test.faster || more > test.more {
			t.Errorf("expected %.1f times as fast with %.2f of the requests", test.faster, test.more)
		}
	}
}

func TestGapsOfMonthsCostFewRequests(t *testing.T) {
	w := &world{}
	for i := range 30 {
		w.add(1_700_000_000_000-int64(i)*60_000, 1_700_000_000_000-200*86_400_000-int64(i)*60_000)
	}
	for _, concurrency := range []int{1, 4, 16} {
		if requests, _ := simulate(t, w, concurrency); requests > 40 {
			t.Errorf("%d requests at concurrency %d for 60 races with 200 empty days between them", requests, concurrency)
		}
	}
}

func TestWhatLiesBeforeAFailedPageIsHandedOutFirst(t *testing.T) {
	w := dense(600, 60_000)
	broken := w.starts[300]
	down := true
	w.before = func(from int64) error {
		if down && from <= broken {
			return errBroken
		}
		return nil
	}
	for _, concurrency := range []int{1, 3, 16} {
		down = true
		p := w.client(t).Races.Results(ResultsQuery{Concurrency: concurrency})
		before, err := p.Take(t.Context(), 10_000)
		if !errors.Is(err, errBroken) || len(before) < 300 {
			t.Errorf("at %d: %d entries, then %v", concurrency, len(before), err)
		}
		again, err := p.Take(t.Context(), 10_000)
		if !errors.Is(err, errBroken) || len(again) > 0 {
			t.Errorf("still broken: %d entries, then %v", len(again), err)
		}
		down = false
		rest, err := p.Take(t.Context(), 10_000)
		if err != nil || len(before)+len(rest) != 600 {
			t.Errorf("at %d: %d and %d entries, then %v", concurrency, len(before), len(rest), err)
		}
	}
}

// Which of two answers comes first must not decide what is handed out before
// an error.
func TestAnErrorWaitsForAnAnswerOnItsWayThatMayLieBeforeIt(t *testing.T) {
	page := func(starts ...int64) (entries []entry[int]) {
		for _, start := range starts {
			entries = append(entries, entry[int]{start: start, id: uint64(start)})
		}
		return entries
	}
	var taken []int64
	w := newTimeWalk[int](operation{}, latest, earliest, Cursor{}, 3)
	take := func() error {
		for {
			e, ok := w.take()
			if !ok || e.err != nil {
				return e.err
			}
			taken = append(taken, e.start)
		}
	}
	ask := func() int64 {
		at, ok := w.next()
		if !ok {
			t.Fatal("the walk asks nothing")
		}
		return at
	}
	learn := func(at int64, entries []entry[int]) {
		if err := w.learn(at, entries); err != nil {
			t.Fatal(err)
		}
	}
	learn(ask(), page(1000, 999, 998, 997, 996, 995, 994, 993, 992, 991))
	own, guess := ask(), ask()
	if own != 992 || guess >= own || guess < 800 {
		t.Fatalf("asks %d and %d", own, guess)
	}
	learn(own, page(991, 990, 989, 988, 987, 986, 985, 984, 983, guess-3)) // behind what was guessed at
	if own = ask(); own != guess-2 {
		t.Fatalf("asks %d", own)
	}
	w.fail(own, errBroken)
	if err := take(); err != nil || len(taken) != 19 {
		t.Errorf("%d entries, then %v, although an answer that may hold more is on its way", len(taken), err)
	}
	learn(guess, page(guess-3, guess-4, guess-5, guess-6, guess-7, guess-8, guess-9, guess-10, guess-11, guess-12))
	if err := take(); !errors.Is(err, errBroken) || len(taken) != 28 || taken[27] != guess-12 {
		t.Errorf("%d entries, then %v", len(taken), err)
	}
}

func TestTournamentsAreWalkedLikeRaces(t *testing.T) {
	w := dense(95, 1)
	w.tournaments = true
	for _, concurrency := range []int{1, 8} {
		p := w.client(t).Tournaments.Results(ResultsQuery{Concurrency: concurrency})
		first, err := p.Take(t.Context(), 33)
		if err != nil {
			t.Fatal(err)
		}
		resumed := w.client(t).Tournaments.Results(ResultsQuery{Resume: p.Cursor()})
		seen := map[TournamentID]bool{}
		for _, tournament := range first {
			seen[tournament.ID] = true
		}
		for tournament, err := range resumed.All(t.Context()) {
			if err != nil || seen[tournament.ID] {
				t.Fatalf("%v, seen before: %v", err, seen[tournament.ID])
			}
			seen[tournament.ID] = true
		}
		if len(seen) != 95 {
			t.Errorf("%d tournaments", len(seen))
		}
	}
}

func TestAShortPageIsNotTheEnd(t *testing.T) {
	w := dense(400, 60_000)
	w.keep = func(id int64) bool { return id%3 == 0 }
	for _, concurrency := range []int{1, 8} {
		if got := collect(t, w.client(t).Races.Results(ResultsQuery{Concurrency: concurrency}), never); len(got) != 133 {
			t.Errorf("%d of 133 entries at concurrency %d", len(got), concurrency)
		}
	}
}

func TestPagesAndTakeHandOutTheSameEntries(t *testing.T) {
	w := dense(47, 1000)
	var sizes []int
	for page, err := range w.client(t).Races.Results(ResultsQuery{Concurrency: 4}).Pages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(page))
	}
	if d := cmp.Diff([]int{10, 10, 10, 10, 7}, sizes); d != "" {
		t.Error(d)
	}
	p := w.client(t).Races.Results(ResultsQuery{})
	for _, n := range []int{0, 1, 20, 100} {
		if _, err := p.Take(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if rest, err := p.Take(t.Context(), 5); err != nil || len(rest) != 0 {
		t.Errorf("behind the end: %d entries, %v", len(rest), err)
	}
	one := w.client(t).Races.Results(ResultsQuery{})
	w.requests = 0
	if _, err := one.Take(t.Context(), 10); err != nil || w.requests != 1 {
		t.Errorf("ten entries took %d requests (%v)", w.requests, err)
	}
}

func TestNothingIsRequestedBeforeThePagerIsRangedOver(t *testing.T) {
	w := dense(10, 1000)
	w.client(t).Races.Results(ResultsQuery{Concurrency: 8}).All(t.Context())
	if w.requests != 0 {
		t.Errorf("%d requests", w.requests)
	}
}

func TestAQueryThatCannotBeAnsweredIsRefusedBeforeAnyRequest(t *testing.T) {
	w := dense(30, 1000)
	c := w.client(t)
	p := c.Races.Results(ResultsQuery{})
	if _, err := p.Take(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	w.requests = 0
	now := time.Now()
	for name, take := range map[string]func() error{
		"another listing": func() error {
			_, err := c.Races.ResultsV1(OffsetQuery{Resume: p.Cursor()}).Take(t.Context(), 1)
			return err
		},
		"tournaments": func() error {
			_, err := c.Tournaments.Results(ResultsQuery{Resume: p.Cursor()}).Take(t.Context(), 1)
			return err
		},
		"another tier": func() error {
			_, err := c.Races.Results(ResultsQuery{Tier: 4, Resume: p.Cursor()}).Take(t.Context(), 1)
			return err
		},
		"negative tier": func() error { _, err := c.Races.Results(ResultsQuery{Tier: -1}).Take(t.Context(), 1); return err },
		"negative slots": func() error {
			_, err := c.Races.Results(ResultsQuery{Concurrency: -1}).Take(t.Context(), 1)
			return err
		},
		"negative offset": func() error { _, err := c.Races.ResultsV1(OffsetQuery{Offset: -1}).Take(t.Context(), 1); return err },
		"turned around": func() error {
			_, err := c.Races.Results(ResultsQuery{Since: now, Before: now.Add(-time.Hour)}).Take(t.Context(), 1)
			return err
		},
	} {
		if err := take(); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if w.requests != 0 {
		t.Errorf("%d requests", w.requests)
	}
	if _, err := c.Races.Results(ResultsQuery{Tier: TierOmega, Resume: p.Cursor()}).Take(t.Context(), 1); err != nil {
		t.Errorf("the default tier is Omega: %v", err)
	}
}

func TestLeavingAWalkLeavesNothingBehind(t *testing.T) {
	for _, leave := range []string{"break", "cancel", "panic", "error"} {
		for _, concurrency := range []int{1, 16} {
			t.Run(fmt.Sprintf("%s at %d", leave, concurrency), func(t *testing.T) {
				// The bubble fails if a goroutine outlives the test.
				synctest.Test(t, func(t *testing.T) {
					w := dense(2_000, 60_000)
					w.delay = 20 * time.Millisecond
					if leave == "error" {
						w.before = func(from int64) error {
							if from < w.starts[500] {
								return errBroken
							}
							return nil
						}
					}
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					func() {
						defer func() { _ = recover() }()
						n := 0
						for _, err := range w.client(t).Races.Results(ResultsQuery{Concurrency: concurrency}).All(ctx) {
							switch n++; {
							case err != nil && leave != "error" && leave != "cancel":
								t.Fatal(err)
							case leave == "cancel" && err != nil && !errors.Is(err, context.Canceled):
								t.Errorf("cancelled: %v", err)
							case leave == "cancel" && n == 50:
								cancel()
							case leave == "cancel" && n > 52:
								t.Error("the walk went on after its context had ended")
							case leave == "break" && n == 50:
								return
							case leave == "panic" && n == 50:
								panic("in the loop's body")
							}
						}
					}()
					if w.inFlight != 0 || w.open != 0 {
						t.Errorf("%d requests in flight and %d bodies open after the loop", w.inFlight, w.open)
					}
				})
			})
		}
	}
}

func TestReadingAheadIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dense(100_000, 60_000)
		w.delay = time.Millisecond
		p := w.client(t).Races.Results(ResultsQuery{Concurrency: 4})
		walk := p.walk.(*timeWalk[Race])
		n, most := 0, 0
		for _, err := range p.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 20_000 {
				break
			}
			most = max(most, walk.waiting())
			time.Sleep(5 * time.Millisecond) // a reader slower than the service
		}
		if bound := 2*lookAhead*pageSize*4 + 4*pageSize; most > bound {
			t.Errorf("%d entries waited, more than %d", most, bound)
		}
	})
}

func TestTheWalkTakesATokenForEveryRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dense(1_000, 60_000)
		started := time.Now()
		collect(t, w.client(t, WithRateLimit(10, 1)).Races.Results(ResultsQuery{Concurrency: 16}), never)
		if least := time.Duration(w.requests-1) * 100 * time.Millisecond; time.Since(started) < least {
			t.Errorf("%d requests in %v", w.requests, time.Since(started))
		}
	})
}

func TestAnEntryThatCannotBePlacedIsAnError(t *testing.T) {
	for _, page := range []string{`[{"main_race_id":1}]`, `[{"start_time":1700000000000}]`, `[{"main_race_id":1,"start_time":null}]`} {
		c, err := NewClient("https://races.example", "key", WithHTTPClient(&http.Client{Transport: answer200(page)}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Races.Results(ResultsQuery{}).Take(t.Context(), 1)
		if _, ok := errors.AsType[*DecodeError](err); !ok {
			t.Errorf("%s: %v", page, err)
		}
	}
}

type answer200 string

func (a answer200) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: -1, Body: io.NopCloser(strings.NewReader(string(a))), Request: req}, nil
}
