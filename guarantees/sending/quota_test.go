package sending_test

import (
	"errors"
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
		if !ok || !errors.Is(err, horseracing.ErrRateLimited) || !strings.Contains(err.Error(), "not sent, because the service refuses requests until ") || api.RetryAfter != 3000*time.Second || len(s.Requests()) != 1 || time.Since(started) != 0 {
			t.Errorf("%v after %v and %d requests", err, time.Since(started), len(s.Requests()))
		}
	})
}
