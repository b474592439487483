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

// Behind a limit that is announced nothing is refused and nine tenths are used. A single call
// is sent within a second beside a crawl.
func TestAnAnnouncedLimitIsUsedAndNeverExceeded(t *testing.T) {
	for name, limit := range map[string]horseracingtest.RequestLimit{
		"window": {PerWindow: 60, Window: 10 * time.Second, Headers: true}, "bucket": {PerSecond: 6, Burst: 60, Headers: true},
		"sliding": {PerWindow: 60, Window: 10 * time.Second, Sliding: true, Headers: true}, // the end that it announces is that of its last request
	} {
		double.RunBubble(t, name, func(t *testing.T, fake *horseracingtest.Server) {
			client, started := fake.Client(), time.Now()
			if err := double.OpenRaces(t.Context(), client); err != nil { // nothing is known before the first response
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
				called := time.Now()
				if err := double.OpenRaces(t.Context(), client); err != nil || time.Since(called) > time.Second {
					t.Errorf("a single call: %v after %v", err, time.Since(called))
				}
			}
			calls.Wait()
			refused := 0
			for _, r := range fake.Requests() {
				if r.Status != http.StatusOK && r.Status != 0 { // canceled with the loop
					refused++
				}
			}
			n := float64(fake.RequestCount())
			if used := n / time.Since(started).Seconds() / 6; used < 0.9 || float64(refused) > 0.002*n {
				t.Errorf("%.0f %% used, %d of %.0f requests refused", 100*used, refused, n)
			}
		}, horseracingtest.WithLatency(20*time.Millisecond), horseracingtest.WithRequestLimit(limit), horseracingtest.WithHistory(4000))
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
	for _, perHour := range []int{100, 300, 600, 1000}[:double.Worlds(1, 4, 1)] {
		for _, limit := range []horseracingtest.RequestLimit{{}, {Headers: true}, {Sliding: true}, {Sliding: true, Headers: true}} {
			limit.Path, limit.PerWindow, limit.Window = "/api/v2/", perHour, time.Hour
			double.RunBubble(t, fmt.Sprintf("%+v", limit), func(t *testing.T, fake *horseracingtest.Server) {
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
				if hours := n / 10 / perHour; n < 15*perHour || time.Since(started) > time.Duration(hours+2)*time.Hour {
					t.Errorf("%d races after %v", n, time.Since(started))
				}
			}, horseracingtest.WithLatency(20*time.Millisecond), horseracingtest.WithSchedule(0), horseracingtest.WithRequestLimit(limit), horseracingtest.WithHistory(15*perHour))
		}
	}
}
