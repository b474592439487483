package sending_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// listing is a service whose listing has one page before it fails, and whose
// other routes work.
func listing(pages int, failures ...double.Step) *double.Script {
	next := 0
	return double.Play(func(r *http.Request) (*http.Response, error) {
		if !strings.HasPrefix(r.URL.Path, double.ResultsPath) {
			return double.Respond(200, "[]")(r)
		}
		next++
		if next <= pages {
			return double.Respond(200, `[{"main_race_id":1,"start_time":1700000000000}]`)(r)
		}
		return failures[min(next-pages, len(failures))-1](r)
	})
}

// TestAWalkThatIsRefusedWaitsForItsContext, for an hour or ten, and continues within a minute
// of the end of the refusals or of the last Retry-After; one that fails ends after its
// retries, and continues when it is ranged over again.
func TestAWalkThatIsRefusedWaitsForItsContext(t *testing.T) {
	rest := double.Listing(`[{"main_race_id":1,"start_time":1700000000000},{"main_race_id":2,"start_time":1600000000000}]`)
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
				end := time.Now().Add(length)
				s := listing(1, func(r *http.Request) (*http.Response, error) {
					if time.Now().Before(end) {
						return test.failure(r)
					}
					return rest(r)
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

// TestReadsReturnIfTheServiceRefusesEverything: each of a hundred within about MaxWait.
func TestReadsReturnIfTheServiceRefusesEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const maxWait = 15 * time.Second
		c := double.Play(double.Respond(429, "")).Client(t, horseracing.WithRetry(horseracing.Retry{MaxWait: maxWait}))
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() {
				started := time.Now()
				err := double.OpenRaces(t.Context(), c)
				if took := time.Since(started); !errors.Is(err, horseracing.ErrRateLimited) || took > maxWait+5*time.Second {
					t.Errorf("after %v: %v", took, err)
				}
			})
		}
		calls.Wait()
	})
}

// TestACallInLineReturnsWhenALongRetryAfterArrives: a registration too, and it was
// never sent.
func TestACallInLineReturnsWhenALongRetryAfterArrives(t *testing.T) {
	for name, call := range map[string]func(context.Context, *horseracing.Client) error{"a read": double.OpenRaces, "a registration": double.Register} {
		double.Run(t, name, func(t *testing.T) {
			s := double.Play(double.Respond(429, "", "Retry-After: 10"), double.Respond(429, "", "Retry-After: 1800"))
			c := s.Client(t)
			var calls sync.WaitGroup
			for range 3 {
				calls.Go(func() { call(t.Context(), c) })
				synctest.Wait()
			}
			time.Sleep(9 * time.Second)
			calls.Go(func() {
				started := time.Now()
				err := call(t.Context(), c)
				if api, ok := errors.AsType[*horseracing.APIError](err); !ok || api.RetryAfter != 30*time.Minute || api.Attempts != 0 || errors.Is(err, horseracing.ErrOutcomeUnknown) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(started); took > 3*time.Second {
					t.Errorf("returned after %v", took)
				}
			})
			calls.Wait()
			if n := len(s.Requests()); n != 2 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestAPageThatIsRefusedForEverCostsLittle: a request in ten seconds.
func TestAPageThatIsRefusedForEverCostsLittle(t *testing.T) {
	const length = 24 * time.Hour
	for name, refusal := range map[string]double.Step{"429": double.Respond(429, ""), "429, Retry-After 1": double.Respond(429, "", "Retry-After: 1"), "503, Retry-After 20": double.Respond(503, "", "Retry-After: 20")} {
		double.Run(t, name, func(t *testing.T) {
			refused := 0
			s := double.Play(func(r *http.Request) (*http.Response, error) {
				if r.ContentLength < int64(len(`{"start_time_from":1700000000000}`)) { // the first page
					return double.Respond(200, `[{"main_race_id":1,"start_time":1700000000000}]`)(r)
				}
				refused++
				return refusal(r)
			})
			ctx := double.Within(t, length)
			c := s.Client(t)
			var polls sync.WaitGroup
			polls.Go(func() {
				for ctx.Err() == nil {
					c.Races.Results(horseracing.ResultsQuery{}).Take(ctx, 1)
					time.Sleep(10 * time.Second)
				}
			})
			results, failures := c.Races.Results(horseracing.ResultsQuery{}), 0
			for ctx.Err() == nil {
				for _, err := range results.All(ctx) {
					if err != nil {
						failures++
					}
				}
			}
			polls.Wait()
			t.Logf("%d requests of the page, %d failures, %d requests", refused, failures, len(s.Requests()))
			if refused > int(length.Seconds())/10 || failures != 1 {
				t.Errorf("%d requests of the page, %d failures", refused, failures)
			}
		})
	}
}
