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

// Behind a limit that is announced nothing is refused, as much is sent as it allows, and
// a crawl leaves something to a single call.
func TestAnAnnouncedLimitIsUsedAndNeverExceeded(t *testing.T) {
	for name, test := range map[string]struct {
		limit horseracingtest.RequestLimit
		used  float64 // of six requests a second, at least
	}{
		"window":  {horseracingtest.RequestLimit{PerWindow: 60, Window: 10 * time.Second, Headers: true}, 0.9},
		"bucket":  {horseracingtest.RequestLimit{PerSecond: 6, Burst: 60, Headers: true}, 0.9},
		"sliding": {horseracingtest.RequestLimit{PerWindow: 60, Window: 10 * time.Second, Sliding: true, Headers: true}, 0.45}, // the end is that of its last request
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now), horseracingtest.WithLatency(20*time.Millisecond),
					horseracingtest.WithRequestLimit(test.limit), horseracingtest.WithHistory(6000))
				defer fake.Close()
				client := fake.Client()
				if _, err := client.Races.Open(t.Context()); err != nil { // nothing is known before the first response
					t.Fatal(err)
				}
				var calls sync.WaitGroup
				started := time.Now()
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
				for _, r := range fake.Requests() {
					if r.Status != http.StatusOK && r.Status != 0 { // canceled with the loop
						t.Fatalf("status %d after %v", r.Status, r.Time.Sub(started))
					}
				}
				t.Logf("%d requests in %v", fake.RequestCount(), time.Since(started))
				if n, took := float64(fake.RequestCount()), time.Since(started); n/took.Seconds() < 6*test.used {
					t.Errorf("%.0f requests in %v", n, took)
				}
			})
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
		if !ok || !errors.Is(err, horseracing.ErrRateLimited) || !strings.Contains(err.Error(), "not sent, because the service announced that it accepts no more requests until ") || api.RetryAfter != 3000*time.Second || len(s.Requests()) != 1 || time.Since(started) != 0 {
			t.Errorf("%v after %v and %d requests", err, time.Since(started), len(s.Requests()))
		}
	})
}
