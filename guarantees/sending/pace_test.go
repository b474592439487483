package sending_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
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

// TestARefusalHoldsAllCalls until its Retry-After, and Pace reports it.
func TestARefusalHoldsAllCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := double.Play(double.Respond(429, "", "Retry-After: 10"), double.Respond(200, "[]"))
		c := s.Client(t)
		started := time.Now()
		var calls sync.WaitGroup
		for i := range 5 {
			calls.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				if _, err := c.Races.Open(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(5 * time.Second)
		if p := c.Pace(); p.Waiting != 5 || !p.Until.Equal(started.Add(10*time.Second)) {
			t.Errorf("%+v", p)
		}
		calls.Wait()
		for i, r := range s.Requests() {
			if after := r.At.Sub(started); i > 0 && after < 10*time.Second {
				t.Errorf("request %d was sent after %v", i, after)
			}
		}
	})
}

// TestACallDoesNotWaitForALongRetryAfterOfItsRoute: longer than MaxWait. A
// registration is sent: it shows whether the refusal is for all routes.
func TestACallDoesNotWaitForALongRetryAfterOfItsRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := double.Play(double.Respond(429, "", "Retry-After: 60"), double.Respond(200, "{}"))
		c := s.Client(t)
		double.OpenRaces(t.Context(), c)
		for i, after := range []time.Duration{10 * time.Second, 20 * time.Second} {
			time.Sleep(10 * time.Second)
			started := time.Now()
			err := double.OpenRaces(t.Context(), c)
			api, ok := errors.AsType[*horseracing.APIError](err)
			if !ok || !errors.Is(err, horseracing.ErrRateLimited) || api.RetryAfter != time.Minute-after {
				t.Errorf("a read: %v", err)
			}
			if took := time.Since(started); took != 0 || len(s.Requests()) != 1+i {
				t.Errorf("a read: %d requests, after %v", len(s.Requests()), took)
			}
			if err := double.Register(t.Context(), c); err != nil || time.Since(started) != 0 {
				t.Errorf("a registration: %v, after %v", err, time.Since(started))
			}
		}
	})
}

// TestAnHourOfARegistrationStopsNoBoard: a Retry-After holds its own route, and another one for a tenth
// of a second.
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

// TestA503OfARegistrationInformsThePaceAndStaysUnknown.
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

// TestRefusalsTakeNothingFromTheBudget, however many there are, and the
// service gets few requests.
func TestRefusalsTakeNothingFromTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := double.Play(double.Respond(429, ""))
		c := s.Client(t)
		for range 100 {
			if err := double.OpenRaces(t.Context(), c); !errors.Is(err, horseracing.ErrRateLimited) || strings.Contains(err.Error(), "budget") {
				t.Fatal(err)
			}
		}
		if n := len(s.Requests()); n <= 220 { // the budget would allow 200
			t.Errorf("%d requests for 100 calls, want about 3 each", n)
		}
		for i, wait := range s.Waits()[50:] {
			if wait < 4*time.Second {
				t.Errorf("request %d came after %v", 50+i, wait)
			}
		}
	})
}

// TestAWithheldRetryIsReported in the log.
func TestAWithheldRetryIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, down := range map[string]double.Step{"a status": double.Respond(500, ""), "a broken connection": double.Broken(double.ErrReset)} {
			var log bytes.Buffer
			c := double.Play(down).Client(t, horseracing.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			var err error
			for range 100 {
				err = double.OpenRaces(t.Context(), c)
			}
			if err == nil || !strings.Contains(log.String(), "retry budget is spent") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// behind runs the test in a bubble, with a fake that limits requests.
func behind(t *testing.T, limits []horseracingtest.RequestLimit, history int, test func(*testing.T, *horseracingtest.Server)) {
	double.Bubble(t, test, horseracingtest.WithHistory(history), horseracingtest.WithSchedule(0), horseracingtest.WithRequestLimit(limits...))
}

// TestWalksFinishBehindLimits: 16 requests in flight, and no error.
func TestWalksFinishBehindLimits(t *testing.T) {
	for name, limit := range map[string]horseracingtest.RequestLimit{
		"20 a second":                     {PerSecond: 20, Burst: 5},
		"60 in 10 s":                      {PerWindow: 60, Window: 10 * time.Second},
		"60 in 10 s, sliding, with dates": {PerWindow: 60, Window: 10 * time.Second, Sliding: true, RetryAfter: "date"},
		"4 in flight":                     {InFlight: 4},
		"refusals count":                  {PerWindow: 60, Window: 10 * time.Second, CountRefused: true},
	} {
		t.Run(name, func(t *testing.T) {
			behind(t, []horseracingtest.RequestLimit{limit}, 1500, func(t *testing.T, fake *horseracingtest.Server) {
				c, n := fake.Client(), 0
				for _, err := range c.Races.Results(horseracing.ResultsQuery{Concurrency: 16}).All(t.Context()) {
					if err != nil {
						t.Fatalf("after %d races: %v", n, err)
					}
					n++
				}
				if n < 1500 {
					t.Errorf("%d races", n)
				}
			})
		})
	}
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
		t.Run(name, func(t *testing.T) {
			behind(t, setup.limit, 5000, func(t *testing.T, fake *horseracingtest.Server) {
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
			})
		})
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
