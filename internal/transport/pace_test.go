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
		patience := &Patience{Most: 10 * time.Second}
		var pages sync.WaitGroup
		for range 100 {
			pages.Go(func() {
				page := request(http.MethodGet)
				page.Priority, page.Patience = pace.Walk, patience
				started := time.Now()
				r := c.Do(t.Context(), page)
				if took := time.Since(started); r.Status == http.StatusOK || took < 10*time.Second || took > 15*time.Second {
					t.Errorf("a page ended after %v with status %d", took, r.Status)
				}
			})
		}
		pages.Wait()
	})
}
