package sending_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// Behind a limit that is announced nothing is refused, nine tenths are used, and a crawl
// leaves something to a single call.
func TestAnAnnouncedLimitIsUsedAndNeverExceeded(t *testing.T) {
	window := horseracingtest.RequestLimit{PerWindow: 60, Window: 10 * time.Second, Headers: true}
	sliding := window
	sliding.Sliding = true // the end that it announces is that of its last request
	for name, limit := range map[string]horseracingtest.RequestLimit{
		"window": window, "bucket": {PerSecond: 6, Burst: 60, Headers: true}, "sliding": sliding,
	} {
		double.Run(t, name, func(t *testing.T) {
			started := time.Now()
			fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now), horseracingtest.WithLatency(20*time.Millisecond),
				horseracingtest.WithRequestLimit(limit), horseracingtest.WithHistory(6000))
			defer fake.Close()
			client := fake.Client()
			if _, err := client.Races.Open(t.Context()); err != nil { // nothing is known before the first response
				t.Fatal(err)
			}
			var calls sync.WaitGroup
			calls.Go(func() {
				if races, err := client.Races.Results(horseracing.ResultsQuery{Concurrency: 4}).Take(t.Context(), 4000); err != nil || len(races) != 4000 {
					t.Errorf("%d races, %v", len(races), err)
				}
			})
			for time.Since(started) < 40*time.Second {
				time.Sleep(5 * time.Second)
				asked := time.Now()
				if _, err := client.Races.Open(t.Context()); err != nil || time.Since(asked) > time.Second {
					t.Errorf("a single call: %v after %v", err, time.Since(asked))
				}
			}
			calls.Wait()
			requests, refused := fake.Requests(), 0
			for _, r := range requests {
				if r.Status != http.StatusOK && r.Status != 0 { // canceled with the loop
					refused++
				}
			}
			n, took := float64(len(requests)), time.Since(started)
			t.Logf("%.0f requests in %v", n, took)
			if used := n / took.Seconds() / 6; used < 0.9 || float64(refused) > 0.002*n {
				t.Errorf("%.0f %% used, %d of %.0f requests refused", 100*used, refused, n)
			}
		})
	}
}

func TestACallDoesNotWaitForAQuotaThatComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := double.Play(double.Respond(200, "[]", "RateLimit-Limit: 5", "RateLimit-Remaining: 0", "RateLimit-Reset: 3000"))
		c := s.Client(t)
		started := time.Now()
		if err := double.OpenRaces(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if p := c.Pace(); !p.Until.Equal(started.Add(3000 * time.Second)) {
			t.Errorf("%+v", p)
		}
		err := double.OpenRaces(t.Context(), c)
		api, ok := errors.AsType[*horseracing.APIError](err)
		if !ok || !errors.Is(err, horseracing.ErrRateLimited) || !strings.Contains(err.Error(), "announces is used up until ") || api.RetryAfter != 3000*time.Second || len(s.Requests()) != 1 || time.Since(started) != 0 {
			t.Errorf("%v after %v and %d requests", err, time.Since(started), len(s.Requests()))
		}
	})
}

// A crawl that outlasts a limit of an hour ends with all races and without an error, whether
// the limit is announced or not. Another route is requested meanwhile.
func TestACrawlOutlastsALimitOfAnHour(t *testing.T) {
	for _, perHour := range []int{100, 300, 600, 1000} {
		for _, sliding := range []bool{false, true} {
			for _, announced := range []bool{false, true} {
				limit := horseracingtest.RequestLimit{Path: "/api/v2/", PerWindow: perHour, Window: time.Hour, Sliding: sliding, Headers: announced}
				double.RunBubble(t, fmt.Sprintf("%d, sliding %v, announced %v", perHour, sliding, announced), func(t *testing.T, fake *horseracingtest.Server) {
					client, started, n := fake.Client(), time.Now(), 0
					for _, err := range client.Races.Results(horseracing.ResultsQuery{}).All(t.Context()) {
						if err != nil {
							t.Fatalf("after %v and %d races: %v", time.Since(started), n, err)
						}
						if n++; n%1000 == 0 {
							if err := double.OpenRaces(t.Context(), client); err != nil {
								t.Errorf("Open after %v: %v", time.Since(started), err)
							}
						}
					}
					t.Logf("%d races after %v, %d requests", n, time.Since(started), len(fake.Requests()))
					if hours := n / 10 / perHour; n < 15*perHour || time.Since(started) > time.Duration(hours+2)*time.Hour {
						t.Errorf("%d races after %v", n, time.Since(started))
					}
				}, horseracingtest.WithLatency(20*time.Millisecond), horseracingtest.WithSchedule(0), horseracingtest.WithRequestLimit(limit), horseracingtest.WithHistory(15*perHour))
			}
		}
	}
}
