package peers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/adaptivethrottler"
	"github.com/failsafe-go/failsafe-go/failsafehttp"

	"github.com/horseracing-go/horseracing/horseracingtest"
)

// crawlFailsafe retries for ten minutes, as long as a walk does, with
// failsafe-go's policy for HTTP; each attempt passes the policy that shed
// returns.
func crawlFailsafe(shed func() failsafe.Policy[*http.Response]) crawler {
	return func(ctx context.Context, fake *horseracingtest.Server, via *http.Client, pages *pages) {
		retry := failsafehttp.NewRetryPolicyBuilder().
			WithBackoff(time.Second, 30*time.Second).WithJitterFactor(0.25).
			WithDelayFunc(retryAfterAtLeast).
			WithMaxRetries(-1).WithMaxDuration(10 * time.Minute).
			OnRetryScheduled(func(e failsafe.ExecutionScheduledEvent[*http.Response]) {
				if resp := e.LastResult(); resp != nil {
					resp.Body.Close() // the policy does not
				}
			}).Build()
		client := &http.Client{Transport: failsafehttp.NewRoundTripper(via.Transport, retry, shed())}
		pages.each(ctx, func() error {
			resp, err := client.Do(request(ctx, fake))
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				return fmt.Errorf("status %d", resp.StatusCode)
			}
			_, err = io.Copy(io.Discard, resp.Body)
			return err
		})
	}
}

// retryAfterAtLeast is the library's delay for a response with Retry-After,
// raised by what a jitter of a quarter can take from it.
func retryAfterAtLeast(exec failsafe.ExecutionAttempt[*http.Response]) time.Duration {
	demanded := failsafehttp.DelayFunc(exec)
	if demanded < 0 {
		return demanded // the backoff
	}
	return demanded * 4 / 3
}

// limiterOfFailsafe learns how many requests to have in flight from how long
// they take, and queues the others.
func limiterOfFailsafe() failsafe.Policy[*http.Response] {
	return adaptivelimiter.NewBuilder[*http.Response]().WithLimits(1, crawlWorkers, crawlWorkers).WithQueueing(crawlWorkers, crawlWorkers).Build()
}

// throttlerOfFailsafe holds back a share of the requests, which grows with the
// share that was refused within a minute; the numbers are those of its
// documentation.
func throttlerOfFailsafe() failsafe.Policy[*http.Response] {
	return adaptivethrottler.NewBuilder[*http.Response]().
		HandleIf(func(resp *http.Response, _ error) bool {
			return resp != nil && resp.StatusCode == http.StatusTooManyRequests
		}).
		WithFailureRateThreshold(0.1, 5, time.Minute).Build()
}
