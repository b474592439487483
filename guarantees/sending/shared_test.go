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
	"github.com/horseracing-go/horseracing/internal/double"
)

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

// counting counts the responses of each method with a status.
func counting(n map[string]float64, status int, respond httpmock.Responder) httpmock.Responder {
	var mu sync.Mutex
	return func(req *http.Request) (*http.Response, error) {
		resp, err := respond(req)
		mu.Lock()
		defer mu.Unlock()
		if resp.StatusCode == status {
			n[req.Method]++
		}
		return resp, err
	}
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
				wait := time.Until(window.Add(11 * time.Second)).Truncate(time.Second)
				return double.Respond(http.StatusServiceUnavailable, "", fmt.Sprint("Retry-After: ", wait.Seconds()))(req)
			}
			left--
			return httpmock.NewStringResponder(http.StatusOK, "[]")(req)
		}
		c := double.Client(t, counting(accepted, 200, counting(refused, 503, respond)))
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
		if !ok || refusal.RetryAfter != 20*time.Second || errors.Is(err, horseracing.ErrOutcomeUnknown) || len(sent) != 1 {
			t.Errorf("%v, after %d requests", err, len(sent))
		}
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
			if _, err := c.Races.Results(horseracing.ResultsQuery{}).Take(t.Context(), 1); err != nil || log.over != 1 {
				t.Errorf("it was over %d times, %v", log.over, err)
			}
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
