package paging_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
)

// refusing is a client of a service that refuses what isRefused says, with header lines, and otherwise lists one race.
func refusing(t *testing.T, isRefused func(body string) bool, header ...string) (c *horseracing.Client, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	list := double.Pages(1, func(int) int64 { return 1 }, func(int) string { return `{"main_race_id":1,"start_time":1}` })
	return double.Client(t, func(req *http.Request) (*http.Response, error) {
		requests.Add(1)
		time.Sleep(20 * time.Millisecond)
		body := string(double.Must(io.ReadAll(req.Body)))
		if isRefused(body) {
			return double.Respond(http.StatusTooManyRequests, "", header...)(req)
		}
		req.Body = io.NopCloser(strings.NewReader(body))
		return list(req)
	}), requests
}

// TestALoopThatIsRefusedEverythingEndsAfterAnHour with the refusal, and continues when it is ranged over again.
func TestALoopThatIsRefusedEverythingEndsAfterAnHour(t *testing.T) {
	for retryAfter, most := range map[string]time.Duration{"": time.Minute, "1": time.Minute, "0.05": time.Minute, "1800": time.Second, "86400": time.Second} {
		double.Run(t, "Retry-After "+retryAfter, func(t *testing.T) {
			isUp := false
			c, requests := refusing(t, func(string) bool { return !isUp }, "Retry-After: "+retryAfter)
			pager := c.Races.Results(horseracing.ResultsQuery{Concurrency: 4})
			for range 2 {
				began, before := time.Now(), requests.Load()
				_, err := pager.Take(t.Context(), 1)
				took, sent := time.Since(began), requests.Load()-before
				double.Error(t, "the loop", horseracing.ErrRateLimited, "status 429", err)
				double.FailIf(t, took < time.Hour || took > time.Hour+most || sent > 100, "it took %v and %d requests", took, sent)
			}
			isUp = true
			races, err := pager.Take(t.Context(), 1)
			double.FailIf(t, len(races) != 1 || err != nil, "%d races, %v", len(races), err)
		})
	}
}

// TestALoopWaitsWhileItsListingIsAcceptedNowAndThen, although its own page is not.
func TestALoopWaitsWhileItsListingIsAcceptedNowAndThen(t *testing.T) {
	double.Run(t, "a poll each 50 minutes", func(t *testing.T) {
		c, _ := refusing(t, func(body string) bool { return strings.Contains(body, `"tier":2`) })
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Hour)
		var polls sync.WaitGroup
		defer polls.Wait()
		defer cancel()
		polls.Go(func() {
			for range 5 {
				time.Sleep(50 * time.Minute)
				for _, err := range c.Races.Follow(horseracing.FollowQuery{}).CatchUp(ctx) {
					double.FailIf(t, ctx.Err() == nil, "a poll: %v", err)
				}
			}
		})
		_, err := c.Races.Results(horseracing.ResultsQuery{Tier: 2}).Take(ctx, 1)
		double.FailIf(t, !errors.Is(err, context.DeadlineExceeded), "the loop: %v", err)
	})
}
