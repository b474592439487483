package following_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// A race that is listed a year ahead, without a result, is held back, and does not move what was
// settled, also if the local clock is behind that of the service.
func TestARaceInTheFutureHoldsUpNoOther(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"the clocks agree": 0, "the service's clock is two years ahead": 2 * 365 * 24 * time.Hour} {
		for what, since := range map[string]bool{"since an hour ago": true, "from now on": false} {
			double.RunBubble(t, name+", "+what, func(t *testing.T, fake *horseracingtest.Server) {
				fake.Advance(ahead)
				fake.AddRaces(double.Finished(1, ahead-2*time.Hour, ahead-59*time.Minute, ahead-time.Minute)...)
				query, want := horseracing.FollowQuery{}, once(100, 104)
				if since {
					query.Since, want = fake.Now().Add(-time.Hour), once(2, 3, 100, 104)
				}
				newest := fmt.Sprintf(`[{"main_race_id":9,"start_time":%d,"participants":[{"number":1}]}]`, fake.Now().AddDate(1, 0, 0).UnixMilli())
				fake.Handle("GET "+double.ResultsPath, func(r horseracingtest.Request) (horseracingtest.Response, bool) {
					return horseracingtest.Response{Status: http.StatusOK, Body: newest}, !bytes.Contains(r.Body, []byte("start_time_from"))
				})
				client := fake.Client()
				var f followed
				f.run(t, client, query, 10*time.Minute)
				for i := range horseracing.RaceID(5) {
					fake.AddRaces(double.Finished(100+i, ahead-time.Duration(5-i)*time.Minute)...)
					f.run(t, client, query, 10*time.Minute)
				}
				double.Equal(t, "races", want, f.times)
				double.Equal(t, "errors", 0, len(f.errors))
			}, horseracingtest.WithHistory(0), horseracingtest.WithSchedule(0))
		}
	}
}

// Of a past of any length few races are held: 8,000 and 32 MiB at most, and enough that few windows
// have to be read.
func TestFollowHoldsAtMostEightThousandRaces(t *testing.T) {
	double.UnlessShort(t)
	races := double.Worlds(15_000, 30_000, 0)
	starts := make([]int64, races) // oldest first: busy days, then quiet weeks
	random, at := rand.New(rand.NewPCG(3, 3)), int64(1_500_000_000_000)
	for i := range starts {
		pace := []int64{20_000, 200_000, 20_000_000, 2_000_000}[i/777%4]
		at += 1 + random.Int64N(2*pace)
		starts[i] = at
	}
	slices.Reverse(starts)
	horses := strings.Repeat(`{"number":123456,"total":61.123456789,"lane":7},`, 11) + `{"number":7,"total":60,"lane":1}`
	for _, concurrency := range []int{1, 8} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			listed := map[int]bool{}
			pages := double.Pages(races, func(i int) int64 { return starts[i] }, func(i int) string {
				mu.Lock()
				defer mu.Unlock()
				listed[i] = true
				return fmt.Sprintf(`{"main_race_id":%d,"start_time":%d,"final_order":[0,1],"participants":[%s]}`, races-i, starts[i], horses)
			})
			client := double.Connect(t, double.Service, &http.Client{Transport: double.TripFunc(func(req *http.Request) (*http.Response, error) {
				time.Sleep(20 * time.Millisecond)
				return pages(req)
			})})
			before, n, ahead, heap := liveHeap(), 0, 0, uint64(0)
			for race := range double.Each(t, client.Races.Follow(horseracing.FollowQuery{Since: time.UnixMilli(1), Concurrency: concurrency}).CatchUp(t.Context())) {
				if n++; race.MainRaceID != horseracing.RaceID(n) {
					t.Fatalf("race %d came as number %d", race.MainRaceID, n)
				}
				mu.Lock()
				ahead = max(ahead, len(listed)-n)
				mu.Unlock()
				if n%3_000 == 1 {
					heap = max(heap, liveHeap()-before)
				}
			}
			t.Logf("%d at once: %d races, at most %d read ahead, a live heap of %.1f MiB", concurrency, n, ahead, float64(heap)/(1<<20))
			if n != races || ahead < 2_000 || ahead > 8_000 || heap > 32<<20 {
				t.Errorf("that is not %d races, 2,000 to 8,000 read ahead, and at most 32 MiB", races)
			}
		})
	}
}

func liveHeap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers held
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
