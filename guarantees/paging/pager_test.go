package paging_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// drawWorld makes a listing with up to nine entries on an instant, dense and
// sparse segments, and gaps of months.
func drawWorld(t *rapid.T, instants int) *world {
	w := &world{}
	at := rapid.Int64Range(1_000_000_000_000, 2_000_000_000_000).Draw(t, "newest")
	n := rapid.IntRange(0, instants).Draw(t, "instants")
	id := int64(1000)
	for range n {
		for range rapid.SampledFrom([]int{1, 1, 1, 1, 1, 2, 3, 9}).Draw(t, "ties") {
			w.starts, w.ids = append(w.starts, at), append(w.ids, id)
			id--
		}
		at -= rapid.SampledFrom([]int64{1, 2, 1_000, 60_000, 61_000, 3_600_000, 60 * 24 * 3_600_000}).Draw(t, "gap")
		if at < 200_000_000_000 { // it would look like seconds
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
	checkInBubble(t, func(t *rapid.T) {
		w := drawWorld(t, 150)
		q := horseracing.ResultsQuery{Concurrency: rapid.IntRange(1, 16).Draw(t, "concurrency")}
		q.Before, q.Since = drawBound(t, w, "before"), drawBound(t, w, "since")
		if !q.Before.IsZero() && q.Since.After(q.Before) {
			q.Before, q.Since = q.Since, q.Before
		}
		got := collect(t, w.client(t).Races.Results(q))
		sameEntries(t, got, w.between(millis(q.Since, math.MinInt64), millis(q.Before, math.MaxInt64)))
		if w.most > q.Concurrency {
			t.Fatalf("%d requests in flight at concurrency %d", w.most, q.Concurrency)
		}
		slices.Sort(w.bodies)
		if len(slices.Compact(w.bodies)) < w.requests-w.empty { // only what was empty is requested again
			t.Fatalf("a request was sent twice")
		}
	})
}

func TestAnIgnoredBodyIsNoticedWithinADozenRequests(t *testing.T) {
	older := &world{}
	for i := range 60 {
		older.add(700_000_000 - int64(i)*1000)
	}
	saved := older.client(t).Races.Results(horseracing.ResultsQuery{})
	if _, err := saved.Take(t.Context(), 45); err != nil {
		t.Fatal(err)
	}
	queries := map[string]horseracing.ResultsQuery{
		"now": {}, "before": {Before: time.UnixMilli(800_000_001)}, "resume": {Resume: saved.Cursor()}, "tier": {Tier: 3},
	}
	for _, size := range []int{500, 10, 2} {
		for _, concurrency := range []int{1, 4, 64} {
			for name, q := range queries {
				w := &world{ignoreBody: true, delay: 20 * time.Millisecond}
				for i := range size {
					w.add(800_000_000 - int64(i)*1000)
				}
				var err error
				q.Concurrency = concurrency
				synctest.Test(t, func(t *testing.T) {
					_, err = w.client(t).Races.Results(q).Take(t.Context(), 10_000)
				})
				if !errors.Is(err, horseracing.ErrBodyIgnored) || w.requests > 12 {
					t.Errorf("%s, %d entries, %d at once: %v after %d requests", name, size, concurrency, err, w.requests)
				}
			}
		}
	}
}

// The last page may come while the loop body runs: then nothing is in flight any more.
func TestALoopEndsHoweverSlowItsBodyIs(t *testing.T) {
	for size := range 25 {
		for _, concurrency := range []int{2, 3} {
			synctest.Test(t, func(t *testing.T) {
				w := dense(size, 60_000)
				w.delay = 20 * time.Millisecond
				n := 0
				for _, err := range w.client(t).Races.Results(horseracing.ResultsQuery{Concurrency: concurrency}).All(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					n++
					time.Sleep(time.Second)
				}
				if n != size {
					t.Errorf("%d of %d races", n, size)
				}
			})
		}
	}
}

func TestLeavingAWalkEndsItsRequestsAndGoroutines(t *testing.T) {
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
					var left time.Time
					func() {
						defer func() { _ = recover() }()
						n := 0
						for _, err := range w.client(t).Races.Results(horseracing.ResultsQuery{Concurrency: concurrency}).All(ctx) {
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
								left = time.Now()
								return
							case leave == "panic" && n == 50:
								panic("in the loop's body")
							}
						}
					}()
					if leave == "break" && time.Since(left) != 0 {
						t.Errorf("the loop waited %v for requests in flight", time.Since(left))
					}
					if w.inFlight != 0 || w.open != 0 {
						t.Errorf("%d requests in flight and %d bodies open after the loop", w.inFlight, w.open)
					}
				})
			})
		}
	}
}

