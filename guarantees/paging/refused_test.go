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

// refusing is a client of a service that refuses what isRefused says, and otherwise lists one race.
func refusing(t *testing.T, retryAfter string, isRefused func(body string) bool) (c *horseracing.Client, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	return double.Client(t, func(req *http.Request) (*http.Response, error) {
		requests.Add(1)
		time.Sleep(20 * time.Millisecond)
		var body []byte
		if req.Body != nil { // of a page
			body = double.Must(io.ReadAll(req.Body))
		}
		switch {
		case isRefused(string(body)) && retryAfter == "":
			return double.Respond(429, "")(req)
		case isRefused(string(body)):
			return double.Respond(429, "", "Retry-After: "+retryAfter)(req)
		case strings.Contains(string(body), `"start_time_from":0`) || strings.Contains(string(body), `"start_time_from":-`):
			return double.Respond(200, "[]")(req)
		}
		return double.Respond(200, `[{"main_race_id":1,"start_time":1,"tier":"Omega"}]`)(req)
	}), requests
}

// TestALoopThatIsRefusedEverythingEndsAfterAnHour with the refusal, and continues when it is ranged over again.
func TestALoopThatIsRefusedEverythingEndsAfterAnHour(t *testing.T) {
	for retryAfter, most := range map[string]time.Duration{"": time.Minute, "1": time.Minute, "0.05": time.Minute, "1800": time.Second, "86400": time.Second} {
		double.Run(t, "Retry-After "+retryAfter, func(t *testing.T) {
			isUp := false
			c, requests := refusing(t, retryAfter, func(string) bool { return !isUp })
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

// TestAFollowerYieldsTheRefusalAfterEachHour in which everything was refused, and polls on.
func TestAFollowerYieldsTheRefusalAfterEachHour(t *testing.T) {
	double.Run(t, "a day", func(t *testing.T) {
		c, requests := refusing(t, "1", func(string) bool { return true })
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		errs := 0
		for _, err := range c.Races.Follow(horseracing.FollowQuery{}).All(ctx) {
			double.Error(t, "the loop", horseracing.ErrRateLimited, "status 429", err)
			errs++
		}
		double.FailIf(t, errs < 20 || errs > 23 || requests.Load() > 2000, "%d errors, %d requests", errs, requests.Load())
	})
}

// TestALoopWaitsWhileItsListingIsAcceptedNowAndThen, although its own page is not.
func TestALoopWaitsWhileItsListingIsAcceptedNowAndThen(t *testing.T) {
	double.Run(t, "a poll each 50 minutes", func(t *testing.T) {
		c, _ := refusing(t, "", func(body string) bool { return strings.Contains(body, `"tier":2`) })
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
