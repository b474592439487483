package sending_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestAWrapperSeesTheCallOfARequest(t *testing.T) {
	var seen []horseracing.CallInfo
	s := double.Play(double.Respond(503, ""), double.Respond(503, ""), double.Respond(200, `{"number":7}`), double.Respond(200, "{}"), double.Respond(200, "{}"))
	c := s.Client(t, double.Briefly, horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper {
		return double.TripFunc(func(req *http.Request) (*http.Response, error) {
			info, ok := horseracing.CallFromContext(req.Context())
			if !ok {
				t.Errorf("%s %s: no call in the context", req.Method, req.URL)
			}
			seen = append(seen, info)
			return next.RoundTrip(req)
		})
	}))
	if _, err := c.Horses.Get(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Races.Register(t.Context(), double.Entry); err != nil {
		t.Fatal(err)
	}
	if err := c.Do(t.Context(), http.MethodGet, "/api/v9/"+double.AppKey, nil, nil); err != nil {
		t.Fatal(err)
	}
	const horse = "/api/v1/horses/{horse_number}"
	want := []horseracing.CallInfo{
		{Method: "GET", Route: horse, ID: "7", Attempt: 1},
		{Method: "GET", Route: horse, ID: "7", Attempt: 2},
		{Method: "GET", Route: horse, ID: "7", Attempt: 3},
		{Method: "POST", Route: "/api/v1/races/register", Attempt: 1},
		{Method: "GET", Route: "/api/v9/[redacted]", Attempt: 1},
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if info, ok := horseracing.CallFromContext(t.Context()); ok {
		t.Errorf("outside a call: %v", info)
	}
}

// one is a limiter that lets one request go at a time, when the test says so.
type one chan struct{}

func (o one) Wait(ctx context.Context) error {
	select {
	case <-o:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestAReadInTheBackgroundWaitsForAllOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := double.Play(double.Respond(200, "[]"))
		limiter := make(one)
		c := s.Client(t, horseracing.WithLimiter(limiter))
		var calls sync.WaitGroup
		calls.Go(func() { _, _ = c.Races.Open(t.Context(), horseracing.AsBackground()) })
		synctest.Wait()
		calls.Go(func() { _, _ = c.Horses.OpenForBreeding(t.Context()) })
		synctest.Wait()
		for range 2 {
			limiter <- struct{}{}
			synctest.Wait()
		}
		calls.Wait()
		var paths []string
		for _, r := range s.Requests() {
			paths = append(paths, r.Request.URL.Path)
		}
		if want := []string{"/api/v1/horses/breeding/open", "/api/v1/races/open"}; !slices.Equal(paths, want) {
			t.Errorf("sent %v", paths)
		}
	})
}

func TestCallRetryHoldsForItsCallAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			client, call horseracing.Retry
			longest      time.Duration // of the waits, with full jitter
			attempts     int
		}{
			{horseracing.Retry{Max: 1}, horseracing.Retry{}, 200 * time.Millisecond, 2},
			{horseracing.Retry{Max: 1}, horseracing.Retry{Max: 2}, 400 * time.Millisecond, 3},
			{horseracing.Retry{Max: -1}, horseracing.Retry{MaxWait: time.Minute}, 0, 1},
			{horseracing.Retry{}, horseracing.Retry{MaxWait: time.Millisecond}, time.Millisecond, 4},
			{horseracing.Retry{MaxWait: time.Second}, horseracing.Retry{Max: 1, MinWait: time.Hour}, time.Hour, 2},
		} {
			s := double.Play(double.Respond(503, ""))
			c := s.Client(t, horseracing.WithRetry(test.client))
			_, err := c.Races.Open(t.Context(), horseracing.CallRetry(test.call))
			waits := append(s.Waits(), 0)
			if !errors.Is(err, horseracing.ErrServer) || len(waits) != test.attempts || slices.Max(waits) > test.longest {
				t.Errorf("%+v, %+v: waits %v, %v", test.client, test.call, waits, err)
			}
		}
		s := double.Play(double.Respond(503, ""))
		c := s.Client(t, horseracing.WithRetry(horseracing.Retry{Max: 1}))
		_, _ = c.Races.Open(t.Context(), horseracing.CallRetry(horseracing.Retry{Max: 3}))
		if _, err := c.Races.Open(t.Context()); err == nil || len(s.Requests()) != 6 {
			t.Errorf("%d requests of a call with three retries and one with one", len(s.Requests()))
		}
	})
}

// A registration that no connection was made for is sent again as often as
// CallRetry allows, and one whose outcome is unknown never.
func TestCallRetryOfARegistration(t *testing.T) {
	for name, want := range map[string]struct{ most, attempts int }{"none": {-1, 1}, "one": {1, 2}} {
		var response horseracing.Response
		c := double.Connect(t, double.Refused, &http.Client{}, double.Briefly)
		_, err := c.Races.Register(t.Context(), double.Entry, horseracing.CallRetry(horseracing.Retry{Max: want.most}), horseracing.CaptureResponse(&response))
		if err == nil || errors.Is(err, horseracing.ErrOutcomeUnknown) || response.Attempts != want.attempts {
			t.Errorf("%s: %d attempts, %v", name, response.Attempts, err)
		}
	}
	s := double.Play(double.Respond(503, ""))
	_, err := s.Client(t).Races.Register(t.Context(), double.Entry, horseracing.CallRetry(horseracing.Retry{Max: 5}))
	if !errors.Is(err, horseracing.ErrOutcomeUnknown) || len(s.Requests()) != 1 {
		t.Errorf("%d requests, %v", len(s.Requests()), err)
	}
}

func TestOptionsOfGetManyHoldForEachCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := double.Play(double.Respond(503, ""))
		_, err := s.Client(t).Horses.GetMany(t.Context(), []horseracing.HorseNumber{1}, horseracing.CallRetry(horseracing.Retry{Max: -1}))
		if !errors.Is(err, horseracing.ErrServer) || len(s.Requests()) != 1 {
			t.Errorf("%d requests, %v", len(s.Requests()), err)
		}
	})
}

func TestAClientNamesItsService(t *testing.T) {
	s := double.Play(double.Respond(200, "[]"))
	c := double.Connect(t, "https://game.test/api/", &http.Client{Transport: s})
	if got := c.BaseURL(); got != "https://game.test/api" {
		t.Errorf("BaseURL %q", got)
	}
	if got := fmt.Sprint(c); got != "horseracing.Client(https://game.test/api)" {
		t.Errorf("prints as %q", got)
	}
	if got := fmt.Sprint(double.Connect(t, "https://game.test/"+double.AppKey, &http.Client{Transport: s})); got != "horseracing.Client(https://game.test/[redacted])" {
		t.Errorf("prints as %q", got)
	}
}
