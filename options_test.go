package horseracing_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestNewClientChecksOptions(t *testing.T) {
	for want, opt := range map[string]horseracing.Option{
		"WithRetry: a wait of {Max:0 MinWait:-1s MaxWait:0s} is negative": horseracing.WithRetry(horseracing.Retry{MinWait: -time.Second}),
		"WithRetry: MinWait 2s is longer than MaxWait 1s":                 horseracing.WithRetry(horseracing.Retry{MinWait: 2 * time.Second, MaxWait: time.Second}),
		"WithAttemptTimeout: 0s is not positive":                          horseracing.WithAttemptTimeout(0),
		"WithRateLimit: 0 per second is not positive":                     horseracing.WithRateLimit(0, 1),
		"WithRateLimit: a burst of 0 is not positive":                     horseracing.WithRateLimit(1, 0),
		"WithUserAgent: the agent contains a control character":           horseracing.WithUserAgent("a\nb"),
		"WithMaxResponseBytes: 0 is not positive":                         horseracing.WithMaxResponseBytes(0),
		"WithTransportWrapper: the wrapper is nil":                        horseracing.WithTransportWrapper(nil),
		"WithTransportWrapper: the wrapper returned nil":                  horseracing.WithTransportWrapper(func(http.RoundTripper) http.RoundTripper { return nil }),
	} {
		_, err := horseracing.NewClient(double.Service, double.AppKey, opt)
		if !errors.Is(err, horseracing.ErrInvalidArgument) || err.Error() != "horseracing: NewClient: invalid argument: "+want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	if _, err := horseracing.NewClient(double.Service, double.AppKey, nil, horseracing.WithHTTPClient(nil), horseracing.WithLogger(nil),
		horseracing.WithLimiter(nil), horseracing.WithDriftHandler(nil)); err != nil {
		t.Errorf("nil options: %v", err)
	}
}

func TestWithHTTPClientUsesTheJar(t *testing.T) {
	jar, _ := cookiejar.New(nil)
	s := double.Play(double.Respond(200, "[]", "Set-Cookie: route=7"), double.Respond(503, ""), double.Respond(503, "", "Set-Cookie: route=8"), double.Respond(200, "[]"))
	c := double.Connect(t, double.Service, &http.Client{Transport: s, Jar: jar}, double.Briefly)
	c.Races.Open(t.Context())
	c.Races.Open(t.Context())
	var got []string
	for _, r := range s.Requests() {
		got = append(got, strings.Join(r.Request.Header.Values("Cookie"), "|"))
	}
	double.Equal(t, "Cookie of each attempt", []string{"", "route=7", "route=7", "route=8"}, got)
}

func TestCaptureResponseStoresTheLastCallAlone(t *testing.T) {
	s := double.Play(double.Respond(200, `[{"level":3}]`, "X-Trace: 1"), double.Respond(404, `{"message":"gone"}`))
	c := s.Client(t)
	var r horseracing.Response
	capture := horseracing.CaptureResponse(&r)
	c.Horses.Owned(t.Context(), double.UserKey, nil, capture)
	want := horseracing.Response{StatusCode: 200, Header: http.Header{"X-Trace": {"1"}}, Body: []byte(`[{"level":3}]`), Attempts: 1}
	double.Equal(t, "success", want, r)
	c.Races.Get(t.Context(), 5, capture)
	want = horseracing.Response{StatusCode: 404, Header: http.Header{}, Body: []byte(`{"message":"gone"}`), Attempts: 1}
	double.Equal(t, "failure", want, r)
	c.Horses.Get(t.Context(), -5, capture)
	double.Equal(t, "no request", horseracing.Response{}, r)
}

// TestCallFromContextDescribesTheCallOfARequest has that they see every attempt.
func TestWithUserKeysRedactsThemOnEveryCall(t *testing.T) {
	for _, test := range []struct {
		opts  []horseracing.Option
		shown bool
	}{{nil, true}, {[]horseracing.Option{horseracing.WithUserKeys("", double.UserKey)}, false}} {
		s := double.Play(double.Respond(400, "not "+double.UserKey))
		_, err := s.Client(t, test.opts...).Races.Open(t.Context())
		if err == nil || strings.Contains(err.Error(), double.UserKey) != test.shown {
			t.Errorf("%d options: %v", len(test.opts), err)
		}
	}
}

func TestWithTransportWrapperIsMadeOnceAroundTheOnesBefore(t *testing.T) {
	var order []string
	named := func(name string) horseracing.Option {
		return horseracing.WithTransportWrapper(func(next http.RoundTripper) http.RoundTripper {
			order = append(order, name+" made")
			return double.TripFunc(func(req *http.Request) (*http.Response, error) {
				order = append(order, name)
				return next.RoundTrip(req)
			})
		})
	}
	c := responding(t, "[]", named("inner"), named("outer"))
	for range 2 {
		if err := double.OpenRaces(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if want := "inner made, outer made, outer, inner, outer, inner"; strings.Join(order, ", ") != want {
		t.Errorf("%v, want %s", order, want)
	}
}

// Whatever a wrapper does, one attempt of a registration reaches the transport
// once at most.
func TestWithTransportWrapperCannotSendARegistrationTwice(t *testing.T) {
	again := func(req *http.Request, ctx context.Context) *http.Request {
		again := req.Clone(ctx)
		again.Body = io.NopCloser(strings.NewReader(`{}`))
		again.ContentLength = 2
		return again
	}
	for name, wrapper := range map[string]func(next http.RoundTripper, req *http.Request) (*http.Response, error){
		"after a 503, as a retrying transport does": func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(again(req, req.Context()))
			for n := 0; n < 3 && err == nil && resp.StatusCode == 503; n++ {
				resp.Body.Close()
				resp, err = next.RoundTrip(again(req, req.Context()))
			}
			return resp, err
		},
		"both at once": func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
			var both sync.WaitGroup
			both.Go(func() { _, _ = next.RoundTrip(again(req, req.Context())) })
			resp, err := next.RoundTrip(req)
			both.Wait()
			return resp, err
		},
		"in the background, without the context": func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
			_, _ = next.RoundTrip(again(req, context.Background()))
			return next.RoundTrip(req)
		},
		"with another method": func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
			put := again(req, req.Context())
			put.Method = http.MethodPut
			_, _ = next.RoundTrip(put)
			return next.RoundTrip(req)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := double.Play(double.Respond(503, ""))
			c := s.Client(t, double.Briefly, double.Wrap(wrapper))
			_, err := c.Races.Register(t.Context(), double.Entry)
			if n := len(s.Requests()); n != 1 || !errors.Is(err, horseracing.ErrOutcomeUnknown) {
				t.Errorf("sent %d times: %v", n, err)
			}
		})
	}
}