func TestOffsetWalkSurvivesBreaksErrorsAndResumes(t *testing.T) {
	checkInBubble(t, func(t *rapid.T) {
		w := drawWorld(t, 150)
		w.before = failSome(t)
		offset := rapid.IntRange(0, 30).Draw(t, "offset")
		races, _ := crawl(t, func(resume horseracing.Cursor, _ int) *horseracing.Pager[horseracing.Race] {
			return w.client(t).Races.ResultsV1(horseracing.OffsetQuery{Offset: offset, Resume: resume})
		})
		sameEntries(t, idsIn(races), w.ids[min(offset, len(w.ids)):])
	})
}

// simulate walks under a virtual clock with 20 ms a request.
func simulate(t *testing.T, w *world, concurrency int) (requests int, took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		w.delay, w.requests = 20*time.Millisecond, 0
		started := time.Now()
		got := collect(t, w.client(t).Races.Results(horseracing.ResultsQuery{Concurrency: concurrency}))
		if len(got) != len(w.ids) {
			t.Errorf("%d of %d entries", len(got), len(w.ids))
		}
		requests, took = w.requests, time.Since(started)
	})
	return requests, took
}

// groups are groups of sixty races, a minute apart, and so many days between them.
func groups(n, days int64) *world {
	w := &world{}
	for group := range n {
		for i := range int64(60) {
			w.starts = append(w.starts, 1_700_000_000_000-group*days*86_400_000-i*60_000)
		}
	}
	return w.numbered()
}

// Under a virtual clock the figures do not depend on the machine.
func TestConcurrentWalkIsFastAndWastesLittle(t *testing.T) {
	double.UnlessShort(t)
	for _, test := range []struct {
		name        string
		w           *world
		concurrency int
		faster      float64 // at least
		more        float64 // requests, at most
	}{
		{"5,000 races", dense(5_000, 60_000), 16, 13.5, 1.15},
		{"20,000 races", dense(20_000, 60_000), 64, 50, 1.15},
		{"four clusters 200 days apart", groups(4, 200), 8, 2, 3},
		{"a busy hour a day", groups(100, 1), 16, 11, 1.15},
	} {
		one, slow := simulate(t, test.w, 1)
		if most := 1.2 * float64(len(test.w.ids)) / 10; test.name != "four clusters 200 days apart" && float64(one) > most {
			t.Errorf("%s: %d requests one at a time, more than %.0f", test.name, one, most)
		}
		several, fast := simulate(t, test.w, test.concurrency)
		faster, more := slow.Seconds()/fast.Seconds(), float64(several)/float64(one)
		t.Logf("%s: %d requests one at a time; at %d %d (%.2f), %.1f times as fast", test.name, one, test.concurrency, several, more, faster)
		most := time.Duration(float64(slow) / test.faster)
		if fast > most || more > test.more {
			t.Errorf("it took %v; expected %v with %.2f of the requests", fast, most, test.more)
		}
	}
}

// What callers do by mistake with a pager ends in an error, never in a hang.

func TestAPagerIsRangedOverByOneLoopAtATime(t *testing.T) {
	w := dense(200, 60_000)
	for _, concurrency := range []int{1, 4} {
		p := w.client(t).Races.Results(horseracing.ResultsQuery{Concurrency: concurrency})
		n := 0
		for _, err := range p.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 15 {
				if _, err := p.Take(t.Context(), 15); !errors.Is(err, horseracing.ErrInvalidArgument) {
					t.Errorf("at %d: %v", concurrency, err)
				}
			}
		}
		if n != 200 {
			t.Errorf("at %d: %d entries", concurrency, n)
		}
	}
}

// A history has no end, memory has: a walk keeps none of the races that it yielded.
func TestALongWalkKeepsNothingOfWhatItYielded(t *testing.T) {
	w := dense(3_000, 60_000)
	for name, walk := range map[string]func(*horseracing.Client) *horseracing.Pager[horseracing.Race]{
		"by time, four at once": func(c *horseracing.Client) *horseracing.Pager[horseracing.Race] {
			return c.Races.Results(horseracing.ResultsQuery{Concurrency: 4})
		},
		"by offset": func(c *horseracing.Client) *horseracing.Pager[horseracing.Race] {
			return c.Races.ResultsV1(horseracing.OffsetQuery{})
		},
	} {
		var yielded []weak.Pointer[horseracing.Race]
		pager := walk(w.client(t))
		for race, err := range pager.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if yielded = append(yielded, weak.Make(race)); len(yielded) != 2_500 {
				continue
			}
			runtime.GC()
			runtime.GC() // what finalizers held
			alive := 0
			for _, p := range yielded {
				if p.Value() != nil {
					alive++
				}
			}
			if alive > 100 {
				t.Errorf("%s: %d of %d races that were yielded are held", name, alive, len(yielded))
			}
		}
		if cursor := pager.Cursor().String(); len(yielded) != 3_000 || len(cursor) > 1500 { // by offset, of forty ids and starts
			t.Errorf("%s: %d races, a cursor of %d bytes", name, len(yielded), len(cursor))
		}
	}
}
