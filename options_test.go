package horseracing_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

func TestNewClientChecksOptions(t *testing.T) {
	for name, opt := range map[string]horseracing.Option{
		"a negative wait":        horseracing.WithRetry(horseracing.Retry{MinWait: -time.Second}),
		"waits in wrong order":   horseracing.WithRetry(horseracing.Retry{MinWait: 2 * time.Second, MaxWait: time.Second}),
		"no time":                horseracing.WithAttemptTimeout(0),
		"no rate":                horseracing.WithRateLimit(0, 1),
		"no burst":               horseracing.WithRateLimit(1, 0),
		"a newline":              horseracing.WithUserAgent("a\nb"),
		"no bytes":               horseracing.WithMaxResponseBytes(0),
		"no wrapper":             horseracing.WithTransportWrapper(nil),
		"a wrapper of no result": horseracing.WithTransportWrapper(func(http.RoundTripper) http.RoundTripper { return nil }),
	} {
		if _, err := horseracing.NewClient(double.Service, double.AppKey, opt); !errors.Is(err, horseracing.ErrInvalidArgument) || !strings.Contains(err.Error(), "With") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := horseracing.NewClient(double.Service, double.AppKey, nil, horseracing.WithHTTPClient(nil), horseracing.WithLogger(nil),
		horseracing.WithLimiter(nil), horseracing.WithDriftHandler(nil), horseracing.WithSkipHandler(nil)); err != nil {
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

func TestWithHTTPClientTimeoutLimitsAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, started := double.Play(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}), time.Now()
		c := double.Connect(t, double.Service, &http.Client{Transport: s, Timeout: 5 * time.Second}, double.NoRetries())
		if err := double.OpenRaces(t.Context(), c); !errors.Is(err, context.DeadlineExceeded) || time.Since(started) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(started), err)
		}
	})
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
		"in the background, without the context": func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
			_, _ = next.RoundTrip(again(req, context.Background()))
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

func TestCallFromContextDescribesTheCallOfARequest(t *testing.T) {
	var seen []horseracing.CallInfo
	s := double.Play(double.Respond(503, ""), double.Respond(200, `{"number":7}`))
	c := s.Client(t, double.Briefly, double.Wrap(func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
		info, _ := horseracing.CallFromContext(req.Context())
		seen = append(seen, info)
		return next.RoundTrip(req)
	}))
	if err := errors.Join(double.OneHorse(t.Context(), c), double.Register(t.Context(), c), c.Do(t.Context(), http.MethodGet, "/api/v9/"+double.AppKey, nil, nil)); err != nil {
		t.Fatal(err)
	}
	want := []horseracing.CallInfo{
		{Method: "GET", Route: "/api/v1/horses/{horse_number}", ID: "7", Attempt: 1},
		{Method: "GET", Route: "/api/v1/horses/{horse_number}", ID: "7", Attempt: 2},
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
			attempts     int
		}{
			{horseracing.Retry{Max: 1}, horseracing.Retry{}, 2},
			{horseracing.Retry{Max: 1}, horseracing.Retry{Max: 2}, 3},
			{horseracing.Retry{Max: -1}, horseracing.Retry{MaxWait: time.Minute}, 1},
		} {
			s := double.Play(double.Respond(500, ""))
			c := s.Client(t, horseracing.WithRetry(test.client))
			_, _ = c.Races.Open(t.Context(), horseracing.CallRetry(test.call))
			inCall := len(s.Requests())
			_ = double.OpenRaces(t.Context(), c)
			if after := len(s.Requests()) - inCall; inCall != test.attempts || after != max(0, test.client.Max)+1 {
				t.Errorf("%+v: %d attempts, then %d", test, inCall, after)
			}
		}
	})
}

func TestWithLimiterErrorEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, call := range map[string]func(context.Context, *horseracing.Client) error{"a read": double.OpenRaces, "a registration": double.Register} {
			s, waits := double.Play(double.Respond(429, "")), 0
			failing := double.WaitFunc(func(context.Context) error {
				if waits++; waits == 1 {
					return nil
				}
				return double.ErrReset
			})
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

func TestWithLimiterThatPanicsOrEndsItsGoroutineFailsOneCall(t *testing.T) {
	for name, fail := range map[string]func(){"panics": func() { panic("limiter") }, "ends its goroutine": runtime.Goexit} {
		double.Run(t, name, func(t *testing.T) {
			s, waits := double.Play(double.Respond(200, "[]")), 0
			c := s.Client(t, horseracing.WithLimiter(double.WaitFunc(func(context.Context) error {
				if waits++; waits == 1 {
					fail()
				}
				return nil
			})))
			ctx := double.Within(t, time.Minute)
			first, second := double.OpenRaces(ctx, c), double.OpenRaces(ctx, c)
			if _, ok := errors.AsType[*horseracing.TransportError](first); !ok || second != nil || len(s.Requests()) != 1 {
				t.Errorf("%v, then %v, after %d requests", first, second, len(s.Requests()))
			}
		})
	}
}
