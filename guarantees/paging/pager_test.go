package paging_test

import (
	"context"
	"errors"
	"fmt"
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
	v2 := func(q horseracing.ResultsQuery) func(*horseracing.Client, int) *horseracing.Pager[horseracing.Race] {
		return func(c *horseracing.Client, concurrency int) *horseracing.Pager[horseracing.Race] {
			q.Concurrency = concurrency
			return c.Races.Results(q)
		}
	}
	v1 := func(q horseracing.OffsetQuery) func(*horseracing.Client, int) *horseracing.Pager[horseracing.Race] {
		return func(c *horseracing.Client, _ int) *horseracing.Pager[horseracing.Race] { return c.Races.ResultsV1(q) }
	}
	older := &world{}
	for i := range 60 {
		older.add(700_000_000 - int64(i)*1000)
	}
	byTime, byOffset := older.client(t).Races.Results(horseracing.ResultsQuery{}), older.client(t).Races.ResultsV1(horseracing.OffsetQuery{})
	for _, p := range []*horseracing.Pager[horseracing.Race]{byTime, byOffset} {
		if _, err := p.Take(t.Context(), 45); err != nil {
			t.Fatal(err)
		}
	}
	walks := map[string]func(*horseracing.Client, int) *horseracing.Pager[horseracing.Race]{
		"v2":        v2(horseracing.ResultsQuery{}),
		"v2 before": v2(horseracing.ResultsQuery{Before: time.UnixMilli(800_000_001)}),
		"v2 resume": v2(horseracing.ResultsQuery{Resume: byTime.Cursor()}),
		"tier":      v2(horseracing.ResultsQuery{Tier: 3}),
		"v1 resume": v1(horseracing.OffsetQuery{Resume: byOffset.Cursor()}),
	}
	for _, offset := range []int{0, 1, 3, 7, 8, 9, 12, 1000} {
		walks[fmt.Sprintf("v1 from %d", offset)] = v1(horseracing.OffsetQuery{Offset: offset})
	}
	for _, size := range []int{500, 10, 9, 5, 3, 2, 1} {
		for _, apart := range []int64{1000, 0} {
			for _, concurrency := range []int{1, 2, 4, 8, 16, 64} {
				for name, walk := range walks {
					if isOffset, isResumed := strings.HasPrefix(name, "v1"), name == "v2 resume"; !isOffset && !isResumed && (apart == 0 || size == 1) {
						continue // one instant: the page shows all of it, or the tie comes first
					}
					w := &world{ignoreBody: true, delay: 20 * time.Millisecond}
					for i := range size {
						w.add(800_000_000 - int64(i)*apart)
					}
					var err error
					synctest.Test(t, func(t *testing.T) {
						_, err = walk(w.client(t), concurrency).Take(t.Context(), 10_000)
					})
					if !errors.Is(err, horseracing.ErrBodyIgnored) || w.requests > 12 {
						t.Errorf("%s, %d entries %d ms apart, %d at once: %v after %d requests", name, size, apart, concurrency, err, w.requests)
					}
				}
			}
		}
	}
}

func TestTakeYieldsWhatIsThere(t *testing.T) {
	w := dense(47, 1000)
	p := w.client(t).Races.Results(horseracing.ResultsQuery{})
	for _, n := range []int{0, 1, 20, 100} {
		if _, err := p.Take(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if rest, err := p.Take(t.Context(), 5); err != nil || len(rest) != 0 {
		t.Errorf("behind the end: %d entries, %v", len(rest), err)
	}
	one := w.client(t).Races.Results(horseracing.ResultsQuery{})
	w.requests = 0
	one.All(t.Context())
	if w.requests != 0 {
		t.Errorf("%d requests before it is ranged over", w.requests)
	}
	if _, err := one.Take(t.Context(), 10); err != nil || w.requests != 1 {
		t.Errorf("ten entries took %d requests (%v)", w.requests, err)
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

func TestManyRacesOnTheNewestInstantAreNoIgnoredBody(t *testing.T) {
	w := &world{}
	for range 200 {
		w.starts = append(w.starts, 1_700_000_000_000)
	}
	for i := range int64(20) {
		w.starts = append(w.starts, 1_699_999_000_000-i)
	}
	w.numbered()
	if got := collect(t, w.client(t).Races.ResultsV1(horseracing.OffsetQuery{})); len(got) != 220 {
		t.Errorf("%d of 220 races", len(got))
	}
}

// A history has no end, memory has: what a walk keeps of the races it handed
// out does not grow with them.
func TestALongWalkKeepsNothingOfWhatItYielded(t *testing.T) {
	double.UnlessShort(t)
	const races, early = 30_000, 3_000
	start := func(i int) int64 { return 1_700_000_000_000 - int64(i/3)*60_000 } // three a minute
	listing := double.Pages(races, start, func(i int) string { return fmt.Sprintf(`{"main_race_id":%d,"start_time":%d}`, races-i, start(i)) })
	for name, walk := range map[string]func(*horseracing.Client) *horseracing.Pager[horseracing.Race]{
		"by time, one at a time": func(c *horseracing.Client) *horseracing.Pager[horseracing.Race] {
			return c.Races.Results(horseracing.ResultsQuery{})
		},
		"by time, four at once": func(c *horseracing.Client) *horseracing.Pager[horseracing.Race] {
			return c.Races.Results(horseracing.ResultsQuery{Concurrency: 4})
		},
		"by offset": func(c *horseracing.Client) *horseracing.Pager[horseracing.Race] {
			return c.Races.ResultsV1(horseracing.OffsetQuery{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := double.Connect(t, double.Service, &http.Client{Transport: double.TripFunc(listing)})
			pager, n := walk(c), 0
			var before uint64
			for _, err := range pager.All(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				switch n++; n {
				case early:
					before = double.LiveHeap()
				case races - early:
					if grown := int64(double.LiveHeap() - before); grown > 1<<20 {
						t.Errorf("%d KiB more are held after %d races than after %d", grown>>10, n, early)
					}
				}
			}
			if n != races {
				t.Errorf("%d races of %d", n, races)
			}
			if cursor := pager.Cursor().String(); len(cursor) > 1500 { // by offset, of forty ids and starts
				t.Errorf("a cursor of %d bytes", len(cursor))
			}
		})
	}
}
