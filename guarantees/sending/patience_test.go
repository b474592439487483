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

// walkBesidePolls walks until it fails, and returns how long it took and the error. Beside it
// the open races are polled.
func walkBesidePolls(t *testing.T, c *horseracing.Client, patience time.Duration) (time.Duration, error) {
	t.Helper()
	if err := double.OpenRaces(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var polls sync.WaitGroup
	polls.Go(func() { c.Races.Watcher(horseracing.WatchQuery{Interval: 10 * time.Second}).Run(ctx) })
	defer polls.Wait()
	defer cancel()
	synctest.Wait() // the first poll is over, so none is accepted at the moment of the first refusal
	started := time.Now()
	_, err := c.Races.Results(horseracing.ResultsQuery{Patience: patience}).Take(t.Context(), 10)
	return time.Since(started), err
}

// TestPatienceIsThatOfTheListingItself: it counts from the last page that was
// accepted, or from the beginning of the walk, whatever else is accepted.
func TestPatienceIsThatOfTheListingItself(t *testing.T) {
	refuse := func(retryAfter string) double.Step { return double.Respond(429, "", "Retry-After: "+retryAfter) }
	for name, test := range map[string]struct {
		pages    int
		failures []double.Step
		patience time.Duration
		least    time.Duration
		more     time.Duration // that it may take
	}{
		"never accepted, 500":                 {0, []double.Step{double.Respond(500, "")}, 0, 0, 5 * time.Second},
		"never accepted, 429":                 {0, []double.Step{double.Respond(429, "")}, 0, 10 * time.Minute, time.Minute},
		"500":                                 {1, []double.Step{double.Respond(500, "")}, 0, 10 * time.Minute, time.Minute},
		"500, with a patience of two minutes": {1, []double.Step{double.Respond(500, "")}, 2 * time.Minute, 2 * time.Minute, time.Minute},
		"a broken connection":                 {1, []double.Step{double.Broken(double.ErrReset)}, time.Minute, time.Minute, time.Minute},
		"429":                                 {1, []double.Step{double.Respond(429, "")}, time.Minute, time.Minute, 15 * time.Second},
		"a Retry-After is not counted":        {1, []double.Step{refuse("1200"), double.Respond(429, "")}, time.Minute, 21 * time.Minute, 15 * time.Second},
		"a second one is":                     {1, []double.Step{refuse("1200"), refuse("1200")}, time.Minute, 20 * time.Minute, 15 * time.Second},
		"a Retry-After of an hour":            {1, []double.Step{refuse("3600"), double.Respond(500, "")}, time.Minute, time.Hour, 2 * time.Minute},
		"a longer one ends the walk":          {1, []double.Step{refuse("3601")}, time.Minute, 0, 0},
	} {
		double.Run(t, name, func(t *testing.T) {
			s := listing(test.pages, test.failures...)
			var log bytes.Buffer
			c := s.Client(t, horseracing.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			took, err := walkBesidePolls(t, c, test.patience)
			if err == nil || took < test.least || took > test.least+test.more {
				t.Errorf("after %v: %v", took, err)
			}
			requests := 0
			for _, r := range s.Requests() {
				if strings.HasPrefix(r.Request.URL.Path, double.ResultsPath) {
					requests++
				}
			}
			var api *horseracing.APIError
			var broken *horseracing.TransportError
			if errors.As(err, &api) && api.Attempts != requests-test.pages || errors.As(err, &broken) && broken.Attempts != requests-test.pages {
				t.Errorf("%d requests: %v", requests, err)
			}
			if warned := strings.Contains(log.String(), "level=WARN"); warned != (took > 0) {
				t.Errorf("after %v the log is:\n%s", took, log.String())
			}
		})
	}
}

// TestAPageThatFailsOftenEndsNoWalk: 16 failures in a row, of any transient kind.
func TestAPageThatFailsOftenEndsNoWalk(t *testing.T) {
	for name, failure := range map[string]double.Step{"503": double.Respond(503, ""), "a broken connection": double.Broken(double.ErrReset), "an HTML page": double.Respond(200, "<!doctype html>")} {
		double.Run(t, name, func(t *testing.T) {
			var failures []double.Step
			for range 16 {
				failures = append(failures, failure)
			}
			c := listing(1, append(failures, double.Listing(`[{"main_race_id":1,"start_time":1700000000000}]`))...).Client(t)
			if races, err := c.Races.Results(horseracing.ResultsQuery{}).Take(t.Context(), 10); err != nil || len(races) != 1 {
				t.Errorf("%d races, %v", len(races), err)
			}
		})
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

// TestABadRouteDoesNotStopTheOthers, and is logged once.
func TestABadRouteDoesNotStopTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := double.Play(func(r *http.Request) (*http.Response, error) {
			if strings.HasPrefix(r.URL.Path, double.ResultsPath) {
				return double.Respond(429, "", "Retry-After: 1")(r)
			}
			return double.Respond(200, "[]")(r)
		})
		var log bytes.Buffer
		c := s.Client(t, horseracing.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		ctx, cancel := context.WithCancel(t.Context())
		var walk sync.WaitGroup
		walk.Go(func() {
			for ctx.Err() == nil {
				c.Races.Results(horseracing.ResultsQuery{}).Take(ctx, 1)
			}
		})
		late, calls := 0, 0
		for range 600 {
			time.Sleep(time.Second)
			started := time.Now()
			if err := double.OpenRaces(ctx, c); err != nil {
				t.Fatal(err)
			}
			if calls++; calls%60 == 0 {
				double.Register(ctx, c)
			}
			if time.Since(started) > time.Second {
				late++
			}
		}
		cancel()
		walk.Wait()
		if late > 6 {
			t.Errorf("%d of %d calls were late", late, calls)
		}
		if n := strings.Count(log.String(), "no longer slow down the others"); n != 1 {
			t.Errorf("logged %d times", n)
		}
	})
}

// TestAPageThatIsRefusedForEverCostsLittle: a request in ten seconds, and an error for
// each ten minutes.
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
			if refused > int(length.Seconds())/10 || failures < 120 || failures > 150 {
				t.Errorf("%d requests of the page, %d failures", refused, failures)
			}
		})
	}
}
