package transport

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
)

// A refusal arrives at the instant at which the patience ends, so that two things end the
// wait of each page: under the race detector the test looks at that, too.
func TestPagesThatStarveTogetherEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(func(*http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			resp := respond(http.StatusTooManyRequests)
			resp.Header.Set("Retry-After", "2")
			return resp, nil
		})
		requestPages(t, c, 100, func(status int, took time.Duration) bool {
			return status != http.StatusOK && took >= 10*time.Second && took <= 15*time.Second
		})
	})
}

// TestAPageWaitsWhileOthersOfItsListingAreAccepted: one a second is, and the patience is
// shorter than the line.
func TestAPageWaitsWhileOthersOfItsListingAreAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var last time.Time
		c := newClient(func(*http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			if time.Since(last) < time.Second {
				return respond(http.StatusTooManyRequests), nil
			}
			last = time.Now()
			return respond(http.StatusOK), nil
		})
		requestPages(t, c, 40, func(status int, _ time.Duration) bool { return status == http.StatusOK })
	})
}

// requestPages requests so many pages of one listing at once, with a patience of ten seconds.
func requestPages(t *testing.T, c *Client, n int, isRight func(status int, took time.Duration) bool) {
	patience := &Patience{Most: 10 * time.Second}
	var pages sync.WaitGroup
	for range n {
		pages.Go(func() {
			page := request(http.MethodGet)
			page.Priority, page.Patience = pace.Walk, patience
			started := time.Now()
			r := c.Do(t.Context(), page)
			if took := time.Since(started); !isRight(r.Status, took) {
				t.Errorf("a page ended after %v with status %d: %v", took, r.Status, r.Err)
			}
		})
	}
	pages.Wait()
}
