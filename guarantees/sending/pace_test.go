package sending_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

// TestWithoutARefusalNothingWaits: behind a service without a limit every
// request leaves at the instant at which the one before it ended.
func TestWithoutARefusalNothingWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const latency = 7 * time.Millisecond
		var sent []double.Sent
		c := double.Client(t, double.Noting(&sent, httpmock.NewStringResponder(200, "[]").Delay(latency)))
		var calls sync.WaitGroup
		started := time.Now()
		for range 16 {
			calls.Go(func() {
				for range 10 {
					double.Error(t, "a call", nil, "", double.OpenRaces(t.Context(), c))
				}
			})
		}
		calls.Wait()
		for i, r := range sent {
			double.Equal(t, fmt.Sprint("wait before request ", i), time.Duration(i/16)*latency, r.At.Sub(started))
		}
		double.Equal(t, "pace", horseracing.Pace{}, c.Pace())
	})
}

// TestARegistrationWaitsOutA503 of any route, because after another its outcome would be unknown.
func TestARegistrationWaitsOutA503(t *testing.T) {
	for name, refused := range map[string]func(context.Context, *horseracing.Client) error{
		"of a read": double.OpenRaces, "of a registration": double.Register,
	} {
		double.Run(t, name, func(t *testing.T) {
			var sent []double.Sent
			respond := double.InTurn(double.Respond(503, "", "Retry-After: 10"), httpmock.NewStringResponder(200, "{}"))
			c := double.Client(t, double.Noting(&sent, respond), double.NoRetries())
			first, second := refused(t.Context(), c), double.Register(t.Context(), c)
			double.FailIf(t, errors.Is(first, horseracing.ErrOutcomeUnknown) != (name == "of a registration") || second != nil, "%v, then %v", first, second)
			double.Equal(t, "waits", []time.Duration{10 * time.Second}, double.Waits(sent))
		})
	}
}

// TestNobodyQueuesBehindACrawl: a registration, and a read, take two slots at most.
func TestNobodyQueuesBehindACrawl(t *testing.T) {
	limit := horseracingtest.WithRequestLimit(horseracingtest.RequestLimit{PerSecond: 2, Burst: 2})
	double.Bubble(t, func(t *testing.T, fake *horseracingtest.Server) {
		c := fake.Client()
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
			took := time.Since(started)
			double.FailIf(t, took > 1100*time.Millisecond, "%s took %v behind a crawl", name, took)
			time.Sleep(7 * time.Second)
		}
		cancel()
		crawl.Wait()
	}, horseracingtest.WithHistory(5000), horseracingtest.WithSchedule(0), limit)
}

// TestCtrlCEndsEveryWait at once.
func TestCtrlCEndsEveryWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := double.Client(t, double.Respond(429, "", "Retry-After: 3000"))
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for _, concurrency := range []int{1, 16} {
			calls.Go(func() {
				for _, err := range c.Races.Results(horseracing.ResultsQuery{Concurrency: concurrency}).All(ctx) {
					double.Error(t, "a walk", context.Canceled, "", err)
				}
			})
		}
		time.Sleep(time.Minute)
		cancel()
		stopped := time.Now()
		calls.Wait()
		double.Equal(t, "time until the walks end", time.Duration(0), time.Since(stopped))
	})
}

// Behind a limit that is announced nothing is refused and nine tenths are used.
func TestAnAnnouncedLimitIsUsedAndNeverExceeded(t *testing.T) {
	races := double.Worlds(4000, 4000, 1000)
	for name, limit := range map[string]horseracingtest.RequestLimit{
		"window": {PerWindow: 60, Window: 10 * time.Second, Headers: true}, "bucket": {PerSecond: 6, Burst: 60, Headers: true},
		"sliding": {PerWindow: 60, Window: 10 * time.Second, Sliding: true, Headers: true}, // the end that it announces is that of its last request
	} {
		double.RunBubble(t, name, func(t *testing.T, fake *horseracingtest.Server) {
			client, started := fake.Client(), time.Now()
			double.NoError(t, double.OpenRaces(t.Context(), client)) // nothing is known before the first response
			got := double.Must(client.Races.Results(horseracing.ResultsQuery{Concurrency: 4}).Take(t.Context(), races))
			double.Equal(t, "races", races, len(got))
			refused := 0
			for _, r := range fake.Requests() {
				if r.Status != http.StatusOK && r.Status != 0 { // canceled with the loop
					refused++
				}
			}
			n := float64(fake.RequestCount())
			used := n / time.Since(started).Seconds() / 6
			double.FailIf(t, used < 0.9 || float64(refused) > 0.002*n, "%.0f %% used, %d of %.0f requests refused", 100*used, refused, n)
		}, horseracingtest.WithLatency(20*time.Millisecond), horseracingtest.WithRequestLimit(limit), horseracingtest.WithHistory(races))
	}
}

