package peers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

const (
	crawlWorkers = 16
	crawlLatency = 20 * time.Millisecond
	crawlTime    = 2 * time.Minute
)

// A crawler keeps crawlWorkers requests in flight until the context ends.
type crawler func(ctx context.Context, fake *horseracingtest.Server, via *http.Client, pages *pages)

// pages is what came of the pages of a crawler: how many their caller would have
// to request again, and how long one took at most, retries included.
type pages struct {
	mu      sync.Mutex
	failed  int
	longest time.Duration
}

var crawlers = []struct {
	name  string
	crawl crawler
}{
	{"horseracing", crawlOurs},
	{"go-retryablehttp", crawlRetryable},
	{"failsafe-go, throttler", crawlFailsafe(throttlerOfFailsafe)},
	{"failsafe-go, limiter", crawlFailsafe(limiterOfFailsafe)},
}

// A limited service, and how many requests a second it lets through; zero: not measured.
var limited = []struct {
	name  string
	limit horseracingtest.RequestLimit
	rate  float64
}{
	{"50 a second, burst 10, Retry-After", horseracingtest.RequestLimit{PerSecond: 50, Burst: 10, RetryAfter: "seconds"}, 50},
	{"50 a second, burst 10", horseracingtest.RequestLimit{PerSecond: 50, Burst: 10}, 50},
	{"5 a second, burst 10", horseracingtest.RequestLimit{PerSecond: 5, Burst: 10}, 5},
	{"60 in 10 s, Retry-After", horseracingtest.RequestLimit{PerWindow: 60, Window: 10 * time.Second, RetryAfter: "seconds"}, 6},
	{"60 in 10 s", horseracingtest.RequestLimit{PerWindow: 60, Window: 10 * time.Second}, 6},
	{"600 a minute, Retry-After", horseracingtest.RequestLimit{PerWindow: 600, Window: time.Minute, RetryAfter: "seconds"}, 10},
	{"4 in flight", horseracingtest.RequestLimit{InFlight: 4}, 200},
}

// TestPaceBehindLimits prints what each client gets of what a service allows:
//
//	go test -run TestPaceBehindLimits -v .
//
// Its clock is virtual. It fails only where the SDK gives up or stays far behind.
func TestPaceBehindLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	for _, service := range limited {
		for _, client := range crawlers {
			t.Run(service.name+"/"+client.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := crawl(t.Context(), service.limit, client.crawl, crawlTime)
					share := float64(r.accepted) / service.rate / crawlTime.Seconds()
					t.Logf("%.0f %% of the limit, %.1f %% refused, %d errors, the longest page %.1f s", 100*share, r.refusedPercent(), r.failed, r.longest.Seconds())
					if client.name == "horseracing" && (r.failed > 0 || share < 0.85) {
						t.Error("too little, or not without errors")
					}
				})
			})
		}
	}
}

// BenchmarkAdaptive is the same for the adaptive mode of the AWS SDK, for ten
// seconds of real time each: its limiter spins under a virtual clock.
func BenchmarkAdaptive(b *testing.B) {
	const length = 10 * time.Second
	for _, service := range limited {
		if service.limit.Window > length {
			continue
		}
		b.Run(service.name, func(b *testing.B) {
			for b.Loop() {
				time.Sleep(time.Until(time.Now().Truncate(length).Add(length))) // a window begins; no second one may
				r := crawl(b.Context(), service.limit, crawlAdaptive, length)
				b.ReportMetric(100*float64(r.accepted)/service.rate/length.Seconds(), "%ofLimit")
				b.ReportMetric(r.refusedPercent(), "%refused")
				b.ReportMetric(float64(r.failed), "errors")
				b.ReportMetric(r.longest.Seconds(), "longest-s")
			}
		})
	}
}

type crawled struct {
	accepted, refused int64
	failed            int
	longest           time.Duration
}

