package transport

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

	"github.com/horseracing-go/horseracing/internal/pace"
)

// One a second is accepted, and all pages of a walk wait until they are.
func TestAPageWaitsUntilItIsAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var last time.Time
		c := newClient(func(*http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			if time.Since(last) < time.Second {
				return respond(http.StatusTooManyRequests), nil
			}
			last = time.Now()
			return respond(http.StatusOK), nil
		})
		requestPages(t.Context(), c, 40, func(r *Record) {
			if r.Status != http.StatusOK {
				t.Errorf("status %d: %v", r.Status, r.Err)
			}
		})
	})
}

// The wait ends with the context, and is logged after five seconds and once a minute, for all
// pages together; then that it is over.
func TestALongWaitIsLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		accept := time.Now().Add(10 * time.Minute)
		c := newClient(func(*http.Request) (*http.Response, error) {
			if time.Now().Before(accept) {
				return respond(http.StatusTooManyRequests), nil
			}
			return respond(http.StatusOK), nil
		}, slog.New(slog.NewTextHandler(&log, nil)))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		requestPages(ctx, c, 10, func(r *Record) {
			if !errors.Is(r.Stopped, context.DeadlineExceeded) {
				t.Errorf("status %d, stopped by %v", r.Status, r.Stopped)
			}
		})
		if n := strings.Count(log.String(), "level=WARN"); n < 3 || n > 4 || strings.Contains(log.String(), "level=INFO") {
			t.Errorf("%d lines in three minutes:\n%s", n, log.String())
		}
		requestPages(t.Context(), c, 10, func(*Record) {})
		if n := strings.Count(log.String(), "level=INFO"); n != 1 || time.Since(accept) > time.Minute {
			t.Errorf("accepted %v late:\n%s", time.Since(accept), log.String())
		}
	})
}

// requestPages requests so many pages of one listing at once.
func requestPages(ctx context.Context, c *Client, n int, check func(*Record)) {
	var pages sync.WaitGroup
	for range n {
		pages.Go(func() {
			page := request(http.MethodGet)
			page.Priority, page.Patient = pace.Walk, true
			check(c.Do(ctx, page))
		})
	}
	pages.Wait()
}