// A wrapper may repeat reads, and make reads of its own.
func TestWithTransportWrapperMayRepeatReads(t *testing.T) {
	s := double.Play(double.Respond(503, ""), double.Respond(200, "[]"))
	c := s.Client(t, double.NoRetries(), double.Wrap(func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req.Clone(context.Background()))
		if err == nil && resp.StatusCode == 503 {
			return next.RoundTrip(req)
		}
		return resp, err
	}))
	if _, err := c.Races.Open(t.Context()); err != nil || len(s.Requests()) != 2 {
		t.Errorf("%d requests, %v", len(s.Requests()), err)
	}
}

func TestCallFromContextDescribesTheCallOfARequest(t *testing.T) {
	var seen []horseracing.CallInfo
	s := double.Play(double.Respond(503, ""), double.Respond(503, ""), double.Respond(200, `{"number":7}`), double.Respond(200, "{}"), double.Respond(200, "{}"))
	c := s.Client(t, double.Briefly, double.Wrap(func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
		info, ok := horseracing.CallFromContext(req.Context())
		if !ok {
			t.Errorf("%s %s: no call in the context", req.Method, req.URL)
		}
		seen = append(seen, info)
		return next.RoundTrip(req)
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
	double.Equal(t, "calls", want, seen)
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

func TestAsBackgroundWaitsForAllOthers(t *testing.T) {
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

func TestOnSendIsCalledOnceInOrderBeforeTheFirstAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []string
		event := func(name string, err error) horseracing.CallOption {
			return horseracing.OnSend(func() error { events = append(events, name); return err })
		}
		s := double.Play(func(*http.Request) (*http.Response, error) {
			events = append(events, "sent")
			return double.Respond(429, "")(nil)
		})
		c, full := s.Client(t), errors.New("the disk is full")
		_, err := c.Races.Register(t.Context(), double.Entry, event("first", nil), event("second", nil))
		if want := "first second sent sent sent sent"; strings.Join(events, " ") != want || !errors.Is(err, horseracing.ErrRateLimited) {
			t.Errorf("%v, %v", events, err)
		}
		events = nil
		time.Sleep(time.Hour)
		err = c.Do(t.Context(), http.MethodPost, "/api/v9/thing", nil, nil, event("first", full), event("second", nil))
		if len(events) != 1 || !errors.Is(err, full) || errors.Is(err, horseracing.ErrOutcomeUnknown) {
			t.Errorf("one that fails: %v, %v", events, err)
		}
	})
}

func TestOnSendRunsWithTheTurnOfTheCallAndWithoutATimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := double.Play(double.Respond(200, "{}"))
		c := s.Client(t, horseracing.WithRateLimit(0.1, 1), horseracing.WithAttemptTimeout(time.Second))
		began, ctx := time.Now(), t.Context()
		register := func(record func() error) error {
			_, err := c.Races.Register(ctx, double.Entry, horseracing.OnSend(record))
			return err
		}
		if err := register(func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		if err := register(func() error { time.Sleep(time.Minute); return nil }); err != nil || time.Since(began) != 70*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithCancel(ctx)
		if err := register(func() error { cancel(); return nil }); !errors.Is(err, context.Canceled) || errors.Is(err, horseracing.ErrOutcomeUnknown) {
			t.Errorf("canceled within: %v", err)
		}
		if n := len(s.Requests()); n != 2 {
			t.Errorf("%d were sent", n)
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

func TestClientNamesItsService(t *testing.T) {
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

// What is documented for those who set nothing.

func TestDefaultOfRetryIsFourAttemptsWithShortWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var longest time.Duration
		for range 100 {
			s := double.Play(double.Respond(503, ""))
			if err := double.OpenRaces(t.Context(), s.Client(t)); !errors.Is(err, horseracing.ErrServer) || len(s.Waits()) != 3 {
				t.Fatalf("%d requests, %v", len(s.Requests()), err)
			}
			longest = max(longest, s.Waits()[2])
		}
		if longest > 800*time.Millisecond || longest < 640*time.Millisecond {
			t.Errorf("of a hundred waits before the last attempt the longest was %v, want up to 800 ms", longest)
		}
	})
}

func TestDefaultOfMaxWaitIsFifteenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for wait, requests := range map[string]int{"15": 2, "16": 1} {
			s := double.Play(double.Respond(429, "", "Retry-After: "+wait), double.Respond(200, "[]"))
			_, err := s.Client(t).Races.Open(t.Context())
			if n := len(s.Requests()); n != requests || (err == nil) != (requests == 2) {
				t.Errorf("Retry-After: %s: %d requests, then %v", wait, n, err)
			}
		}
	})
}

