package horseracing_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/guarantees/double"
)

func TestNewClientChecksOptions(t *testing.T) {
	for name, opt := range map[string]horseracing.Option{
		"a negative wait":          horseracing.WithRetry(horseracing.Retry{MinWait: -time.Second}),
		"waits in wrong order":     horseracing.WithRetry(horseracing.Retry{MinWait: 2 * time.Second, MaxWait: time.Second}),
		"no time":                  horseracing.WithAttemptTimeout(0),
		"no rate":                  horseracing.WithRateLimit(0, 1),
		"no burst":                 horseracing.WithRateLimit(1, 0),
		"a newline":                horseracing.WithUserAgent("a\nb"),
		"no bytes":                 horseracing.WithMaxResponseBytes(0),
		"no wrapper":               horseracing.WithTransportWrapper(nil),
		"a transport that repeats": horseracing.WithHTTPClient(retryablehttp.NewClient().StandardClient()),
		"a wrapper of no result":   horseracing.WithTransportWrapper(func(http.RoundTripper) http.RoundTripper { return nil }),
	} {
		checkInvalid(t, name, "With", errorOf(horseracing.NewClient(double.Service, double.AppKey, opt)))
	}
	double.Connect(t, double.Service, nil, nil, horseracing.WithLogger(nil), horseracing.WithLimiter(nil), horseracing.WithDriftHandler(nil), horseracing.WithSkipHandler(nil))
}

func TestEachAttemptHasTheCookiesOfTheJarAlone(t *testing.T) {
	jar, _ := cookiejar.New(nil)
	cut := double.Stream(200, 100, func() io.Reader { return double.Readers("[", io.ErrUnexpectedEOF) })
	var sent []double.Sent
	mock := double.Noting(&sent, double.InTurn(double.Respond(200, "[]", "Set-Cookie: route=7"), cut, double.Respond(503, "", "Set-Cookie: route=8"), httpmock.NewStringResponder(200, "[]")))
	c := double.Connect(t, double.Service, &http.Client{Transport: double.TripFunc(mock), Jar: jar}, double.Briefly)
	double.Error(t, "two calls", nil, "", errors.Join(double.Owned(t.Context(), c), double.Owned(t.Context(), c)))
	var cookies [][]string
	for _, attempt := range sent {
		cookies = append(cookies, attempt.Request.Header["Cookie"])
	}
	double.Equal(t, "cookies", [][]string{nil, {"route=7"}, {"route=7"}, {"route=8"}}, cookies)
}

func TestCaptureResponseStoresTheLastCallAlone(t *testing.T) {
	c := double.Client(t, double.InTurn(double.Respond(200, `[{"level":3}]`, "X-Trace: 1"), double.Respond(404, `{"message":"gone"}`)))
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
	double.Error(t, "two calls", nil, "", errors.Join(double.OpenRaces(t.Context(), c), double.OpenRaces(t.Context(), c)))
	double.Equal(t, "order", []string{"inner made", "outer made", "outer", "inner", "outer", "inner"}, order)
}

// The context of an attempt stays what it is.
func TestCallFromContextDescribesTheCallOfARequest(t *testing.T) {
	var sent []double.Sent
	c := double.Client(t, double.Noting(&sent, double.InTurn(httpmock.NewStringResponder(503, ""), httpmock.NewStringResponder(200, `{"number":7}`))), double.Briefly)
	err := errors.Join(double.OneHorse(t.Context(), c), double.Register(t.Context(), c), c.Do(t.Context(), http.MethodGet, "/api/v9/"+double.AppKey, nil, nil))
	double.Error(t, "three calls", nil, "", err)
	var seen []horseracing.CallInfo
	for _, s := range sent {
		info, _ := horseracing.CallFromContext(s.Request.Context())
		seen = append(seen, info)
	}
	double.Equal(t, "calls", []horseracing.CallInfo{
		{Method: "GET", Route: "/api/v1/horses/{horse_number}", ID: "7", Attempt: 1},
		{Method: "GET", Route: "/api/v1/horses/{horse_number}", ID: "7", Attempt: 2},
		{Method: "POST", Route: "/api/v1/races/register", Attempt: 1},
		{Method: "GET", Route: "/api/v9/[redacted]", Attempt: 1},
	}, seen)
	_, ok := horseracing.CallFromContext(t.Context())
	double.Equal(t, "outside a call", false, ok)
}

func TestCallRetryHoldsForItsCallAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			client, call horseracing.Retry
			attempts     int
		}{{horseracing.Retry{Max: 1}, horseracing.Retry{Max: 2}, 3}, {horseracing.Retry{Max: -1}, horseracing.Retry{MaxWait: time.Minute}, 1}} {
			c, mock := double.Mocked(t, httpmock.NewStringResponder(500, ""), horseracing.WithRetry(test.client))
			_, _ = c.Races.Open(t.Context(), horseracing.CallRetry(test.call))
			double.Equal(t, "attempts of that call", test.attempts, mock.GetTotalCallCount())
			_ = double.OpenRaces(t.Context(), c)
			double.Equal(t, "attempts of both", test.attempts+max(0, test.client.Max)+1, mock.GetTotalCallCount())
		}
	})
}

// It fails before the second attempt, and the service refused the first.
func TestWithLimiterThatFailsEndsOneCall(t *testing.T) {
	for name, fail := range map[string]func() error{
		"an error":                 func() error { return double.ErrReset },
		"a panic":                  func() error { panic("limiter") },
		"the end of its goroutine": func() error { runtime.Goexit(); return nil },
	} {
		double.Run(t, name, func(t *testing.T) {
			waits := 0
			wait := func(context.Context) error {
				if waits++; waits == 2 {
					return fail()
				}
				return nil
			}
			c, mock := double.Mocked(t, double.InTurn(httpmock.NewStringResponder(429, ""), httpmock.NewStringResponder(200, "[]")), horseracing.WithLimiter(double.WaitFunc(wait)))
			ctx := double.Within(t, time.Minute)
			first, second := double.Register(ctx, c), double.OpenRaces(ctx, c)
			_, ok := errors.AsType[*horseracing.TransportError](first)
			double.Error(t, "the second call", nil, "", second)
			double.Equal(t, "requests", 2, mock.GetTotalCallCount())
			if !ok || errors.Is(first, double.ErrReset) != (name == "an error") || errors.Is(first, horseracing.ErrOutcomeUnknown) || !strings.Contains(first.Error(), "register: waiting for the limiter: ") {
				t.Error(first)
			}
		})
	}
}