func (c crawled) refusedPercent() float64 {
	return 100 * float64(c.refused) / float64(c.accepted+c.refused)
}

func crawl(ctx context.Context, limit horseracingtest.RequestLimit, by crawler, length time.Duration) crawled {
	fake := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now), horseracingtest.WithHistory(0),
		horseracingtest.WithSchedule(0), horseracingtest.WithRequestLimit(limit), horseracingtest.WithLatency(crawlLatency), horseracingtest.WithRequestLog(1))
	defer fake.Close()
	var accepted, refused atomic.Int64
	var pages pages
	inner := fake.HTTPClient().Transport
	via := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		resp, err := inner.RoundTrip(r)
		if err == nil && resp.StatusCode == http.StatusOK {
			accepted.Add(1)
		} else if err == nil {
			refused.Add(1)
		}
		return resp, err
	})}
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	by(ctx, fake, via, &pages)
	return crawled{accepted.Load(), refused.Load(), pages.failed, pages.longest}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// each runs the workers until the context ends.
func (p *pages) each(ctx context.Context, page func() error) {
	var workers sync.WaitGroup
	for range crawlWorkers {
		workers.Go(func() {
			for ctx.Err() == nil {
				begun := time.Now()
				err := page()
				p.mu.Lock()
				if err != nil && ctx.Err() == nil {
					p.failed++
				}
				p.longest = max(p.longest, time.Since(begun))
				p.mu.Unlock()
			}
		})
	}
	workers.Wait()
}

// crawlOurs walks, again and again: an empty history is one page.
func crawlOurs(ctx context.Context, fake *horseracingtest.Server, via *http.Client, pages *pages) {
	client := must(horseracing.NewClient(fake.URL, fake.APIKey, horseracing.WithHTTPClient(via)))
	pages.each(ctx, func() error {
		_, err := client.Races.Results(horseracing.ResultsQuery{}).Take(ctx, 1)
		return err
	})
}

func request(ctx context.Context, fake *horseracingtest.Server) *http.Request {
	req := must(http.NewRequestWithContext(ctx, http.MethodGet, fake.URL+"/api/v1/races/open", nil))
	req.Header.Set("X-Api-Key", fake.APIKey)
	req.Header.Set("Content-Type", "application/json")
	return req
}

func crawlRetryable(ctx context.Context, fake *horseracingtest.Server, via *http.Client, pages *pages) {
	client := retryablehttp.NewClient()
	client.HTTPClient, client.Logger = via, nil
	pages.each(ctx, func() error {
		resp, err := client.Do(must(retryablehttp.FromRequest(request(ctx, fake))))
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return err
	})
}

// throttled is an error that the adaptive mode takes for one of the pace.
type throttled struct{}

func (throttled) Error() string        { return "throttled" }
func (throttled) ErrorCode() string    { return "ThrottlingException" }
func (throttled) RetryableError() bool { return true }
func (throttled) HTTPStatusCode() int  { return http.StatusTooManyRequests }

func crawlAdaptive(ctx context.Context, fake *horseracingtest.Server, via *http.Client, pages *pages) {
	mode := retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) {
		o.StandardOptions = append(o.StandardOptions, func(o *retry.StandardOptions) { o.MaxAttempts = 10 })
	})
	pages.each(ctx, func() error {
		var err error
		for attempt := 1; attempt <= mode.MaxAttempts(); attempt++ {
			release, tokenErr := mode.GetAttemptToken(ctx)
			if tokenErr != nil {
				return tokenErr
			}
			var resp *http.Response
			if resp, err = via.Do(request(ctx, fake)); err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if resp.StatusCode == http.StatusTooManyRequests {
					err = throttled{}
				}
			}
			release(err)
			if err == nil || !errors.Is(err, throttled{}) {
				return err
			}
			wait, delayErr := mode.RetryDelay(attempt, err)
			if delayErr != nil {
				return delayErr
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(wait):
			}
		}
		return err
	})
}