func TestDefaultOfMaxResponseBytesIsEightMebibytes(t *testing.T) {
	const limit = 8 << 20
	for length, tooLarge := range map[int64]bool{limit: false, limit + 1: true} {
		s := double.Play(double.Stream(200, length, func() io.Reader { return io.LimitReader(double.Endless(" "), length) }))
		_, err := s.Client(t).Races.Open(t.Context())
		if errors.Is(err, horseracing.ErrResponseTooLarge) != tooLarge || err == nil {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
}

func TestWithLimiterErrorEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, call := range map[string]func(context.Context, *horseracing.Client) error{"a read": double.OpenRaces, "a registration": double.Register} {
			s := double.Play(double.Respond(429, ""))
			failing := double.WaitFunc(failAfter(1, func(context.Context) error { return double.ErrReset }))
			err := call(t.Context(), s.Client(t, horseracing.WithLimiter(failing)))
			if !errors.Is(err, double.ErrReset) || errors.Is(err, horseracing.ErrOutcomeUnknown) || len(s.Requests()) != 1 {
				t.Errorf("%s: %d requests, %v", name, len(s.Requests()), err)
			}
		}
	})
}

func TestWithRateLimitSpacesRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := double.Play(double.Respond(200, "[]"))
		c := s.Client(t, horseracing.WithRateLimit(2, 3))
		for range 7 {
			if _, err := c.Races.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		const gap = 500 * time.Millisecond
		double.Equal(t, "waits", []time.Duration{0, 0, gap, gap, gap, gap}, s.Waits())
		ctx := double.Within(t, gap/2)
		if _, err := c.Races.Open(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("no token in time: got %v", err)
		}
	})
}

func TestWithLimiterThatPanicsCostsNoOtherCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := 0
		s := double.Play(double.Respond(200, "[]"))
		c := s.Client(t, horseracing.WithLimiter(double.WaitFunc(func(context.Context) error {
			if waits++; waits <= 10 {
				panic("limiter")
			}
			return nil
		})))
		for range 10 {
			func() {
				defer func() { recover() }()
				double.OpenRaces(t.Context(), c)
			}()
		}
		ctx := double.Within(t, time.Minute)
		if err := double.OpenRaces(ctx, c); err != nil || len(s.Requests()) != 1 || c.Pace().Waiting != 0 {
			t.Errorf("%v after %d requests, %+v", err, len(s.Requests()), c.Pace())
		}
	})
}

// quitter is a limiter whose third Wait ends the goroutine that calls it.
type quitter struct{ calls atomic.Int32 }

func (q *quitter) Wait(context.Context) error {
	if q.calls.Add(1) == 3 {
		runtime.Goexit()
	}
	return nil
}

func TestWithLimiterThatEndsItsGoroutineCostsOneCall(t *testing.T) {
	fake := horseracingtest.NewServer(horseracingtest.WithInMemory())
	defer fake.Close()
	client := fake.Client(horseracing.WithLimiter(new(quitter)))
	ctx := double.Within(t, time.Minute)
	results, failures := client.Races.Results(horseracing.ResultsQuery{Concurrency: 4}), 0
	for range 2 {
		for _, err := range results.All(ctx) {
			if err != nil {
				failures++
			}
		}
	}
	if failures != 1 || ctx.Err() != nil {
		t.Errorf("%d failures, %v", failures, ctx.Err())
	}
}
