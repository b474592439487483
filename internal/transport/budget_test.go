package transport

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// load is what calls made of a service that fails at random.
type load struct{ calls, requests, failed int }

func (l load) String() string {
	return fmt.Sprintf("%.3f requests a call, %.3f %% of the calls failed", float64(l.requests)/float64(l.calls), 100*float64(l.failed)/float64(l.calls))
}

// loadOf returns the load of twenty callers, each with a call a second for ten minutes,
// while a share of the requests fails.
func loadOf(t *testing.T, cost int, share float64) (l load) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(func(*http.Request) (*http.Response, error) {
			time.Sleep(50 * time.Millisecond)
			if rand.Float64() < share {
				return respond(http.StatusInternalServerError), nil
			}
			return respond(http.StatusOK), nil
		})
		client.policy.budget = newBudget(cost)
		end := time.Now().Add(10 * time.Minute)
		var mu sync.Mutex
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() {
				for time.Now().Before(end) {
					r := client.Do(t.Context(), request(http.MethodGet))
					mu.Lock()
					l.calls++
					l.requests += r.Attempts()
					if !r.IsSuccess() {
						l.failed++
					}
					mu.Unlock()
					time.Sleep(time.Second)
				}
			})
		}
		callers.Wait()
	})
	return l
}

// TestTheCostOfARetry shows why a retry costs 5 tokens and not the 14 of the AWS SDKs.
// Run it with -v.
func TestTheCostOfARetry(t *testing.T) {
	for _, share := range []float64{.01, .03, .05, .5, 1} {
		ours, aws := loadOf(t, retryCost, share), loadOf(t, 14, share)
		t.Logf("%3.0f %% fail, %d tokens: %v; 14 tokens: %v", 100*share, retryCost, ours, aws)
		switch {
		case share <= .05 && ours.failed > 3: // of 11,000
			t.Errorf("at %v: %v", share, ours)
		case share == .5 && ours.failed > aws.failed*9/10:
			t.Errorf("at %v: %v, with 14 tokens %v", share, ours, aws)
		case share == 1 && ours.requests > ours.calls*101/100:
			t.Errorf("an outage: %v", ours)
		}
	}
}
