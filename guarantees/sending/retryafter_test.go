package sending_test

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestRetryAfterIsHonouredUpToMaxWait(t *testing.T) {
	const never = time.Duration(math.MaxInt64)
	inBubble := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // where synctest's clock begins
	for _, test := range []struct {
		header   string
		wait     time.Duration // at least, and up to a tenth more; 0: no more than a random first wait
		demanded time.Duration // more than MaxWait: returned, not slept
	}{
		{"3", 3 * time.Second, 0},
		{"10", 10 * time.Second, 0},
		{inBubble.Add(4 * time.Second).Format(http.TimeFormat), 4 * time.Second, 0},
		{"11", 0, 11 * time.Second},
		{"Fri, 31 Dec 9999 23:59:59 GMT", 0, never}, // would overflow Sub
		{"", 0, 0},
	} {
		for _, status := range []int{429, 503} {
			t.Run(fmt.Sprint(test.header[:min(len(test.header), 30)], " ", status), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := double.Play(double.Respond(status, "", "Retry-After: "+test.header), double.Respond(200, "[]"))
					policy := horseracing.Retry{Max: 1, MinWait: 10 * time.Millisecond, MaxWait: 10 * time.Second}
					started := time.Now()
					_, err := s.Client(t, horseracing.WithRetry(policy)).Races.Open(t.Context())
					if test.demanded > 0 {
						var api *horseracing.APIError
						if !errors.As(err, &api) || api.StatusCode != status || api.RetryAfter != test.demanded {
							t.Errorf("got %v", err)
						}
						if took := time.Since(started); took != 0 || len(s.Requests()) != 1 {
							t.Errorf("returned after %v and %d requests, want at once", took, len(s.Requests()))
						}
						return
					}
					if err != nil || len(s.Waits()) != 1 {
						t.Fatalf("%d requests, %v", len(s.Requests()), err)
					}
					if got := s.Waits()[0]; got < test.wait || got > max(test.wait+test.wait/10, policy.MinWait) {
						t.Errorf("waited %v, want %v", got, test.wait)
					}
				})
			})
		}
	}
}

// Clients that were refused together must not come back together.
func TestWaitsThatARetryAfterSetsAreSpreadUpwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 200
		var mu sync.Mutex
		came := map[time.Duration]bool{}
		var earliest, latest time.Duration = math.MaxInt64, 0
		var work sync.WaitGroup
		for range workers {
			work.Go(func() {
				s := double.Play(double.Respond(429, "", "Retry-After: 10"), double.Respond(200, "[]"))
				if _, err := s.Client(t).Races.Open(t.Context()); err != nil {
					t.Error(err)
				}
				wait := s.Waits()[0]
				mu.Lock()
				defer mu.Unlock()
				came[wait] = true
				earliest, latest = min(earliest, wait), max(latest, wait)
			})
		}
		work.Wait()
		if len(came) < workers*9/10 || earliest < 10*time.Second || latest > 11*time.Second || latest-earliest < 900*time.Millisecond {
			t.Errorf("%d workers came back in %d instants from %v to %v", workers, len(came), earliest, latest)
		}
	})
}
