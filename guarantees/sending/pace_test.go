package sending_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// TestWithoutARefusalNothingWaits: behind a service without a limit every
// request leaves at the instant at which the one before it ended.
func TestWithoutARefusalNothingWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const latency = 7 * time.Millisecond
		s := double.Play(func(r *http.Request) (*http.Response, error) {
			time.Sleep(latency)
			return double.Respond(200, "[]")(r)
		})
		c := s.Client(t)
		var calls sync.WaitGroup
		started := time.Now()
		for range 16 {
			calls.Go(func() {
				for range 10 {
					if _, err := c.Races.Open(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		calls.Wait()
		for i, r := range s.Requests() {
			if got, want := r.At.Sub(started), time.Duration(i/16)*latency; got != want {
				t.Fatalf("request %d left after %v, want %v", i, got, want)
			}
		}
		double.Equal(t, "pace", horseracing.Pace{}, c.Pace())
	})
}

// TestAnHourOfARegistrationStopsNoBoard: a Retry-After holds its own route, and another one
// for a tenth of a second.
func TestAnHourOfARegistrationStopsNoBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := double.Play(double.Respond(429, "", "Retry-After: 3600"), double.Respond(200, "[]"))
		c := s.Client(t)
		double.Register(t.Context(), c)
		started := time.Now()
		if err := double.OpenRaces(t.Context(), c); err != nil || time.Since(started) > 100*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(started), err)
		}
		if err := double.Register(t.Context(), c); !errors.Is(err, horseracing.ErrRateLimited) || len(s.Requests()) != 2 {
			t.Errorf("%d requests: %v", len(s.Requests()), err)
		}
	})
}

func TestA503OfARegistrationInformsThePaceAndStaysUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := double.Play(double.Respond(503, "", "Retry-After: 5"), double.Respond(200, "{}"))
		c := s.Client(t)
		if err := double.Register(t.Context(), c); !errors.Is(err, horseracing.ErrOutcomeUnknown) || len(s.Requests()) != 1 {
			t.Fatalf("%d requests: %v", len(s.Requests()), err)
		}
		double.Register(t.Context(), c)
		double.Equal(t, "waits", []time.Duration{5 * time.Second}, s.Waits())
	})
}

// TestARegistrationWaitsOutA503OfAnotherRoute, because its outcome would be unknown after a 503.
func TestARegistrationWaitsOutA503OfAnotherRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := double.Play(double.Respond(503, "", "Retry-After: 10"), double.Respond(200, "{}"))
		c := s.Client(t, double.NoRetries())
		_, err := double.OpenRaces(t.Context(), c), double.Register(t.Context(), c)
		if err != nil {
			t.Error(err)
		}
		double.Equal(t, "waits", []time.Duration{10 * time.Second}, s.Waits())
	})
}

// TestNobodyQueuesBehindACrawl: a registration, and a read, take two slots at most.
func TestNobodyQueuesBehindACrawl(t *testing.T) {
	for name, setup := range map[string]struct {
		limit []horseracingtest.RequestLimit
		opts  []horseracing.Option
	}{
		"of the service":   {[]horseracingtest.RequestLimit{{PerSecond: 2, Burst: 2}}, nil},
		"of WithRateLimit": {nil, []horseracing.Option{horseracing.WithRateLimit(2, 1)}},
	} {
		double.RunBubble(t, name, func(t *testing.T, fake *horseracingtest.Server) {
			c := fake.Client(setup.opts...)
			ctx, cancel := context.WithCancel(t.Context())
			var crawl sync.WaitGroup
			crawl.Go(func() {
				for _, err := range c.Races.Results(horseracing.ResultsQuery{Concurrency: 32}).All(ctx) {
					if err != nil && ctx.Err() == nil {
						t.Error(err)
					}
				}
			})
			time.Sleep(time.Minute + 130*time.Millisecond)
			for name, call := range map[string]func(context.Context, *horseracing.Client) error{"Open": double.OpenRaces, "Register": double.Register} {
				started := time.Now()
				call(ctx, c) // what comes of it is no matter here
				if took := time.Since(started); took > 1100*time.Millisecond {
					t.Errorf("%s took %v behind a crawl", name, took)
				}
				time.Sleep(7 * time.Second)
			}
			cancel()
			crawl.Wait()
		}, horseracingtest.WithHistory(5000), horseracingtest.WithSchedule(0), horseracingtest.WithRequestLimit(setup.limit...))
	}
}

// TestCtrlCEndsEveryWait at once.
func TestCtrlCEndsEveryWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := double.Play(double.Respond(429, "", "Retry-After: 3000")).Client(t)
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for _, concurrency := range []int{1, 16} {
			calls.Go(func() {
				for _, err := range c.Races.Results(horseracing.ResultsQuery{Concurrency: concurrency}).All(ctx) {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
				}
			})
		}
		time.Sleep(time.Minute)
		cancel()
		stopped := time.Now()
		calls.Wait()
		if took := time.Since(stopped); took != 0 {
			t.Errorf("the walks ended %v later", took)
		}
	})
}

// TestAWalkThatIsRefusedWaitsForItsContext, for an hour or ten, and continues within a minute
// of the end of the refusals or of the last Retry-After; one that fails ends after its
// retries, and continues when it is ranged over again.
func TestAWalkThatIsRefusedWaitsForItsContext(t *testing.T) {
	pages := double.Listing(`[{"main_race_id":1,"start_time":1700000000000},{"main_race_id":2,"start_time":1600000000000}]`)
	for name, test := range map[string]struct {
		failure double.Step
		late    time.Duration // at most, if it waits
	}{
		"429":                      {double.Respond(429, ""), time.Minute},
		"a Retry-After":            {double.Respond(429, "", "Retry-After: 1200"), 21 * time.Minute},
		"one of more than an hour": {double.Respond(503, "", "Retry-After: 7200"), 61 * time.Minute},
		"403":                      {double.Respond(403, "", "Retry-After: 60"), 2 * time.Minute},
		"500":                      {double.Respond(500, ""), 0},
		"a broken connection":      {double.Broken(double.ErrReset), 0},
		"an HTML page":             {double.Respond(200, "<!doctype html>"), 0},
	} {
		for _, length := range []time.Duration{time.Hour, 10 * time.Hour} {
			double.Run(t, fmt.Sprintf("%s for %v", name, length), func(t *testing.T) {
				end, requests := time.Now().Add(length), 0
				s := double.Play(func(r *http.Request) (*http.Response, error) {
					switch requests++; {
					case requests == 1:
						return double.Respond(200, `[{"main_race_id":1,"start_time":1700000000000}]`)(r)
					case time.Now().Before(end):
						return test.failure(r)
					}
					return pages(r)
				})
				results, began := s.Client(t).Races.Results(horseracing.ResultsQuery{}), time.Now()
				races, err := results.Take(double.Within(t, 20*time.Minute), 10)
				if isRefused := test.late > 0; len(races) != 1 || isRefused != errors.Is(err, context.DeadlineExceeded) || isRefused != (time.Since(began) == 20*time.Minute) {
					t.Errorf("%d races after %v: %v", len(races), time.Since(began), err)
				}
				if test.late == 0 {
					time.Sleep(time.Until(end))
				}
				races, err = results.Take(t.Context(), 10)
				if late := time.Since(end); err != nil || len(races) != 1 || late > test.late+time.Second {
					t.Errorf("%v late: %d races, %v", late, len(races), err)
				}
			})
		}
	}
}