// There is a row for each line of the table at Retry, and for each sentence below it.
func TestRetrySaysWhatEndsAWait(t *testing.T) {
	const s = time.Second
	var c *horseracing.Client
	single, write, page := double.OpenRaces, double.Register, onePage
	respond := double.Respond
	ok, usedUp := respond(200, `[{"main_race_id":1,"start_time":1}]`), respond(200, "[]", "RateLimit-Remaining: 0", "RateLimit-Reset: 60")
	refuse := func(status int, seconds string) httpmock.Responder {
		return respond(status, "", "Retry-After: "+seconds)
	}
	afterAnother := func(respond httpmock.Responder) httpmock.Responder {
		return func(req *http.Request) (*http.Response, error) {
			_ = single(req.Context(), c)
			return respond(req)
		}
	}
	retry := func(attempts int, wait time.Duration) horseracing.Option {
		return horseracing.WithRetry(horseracing.Retry{Max: attempts, MinWait: 1, MaxWait: wait})
	}
	limit, attempt := horseracing.WithRateLimit(1.0/20, 1), horseracing.WithAttemptTimeout
	type call = func(context.Context, *horseracing.Client) error
	type responses = []httpmock.Responder
	for name, test := range map[string]struct {
		option    horseracing.Option // may be nil
		own       time.Duration      // the Timeout of the http.Client
		before    call               // may be nil
		call      call
		responses responses // the last one again and again
		took      time.Duration
		requests  int           // or zero for any number
		want      error         // that errors.Is finds, or nil for a success
		left      time.Duration // the RetryAfter of the *APIError
		text      string        // in the error's
	}{
		"a turn: MaxWait":                     {retry(100, 3*s), 0, nil, single, responses{respond(429, "")}, 3 * s, 0, horseracing.ErrRateLimited, 0, "status 429"},
		"all turns of a call: MaxWait":        {retry(100, 3*s), 0, nil, single, responses{refuse(429, "2")}, 2 * s, 2, horseracing.ErrRateLimited, 2 * s, "wait 2s"},
		"a turn that would come too late":     {nil, 0, nil, single, responses{refuse(429, "16")}, 0, 1, horseracing.ErrRateLimited, 16 * s, "status 429 Too Many Requests; wait 16s"},
		"a turn that would come never":        {nil, 0, nil, single, responses{refuse(429, "99999999999999")}, 0, 1, horseracing.ErrRateLimited, 9223372036 * s, "wait 2562047h47m16s"},
		"a turn after an announced limit":     {nil, 0, single, single, responses{usedUp}, 0, 1, horseracing.ErrRateLimited, 60 * s, "the limit that the service announces is used up"},
		"a turn after a failed attempt":       {retry(3, 15*s), 0, nil, single, responses{afterAnother(httpmock.NewErrorResponder(double.ErrReset)), refuse(429, "60")}, 0, 2, horseracing.ErrRateLimited, 60 * s, "after: connection reset"},
		"a turn after a damaged response":     {retry(3, 15*s), 0, nil, single, responses{afterAnother(respond(200, "[")), refuse(429, "60")}, 0, 2, horseracing.ErrRateLimited, 60 * s, "cannot read the response: not valid JSON"},
		"a write's after the 503 of a read":   {nil, 0, single, write, responses{refuse(503, "30")}, 0, 1, horseracing.ErrServer, 30 * s, "not sent"},
		"a page's turn: nothing":              {nil, 0, nil, page, responses{refuse(429, "3000"), ok}, 3000 * s, 2, nil, 0, ""},
		"a page's turn: the context":          {nil, 0, nil, page, responses{refuse(429, "3000")}, 3600 * s, 2, context.DeadlineExceeded, 3000 * s, "after status 429"},
		"a burst of permits: nothing":         {horseracing.WithRateLimit(1, 2), 0, single, single, responses{ok}, 0, 2, nil, 0, ""},
		"a permit that comes too late":        {horseracing.WithRateLimit(1.0/7200, 1), 0, single, single, responses{ok}, 0, 1, context.DeadlineExceeded, 0, "limiter"},
		"a permit: nothing":                   {limit, 0, single, single, responses{ok, respond(429, ""), ok}, 40 * s, 3, nil, 0, ""},
		"a response: WithAttemptTimeout":      {attempt(s), 3 * s, nil, write, responses{hang}, s, 1, horseracing.ErrOutcomeUnknown, 0, "within the 1s of WithAttemptTimeout"},
		"a response: http.Client.Timeout":     {attempt(3 * s), s, nil, write, responses{hang}, s, 1, horseracing.ErrOutcomeUnknown, 0, "within the 1s of http.Client.Timeout"},
		"a backoff: MaxWait":                  {nil, 0, nil, single, responses{refuse(502, "15"), refuse(502, "15"), ok}, 30 * s, 3, nil, 0, ""},
		"a backoff that would be longer":      {nil, 0, nil, single, responses{refuse(502, "16")}, 0, 1, horseracing.ErrServer, 16 * s, "wait 16s"},
		"a page's that would be longer":       {nil, 0, nil, page, responses{refuse(502, "600"), ok}, 15 * s, 2, nil, 0, ""},
		"Max: attempts":                       {retry(2, 1), 0, nil, single, responses{respond(500, "")}, 0, 3, horseracing.ErrServer, 0, "after 3 attempts"},
		"Max: attempts of a page that failed": {retry(2, 2), 0, nil, page, responses{refuse(429, "1"), refuse(429, "1"), respond(500, "")}, 2 * s, 5, horseracing.ErrServer, 0, "after 5 attempts"},
		"Max below zero: a refused page":      {retry(-1, s), 0, nil, page, responses{refuse(429, "1")}, 0, 1, horseracing.ErrRateLimited, s, "wait 1s"},
	} {
		double.Run(t, name, func(t *testing.T) {
			var sent []double.Sent
			mock := double.Noting(&sent, double.InTurn(test.responses...))
			c = double.Connect(t, double.Service, &http.Client{Transport: double.TripFunc(mock), Timeout: test.own}, test.option)
			ctx := double.Within(t, time.Hour)
			if test.before != nil {
				_ = test.before(ctx, c)
			}
			started := time.Now()
			err := test.call(ctx, c)
			api := new(horseracing.APIError)
			errors.As(err, &api)
			double.Equal(t, "time", test.took, time.Since(started).Round(s/10))
			double.Equal(t, "requests", cmp.Or(test.requests, len(sent)), len(sent))
			double.Error(t, "error", test.want, test.text, err)
			double.Equal(t, "RetryAfter", test.left, api.RetryAfter)
			double.FailIf(t, api.Attempts == 0 && strings.Contains(fmt.Sprint(err), "; wait"), "it says twice how long to wait: %v", err)
		})
	}
}
