package horseracing

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

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
