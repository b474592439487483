package sending_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// TestACrawlUsesALimitAndOutlastsIt, whether the limit is announced or has to be learned. Behind one that is announced
// nothing is refused.
func TestACrawlUsesALimitAndOutlastsIt(t *testing.T) {
	const window = 10 * time.Second
	for name, test := range map[string]struct {
		limit         horseracingtest.RequestLimit
		used, refused float64 // at least of the limit, at most of the requests
	}{
		"window, announced":  {horseracingtest.RequestLimit{PerWindow: 60, Window: window, Headers: true}, 0.9, 0.002},
		"bucket, announced":  {horseracingtest.RequestLimit{PerSecond: 6, Burst: 60, Headers: true}, 0.9, 0.002},
		"sliding, announced": {horseracingtest.RequestLimit{PerWindow: 60, Window: window, Sliding: true, Headers: true}, 0.9, 0.002}, // the end that it announces is that of its last request
		"hour":               {horseracingtest.RequestLimit{PerWindow: 100, Window: time.Hour}, 0.5, 1},
		"hour, sliding":      {horseracingtest.RequestLimit{PerWindow: 100, Window: time.Hour, Sliding: true}, 0.5, 1},
		"hour, announced":    {horseracingtest.RequestLimit{PerWindow: 100, Window: time.Hour, Headers: true}, 0.5, 0.05},
	} {
		races, perSecond := double.Worlds(4000, 4000, 1000), 6.0
		if test.limit.Window == time.Hour {
			races, perSecond = 1500, 100.0/3600
		}
		double.RunBubble(t, name, func(t *testing.T, fake *horseracingtest.Server) {
			client, started := fake.Client(), time.Now()
			double.NoError(t, double.OpenRaces(t.Context(), client)) // nothing is known before the first response
			got := double.Must(client.Races.Results(horseracing.ResultsQuery{Concurrency: 4}).Take(t.Context(), races))
			double.Equal(t, "races", races, len(got))
			refused := 0
			for _, r := range fake.Requests() {
				if r.Status == http.StatusTooManyRequests {
					refused++
				}
			}
			n := float64(fake.RequestCount())
			used, share := n/time.Since(started).Seconds()/perSecond, float64(refused)/n
			double.FailIf(t, used < test.used || share > test.refused, "%.0f %% used, %.1f %% of %.0f requests refused", 100*used, 100*share, n)
		}, horseracingtest.WithLatency(20*time.Millisecond), horseracingtest.WithSchedule(0), horseracingtest.WithRequestLimit(test.limit), horseracingtest.WithHistory(races))
	}
}

// TestCallsAreSentByTheirPriority: registrations first, then reads, polls, and the pages of a walk, whatever came first.
func TestCallsAreSentByTheirPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []double.Sent
		turn, ctx := make(chan bool), t.Context()
		limiter := double.WaitFunc(func(context.Context) error { <-turn; return nil })
		c := double.Client(t, double.Noting(&sent, httpmock.NewStringResponder(200, "{}")), horseracing.WithLimiter(limiter), double.NoRetries())
		calls := []func(){ // the first one holds the turn from the beginning
			func() { c.Races.Results(horseracing.ResultsQuery{}).Take(ctx, 1) },
			func() { c.Horses.OpenForBreeding(ctx, horseracing.AsBackground()) },
			func() { c.Tournaments.Results(horseracing.ResultsQuery{}).Take(ctx, 1) },
			func() {
				for range c.Races.Watch(ctx, horseracing.WatchQuery{}) {
					break
				}
			},
			func() { c.Missions.Catalogue(ctx) },
			func() { double.Register(ctx, c) },
		}
		for _, call := range calls {
			go call()
			synctest.Wait()
		}
		var paths []string
		for i := range calls {
			turn <- true
			synctest.Wait()
			paths = append(paths, strings.TrimPrefix(sent[i].Request.URL.Path, "/api/"))
		}
		want := []string{"v1/races/register", "v1/missions", "v1/races/open", "v2/races/results", "v1/horses/breeding/open", "v1/tournaments/results"}
		double.Equal(t, "requests", want, paths)
	})
}