// A crawl that outlasts a limit of an hour ends with all races and without an error, whether
// the limit is announced or not. Another route is requested meanwhile.
func TestACrawlOutlastsALimitOfAnHour(t *testing.T) {
	for _, perHour := range []int{100, 300, 600, 1000}[:double.Worlds(1, 4, 1)] {
		for _, limit := range []horseracingtest.RequestLimit{{}, {Headers: true}, {Sliding: true}, {Sliding: true, Headers: true}}[:double.Worlds(4, 4, 2)] {
			limit.Path, limit.PerWindow, limit.Window = "/api/v2/", perHour, time.Hour
			double.RunBubble(t, fmt.Sprintf("%+v", limit), func(t *testing.T, fake *horseracingtest.Server) {
				client, started, n := fake.Client(), time.Now(), 0
				for range double.Each(t, client.Races.Results(horseracing.ResultsQuery{}).All(t.Context())) {
					if n++; n%1000 == 0 {
						double.Error(t, "a call meanwhile", nil, "", double.OpenRaces(t.Context(), client))
					}
				}
				hours := n / 10 / perHour
				double.FailIf(t, n < 15*perHour || time.Since(started) > time.Duration(hours+2)*time.Hour, "%d races after %v", n, time.Since(started))
			}, horseracingtest.WithLatency(20*time.Millisecond), horseracingtest.WithSchedule(0), horseracingtest.WithRequestLimit(limit), horseracingtest.WithHistory(15*perHour))
		}
	}
}

// crawl has a client crawl with four requests in flight for so long.
func crawl(t *testing.T, c *horseracing.Client, length time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				_, _ = c.Races.Results(horseracing.ResultsQuery{}).Take(ctx, 1)
			}
		})
	}
	all.Wait()
	time.Sleep(time.Second) // in which what is in flight ends
	synctest.Wait()
}

// TestRegistrationsMeetNoMore503sThanReads behind a
// gateway that accepts ten requests in ten seconds and says when the next ones begin. The
// outcome of a registration that is refused so is unknown.
func TestRegistrationsMeetNoMore503sThanReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accepted, refused := map[string]float64{}, map[string]float64{}
		var mu sync.Mutex
		var window time.Time
		left := 0
		respond := func(req *http.Request) (*http.Response, error) {
			time.Sleep(10 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			if began := time.Now().Truncate(10 * time.Second); !began.Equal(window) {
				window, left = began, 10
			}
			if left == 0 {
				refused[req.Method]++
				wait := time.Until(window.Add(11 * time.Second)).Truncate(time.Second)
				return double.Respond(http.StatusServiceUnavailable, "", fmt.Sprint("Retry-After: ", wait.Seconds()))(req)
			}
			left--
			accepted[req.Method]++
			return httpmock.NewStringResponder(http.StatusOK, "[]")(req)
		}
		c := double.Client(t, respond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		every := func(interval time.Duration, call func(context.Context, *horseracing.Client) error) {
			for range time.Tick(interval) {
				if call(ctx, c); ctx.Err() != nil {
					return
				}
			}
		}
		var all sync.WaitGroup
		all.Go(func() { crawl(t, c, time.Hour) })
		all.Go(func() { every(3*time.Second, double.OpenRaces) })
		all.Go(func() { every(5*time.Second, double.Register) })
		all.Wait()
		reads, registrations := refused["GET"]/accepted["GET"], refused["POST"]/accepted["POST"]
		if t.Logf("%.3f of %v reads, %.3f of %v registrations", reads, accepted["GET"], registrations, accepted["POST"]); accepted["POST"] < 600 || registrations > reads {
			t.Error("registrations meet more 503s")
		}
	})
}

// TestARegistrationThatWouldWaitTooLongForA503 is not sent, and its error says what is left of the
// Retry-After, whatever route the 503 was on.
func TestARegistrationThatWouldWaitTooLongForA503(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []double.Sent
		c := double.Client(t, double.Noting(&sent, double.Respond(503, "", "Retry-After: 30")))
		_ = double.OpenRaces(t.Context(), c)
		time.Sleep(10 * time.Second)
		err := double.Register(t.Context(), c)
		refusal, ok := errors.AsType[*horseracing.APIError](err)
		double.FailIf(t, !ok || refusal.RetryAfter != 20*time.Second || errors.Is(err, horseracing.ErrOutcomeUnknown) || len(sent) != 1, "%v, after %d requests", err, len(sent))
	})
}

// TestALongWaitIsLoggedEachMinute of a day in which a route is refused, for all pages together; then
// that it is over.
func TestALongWaitIsLoggedEachMinute(t *testing.T) {
	for _, header := range []string{"X-Nothing: 1", "Retry-After: 60", "Retry-After: 3600"} {
		double.Run(t, header, func(t *testing.T) {
			log, accept := &minutes{last: time.Now()}, time.Now().Add(25*time.Hour)
			respond := func(req *http.Request) (*http.Response, error) {
				if time.Now().Before(accept) {
					return double.Respond(http.StatusTooManyRequests, "", header)(req)
				}
				return httpmock.NewStringResponse(http.StatusOK, "[]"), nil
			}
			c := double.Client(t, respond, horseracing.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
			crawl(t, c, 24*time.Hour)
			if t.Logf("%d lines, the longest gap %v", log.lines, log.gap); log.lines < 1400 || log.lines > 1441 || log.gap > 70*time.Second || log.over > 0 {
				t.Errorf("that is not one a minute, or %d times it was over", log.over)
			}
			double.Must(c.Races.Results(horseracing.ResultsQuery{}).Take(t.Context(), 1))
			double.Equal(t, "times that it was over", 1, log.over)
		})
	}
}

// minutes is a log, of which it counts the lines of long waits, and those of their ends.
type minutes struct {
	lines int
	over  int
	last  time.Time
	gap   time.Duration // the longest time without such a line
}

func (m *minutes) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "waiting until") {
		now := time.Now()
		m.lines, m.gap, m.last = m.lines+1, max(m.gap, now.Sub(m.last)), now
	}
	if strings.Contains(string(line), "level=INFO") {
		m.over++
	}
	return len(line), nil
}
