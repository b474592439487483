package guarantees_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
)

// outcome is what came of a call to a script.
type outcome struct {
	Attempts int
	Err      error // a sentinel that errors.Is finds; nil: success
}

func TestReadsAreRetriedWhereItCanHelp(t *testing.T) {
	ok := respond(200, `[]`)
	cutBody := stream(200, 100, func() io.Reader {
		return io.MultiReader(strings.NewReader(`[{"le`), failingReader{io.ErrUnexpectedEOF})
	})
	brokenBody := stream(200, -1, func() io.Reader { return io.MultiReader(strings.NewReader(`[`), failingReader{errReset}) })
	for name, test := range map[string]struct {
		steps []step
		want  outcome
	}{
		"at once":                      {[]step{ok}, outcome{1, nil}},
		"after a reset":                {[]step{broken(errReset), ok}, outcome{2, nil}},
		"after a cut body":             {[]step{cutBody, ok}, outcome{2, nil}},
		"after a broken body":          {[]step{brokenBody, ok}, outcome{2, nil}},
		"after 408":                    {[]step{respond(408, ""), ok}, outcome{2, nil}},
		"after 429":                    {[]step{respond(429, ""), ok}, outcome{2, nil}},
		"after 500, 502, 503":          {[]step{respond(500, ""), respond(502, ""), respond(503, ""), ok}, outcome{4, nil}},
		"after 504":                    {[]step{respond(504, ""), ok}, outcome{2, nil}},
		"resets without end":           {[]step{broken(errReset)}, outcome{4, errReset}},
		"cut bodies without end":       {[]step{cutBody}, outcome{4, io.ErrUnexpectedEOF}},
		"500 without end":              {[]step{respond(500, "")}, outcome{4, horseracing.ErrServer}},
		"429 without end":              {[]step{respond(429, "")}, outcome{4, horseracing.ErrRateLimited}},
		"500, then 404":                {[]step{respond(500, ""), respond(404, "")}, outcome{2, horseracing.ErrNotFound}},
		"a reset, then 401":            {[]step{broken(errReset), respond(401, "")}, outcome{2, horseracing.ErrUnauthorized}},
		"401":                          {[]step{respond(401, "")}, outcome{1, horseracing.ErrUnauthorized}},
		"403":                          {[]step{respond(403, "")}, outcome{1, horseracing.ErrForbidden}},
		"404":                          {[]step{respond(404, "")}, outcome{1, horseracing.ErrNotFound}},
		"501":                          {[]step{respond(501, "")}, outcome{1, horseracing.ErrServer}},
		"a redirect":                   {[]step{respond(302, "", "Location: /elsewhere")}, outcome{1, horseracing.ErrRedirect}},
		"a response that is too large": {[]step{respond(200, strings.Repeat(" ", 2<<20)+"[]")}, outcome{1, horseracing.ErrResponseTooLarge}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := play(test.steps...)
				var response horseracing.Response
				_, err := s.client(t, horseracing.WithMaxResponseBytes(1<<20)).
					Races.Open(t.Context(), horseracing.CaptureResponse(&response))
				got := outcome{len(s.requests()), test.want.Err}
				if !errors.Is(err, test.want.Err) {
					got.Err = err
				}
				if diff := cmp.Diff(test.want, got, cmp.Comparer(func(a, b error) bool { return a == b })); diff != "" {
					t.Errorf("outcome (-want +got):\n%s", diff)
				}
				if response.Attempts != test.want.Attempts {
					t.Errorf("Response.Attempts is %d after %d requests", response.Attempts, test.want.Attempts)
				}
				var api *horseracing.APIError
				if errors.As(err, &api) && api.Attempts != test.want.Attempts {
					t.Errorf("APIError.Attempts is %d after %d requests", api.Attempts, test.want.Attempts)
				}
				var transport *horseracing.TransportError
				if errors.As(err, &transport) && transport.Attempts != test.want.Attempts {
					t.Errorf("TransportError.Attempts is %d after %d requests", transport.Attempts, test.want.Attempts)
				}
			})
		})
	}
}

// A 200 that is an HTML page or cut short is likely to be whole the next time.
func TestADamagedReadIsRetriedOnce(t *testing.T) {
	const page = "<!DOCTYPE html><title>Bad gateway</title>"
	horse := respond(200, `{"name":"Comet","level":3}`)
	decode := errors.New("a DecodeError") // in place of a sentinel
	for name, test := range map[string]struct {
		steps []step
		want  outcome
	}{
		"a page":                   {[]step{respond(200, page), horse}, outcome{2, nil}},
		"cut JSON":                 {[]step{respond(200, `{"breed":"Gone","lev`), horse}, outcome{2, nil}},
		"cut in the first member":  {[]step{respond(200, `{`), horse}, outcome{2, nil}},
		"a page, then a 503":       {[]step{respond(200, page), respond(503, ""), horse}, outcome{3, nil}},
		"a 503, then a page":       {[]step{respond(503, ""), respond(200, page), horse}, outcome{3, nil}},
		"a page, then a 404":       {[]step{respond(200, page), respond(404, "")}, outcome{2, horseracing.ErrNotFound}},
		"pages without end":        {[]step{respond(200, page)}, outcome{2, decode}},
		"a page, then cut JSON":    {[]step{respond(200, page), respond(200, "{"), horse}, outcome{2, decode}},
		"a page, a 503, a page":    {[]step{respond(200, page), respond(503, ""), respond(200, page), horse}, outcome{3, decode}},
		"another shape":            {[]step{respond(200, `[1]`), horse}, outcome{1, decode}},
		"not JSON":                 {[]step{respond(200, `{name}`), horse}, outcome{1, decode}},
		"more than one JSON value": {[]step{respond(200, `{"name":"a"} {`), horse}, outcome{1, decode}},
		"an empty body":            {[]step{respond(200, ``), horse}, outcome{1, decode}},
		"an error object":          {[]step{respond(200, `{"error":"asleep"}`), horse}, outcome{1, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := play(test.steps...)
				var response horseracing.Response
				got, err := s.client(t).Horses.Get(t.Context(), 7, horseracing.CaptureResponse(&response))
				if n := len(s.requests()); n != test.want.Attempts || response.Attempts != n {
					t.Errorf("%d requests, %d attempts, want %d", n, response.Attempts, test.want.Attempts)
				}
				var d *horseracing.DecodeError
				switch {
				case name == "an error object":
				case test.want.Err == nil && (err != nil || got.Name != "Comet" || got.Breed != ""):
					t.Errorf("got %+v, %v", got, err)
				case test.want.Err == decode && !errors.As(err, &d):
					t.Errorf("got %v", err)
				case test.want.Err != nil && test.want.Err != decode && !errors.Is(err, test.want.Err):
					t.Errorf("got %v", err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		// What Do decodes into is the caller's: nothing of the cut response is left in it.
		object := map[string]int{"mine": 1}
		if err := play(respond(200, `{"cut":2,"mo`), respond(200, `{"whole":3}`)).client(t).Do(t.Context(), "GET", "/x", nil, &object); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(map[string]int{"mine": 1, "whole": 3}, object); diff != "" {
			t.Errorf("Do (-want +got):\n%s", diff)
		}
		list, err := play(respond(200, `[{"level":1},{"lev`), respond(200, `[{"level":2}]`)).client(t).Horses.Owned(t.Context(), userKey)
		if err != nil || len(list) != 1 || list[0].Level != 2 {
			t.Errorf("a list: %+v, %v", list, err)
		}
		s := play(respond(200, page))
		if _, err := s.client(t, noRetries()).Horses.Get(t.Context(), 7); err == nil || len(s.requests()) != 1 {
			t.Errorf("with Max 0: %d requests, %v", len(s.requests()), err)
		}
		s = play(respond(503, ""))
		c := s.client(t)
		for range 100 { // the budget is spent
			c.Races.Open(t.Context())
		}
		s.steps = []step{respond(200, page)}
		before := len(s.requests())
		if _, err := c.Races.Open(t.Context()); err == nil || len(s.requests()) != before+1 {
			t.Errorf("without a budget: %d requests, %v", len(s.requests())-before, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s = play(respond(200, page))
		slow := horseracing.WithRetry(horseracing.Retry{Max: 3, MinWait: 1000 * time.Hour, MaxWait: 1000 * time.Hour})
		if _, err := s.client(t, slow).Races.Open(ctx); !errors.Is(err, context.DeadlineExceeded) || len(s.requests()) != 1 {
			t.Errorf("with a context that ends: %d requests, %v", len(s.requests()), err)
		}
	})
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

func TestWithRetrySetsHowOften(t *testing.T) {
	for most := range 6 {
		synctest.Test(t, func(t *testing.T) {
			s := play(respond(503, ""))
			_, err := s.client(t, horseracing.WithRetry(horseracing.Retry{Max: most})).Races.Open(t.Context())
			if !errors.Is(err, horseracing.ErrServer) || len(s.requests()) != most+1 {
				t.Errorf("Max %d: %d requests, %v", most, len(s.requests()), err)
			}
		})
	}
}

func TestTheLastResponseReachesTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(respond(500, `{"message":"first"}`), respond(503, `{"message":"last words"}`, "X-Trace: 42"))
		_, err := s.client(t).Races.Open(t.Context())
		var api *horseracing.APIError
		if !errors.As(err, &api) {
			t.Fatalf("got %v", err)
		}
		if api.StatusCode != 503 || api.Message != "last words" || api.Header.Get("X-Trace") != "42" ||
			string(api.Body) != `{"message":"last words"}` || api.Attempts != 4 {
			t.Errorf("got %+v, header %v, body %s", api, api.Header, api.Body)
		}
	})
}

func TestWaitsAreRandomAndGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := horseracing.Retry{Max: 7, MinWait: time.Second, MaxWait: 20 * time.Second}
		var longest [7]time.Duration
		distinct := map[time.Duration]bool{}
		const calls = 60
		for range calls {
			s := play(broken(errReset))
			s.client(t, horseracing.WithRetry(policy)).Races.Open(t.Context())
			waits := s.waits()
			if len(waits) != 7 {
				t.Fatalf("%d waits", len(waits))
			}
			for i, w := range waits {
				if ceiling := min(policy.MinWait<<i, policy.MaxWait); w < 0 || w > ceiling {
					t.Errorf("wait %d is %v, beyond %v", i, w, ceiling)
				}
				longest[i] = max(longest[i], w)
				distinct[w] = true
			}
		}
		if len(distinct) < 6*calls {
			t.Errorf("only %d different waits in %d", len(distinct), 7*calls)
		}
		for i, w := range longest { // 60 draws below half the range: one in 10^18
			if w < min(policy.MinWait<<i, policy.MaxWait)/2 {
				t.Errorf("wait %d never exceeded %v: the waits do not grow", i, w)
			}
		}
	})
}

func TestWaitsDoNotOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, policy := range []horseracing.Retry{
			{Max: 3, MinWait: math.MaxInt64, MaxWait: math.MaxInt64},
			{Max: 80, MinWait: time.Nanosecond, MaxWait: 3 * time.Nanosecond},
			{Max: 80, MinWait: 1, MaxWait: 1},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
			s := play(broken(errReset))
			s.client(t, horseracing.WithRetry(policy)).Races.Open(ctx)
			for _, w := range s.waits() {
				if w < 0 || w > policy.MaxWait {
					t.Errorf("%+v: waited %v", policy, w)
				}
			}
			cancel()
		}
	})
}

func TestRetryAfterIsHonouredUpToMaxWait(t *testing.T) {
	const never = time.Duration(math.MaxInt64)
	inBubble := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // where synctest's clock begins
	for _, test := range []struct {
		header string
		wait   time.Duration // at least, and up to a tenth more; 0: no more than a random first wait
		asked  time.Duration // more than MaxWait: returned, not slept
	}{
		{"3", 3 * time.Second, 0},
		{" 3 ", 3 * time.Second, 0},
		{"10", 10 * time.Second, 0},
		{inBubble.Add(4 * time.Second).Format(http.TimeFormat), 4 * time.Second, 0},
		{inBubble.Add(4 * time.Second).Format("Monday, 02-Jan-06 15:04:05 GMT"), 4 * time.Second, 0},
		{"11", 0, 11 * time.Second},
		{"86400", 0, 24 * time.Hour},
		{inBubble.Add(time.Hour).Format(http.TimeFormat), 0, time.Hour},
		{"9223372036", 0, 9223372036 * time.Second},
		{"9223372037", 0, 9223372036 * time.Second},           // would overflow a Duration
		{"99999999999999999999", 0, 9223372036 * time.Second}, // would overflow an int64
		{strings.Repeat("9", 200), 0, 9223372036 * time.Second},
		{"Fri, 31 Dec 9999 23:59:59 GMT", 0, never}, // would overflow Sub
		{"0", 0, 0},
		{"-1", 0, 0},
		{"-9223372037", 0, 0},
		{"-99999999999999999999", 0, 0},
		{"Fri, 31 Dec 1999 23:59:00 GMT", 0, 0}, // past
		{"Sat, 01 Jan 0000 00:00:00 GMT", 0, 0},
		{"soon", 0, 0},
		{"1.5", 0, 0},
		{"0x10", 0, 0},
		{"", 0, 0},
	} {
		for _, status := range []int{429, 503} {
			t.Run(fmt.Sprint(test.header[:min(len(test.header), 30)], " ", status), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := play(respond(status, "", "Retry-After: "+test.header), respond(200, "[]"))
					policy := horseracing.Retry{Max: 1, MinWait: 10 * time.Millisecond, MaxWait: 10 * time.Second}
					started := time.Now()
					_, err := s.client(t, horseracing.WithRetry(policy)).Races.Open(t.Context())
					if test.asked > 0 {
						var api *horseracing.APIError
						if !errors.As(err, &api) || api.StatusCode != status || api.RetryAfter != test.asked {
							t.Errorf("got %v", err)
						}
						if took := time.Since(started); took != 0 || len(s.requests()) != 1 {
							t.Errorf("returned after %v and %d requests, want at once", took, len(s.requests()))
						}
						return
					}
					if err != nil || len(s.waits()) != 1 {
						t.Fatalf("%d requests, %v", len(s.requests()), err)
					}
					if got := s.waits()[0]; got < test.wait || got > max(test.wait+test.wait/10, policy.MinWait) {
						t.Errorf("waited %v, want %v", got, test.wait)
					}
				})
			})
		}
	}
}

// The clock of this machine may be wrong, so a date is measured from the
// response's own.
func TestARetryAfterDateIsMeasuredFromTheResponsesDate(t *testing.T) {
	inBubble := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // where synctest's clock begins
	for off := range map[time.Duration]bool{-10 * time.Minute: true, 0: true, 10 * time.Minute: true, 24 * time.Hour: true} {
		synctest.Test(t, func(t *testing.T) {
			date := "Date: " + inBubble.Add(off).Format(http.TimeFormat)
			after := "Retry-After: " + inBubble.Add(off+4*time.Second).Format(http.TimeFormat)
			s := play(respond(429, "", date, after), respond(200, "[]"))
			if _, err := s.client(t).Races.Open(t.Context()); err != nil || len(s.waits()) != 1 || s.waits()[0] < 4*time.Second || s.waits()[0] > 5*time.Second {
				t.Errorf("a clock %v off: %v, waited %v", off, err, s.waits())
			}
			_, err := play(respond(403, "", date, after)).client(t).Races.Open(t.Context())
			var api *horseracing.APIError
			if !errors.As(err, &api) || api.RetryAfter != 4*time.Second {
				t.Errorf("a clock %v off: %v", off, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := play(respond(429, "", "Date: today", "Retry-After: "+inBubble.Add(4*time.Second).Format(http.TimeFormat)), respond(200, "[]"))
		if _, err := s.client(t).Races.Open(t.Context()); err != nil || s.waits()[0] < 4*time.Second {
			t.Errorf("without a readable Date: %v, waited %v", err, s.waits())
		}
	})
}

// Clients that were refused together must not come back together.
func TestWaitsThatARetryAfterSetsAreSpreadUpwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 200
		var mu sync.Mutex
		came := map[time.Duration]bool{}
		var earliest, latest time.Duration = math.MaxInt64, 0
		var work sync.WaitGroup
		for range workers {
			work.Go(func() {
				s := play(respond(429, "", "Retry-After: 10"), respond(200, "[]"))
				if _, err := s.client(t).Races.Open(t.Context()); err != nil {
					t.Error(err)
				}
				wait := s.waits()[0]
				mu.Lock()
				defer mu.Unlock()
				came[wait] = true
				earliest, latest = min(earliest, wait), max(latest, wait)
			})
		}
		work.Wait()
		if len(came) < workers*9/10 || earliest < 10*time.Second || latest > 11*time.Second || latest-earliest < 900*time.Millisecond {
			t.Errorf("%d workers came back in %d instants from %v to %v", workers, len(came), earliest, latest)
		}
	})
}

func TestRetryAfterIsReportedWithWhateverStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for header, want := range map[string]time.Duration{
			"7": 7 * time.Second, "Sat, 01 Jan 2000 01:00:00 GMT": time.Hour, "Fri, 31 Dec 1999 23:59:00 GMT": 0, "-7": 0, "soon": 0, "": 0,
		} {
			_, err := play(respond(403, "", "Retry-After: "+header)).client(t).Races.Open(t.Context())
			var api *horseracing.APIError
			if !errors.As(err, &api) || api.RetryAfter != want {
				t.Errorf("%q: want %v, got %v", header, want, err)
			}
		}
	})
}

func TestAnOutageDoesNotMultiplyLoad(t *testing.T) {
	for _, down := range []step{respond(503, ""), broken(errReset)} {
		synctest.Test(t, func(t *testing.T) {
			s := play(down)
			c := s.client(t)
			load := func(calls int) int {
				before := len(s.requests())
				for range calls {
					c.Races.Open(t.Context())
				}
				return len(s.requests()) - before
			}
			if n := load(1000); n > 1100 {
				t.Errorf("1000 calls into an outage made %d requests", n)
			}
			if n := load(100); n != 100 {
				t.Errorf("100 calls into a long outage made %d requests", n)
			}
			// Back again: successes earn retries for the next failure.
			s.steps = []step{respond(200, "[]")}
			load(500)
			s.steps = []step{down}
			if n := load(10); n != 40 {
				t.Errorf("10 calls after the service was back made %d requests, want 4 each", n)
			}
		})
	}
}

// A success after n retries refunds what all n cost, and no more than the bucket
// holds: three faults in a row, again and again, use nothing up.
func TestASuccessRefundsWhatItsRetriesCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		s := play(func(req *http.Request) (*http.Response, error) {
			if n++; n%4 != 0 {
				return respond(503, "")(req)
			}
			return respond(200, "[]")(req)
		})
		c := s.client(t)
		for i := range 300 {
			if _, err := c.Races.Open(t.Context()); err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
		}
		// The bucket is full, and no fuller: an outage still has its end.
		s.steps = []step{respond(503, "")}
		before := len(s.requests())
		for range 200 {
			c.Races.Open(t.Context())
		}
		if requests := len(s.requests()) - before; requests != 300 {
			t.Errorf("200 calls into an outage made %d requests, want 100 retries", requests)
		}
	})
}

// Faults that come at random, and go with the next attempt, use nothing up.
func TestRandomFaultsCostNoCalls(t *testing.T) {
	for _, rate := range []float64{0.1, 0.2, 0.3} {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			s := play(func(req *http.Request) (*http.Response, error) {
				if rng.Float64() < rate {
					return respond(503, "")(req)
				}
				return respond(200, "[]")(req)
			})
			c := s.client(t, horseracing.WithRetry(horseracing.Retry{Max: 10}))
			for i := range 5000 {
				if _, err := c.Races.Open(t.Context()); err != nil {
					t.Fatalf("call %d with %.0f %% faults: %v", i, 100*rate, err)
				}
			}
		})
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	cause := errors.New("the user left")
	for name, test := range map[string]struct {
		down step
		end  func(context.Context) (context.Context, context.CancelFunc)
		want error
	}{
		"cancelled after a status": {respond(503, "", "Retry-After: 3600"), func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(time.Minute, func() { cancel(cause) })
			return ctx, func() { cancel(nil) }
		}, context.Canceled},
		"cancelled after a reset": {broken(errReset), func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Minute, cancel)
			return ctx, cancel
		}, context.Canceled},
		"out of time after a status": {respond(503, "", "Retry-After: 3600"), func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Minute)
		}, context.DeadlineExceeded},
		"out of time after a reset": {broken(errReset), func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Minute)
		}, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				policy := horseracing.Retry{Max: 1000, MinWait: 2 * time.Hour, MaxWait: 1000 * time.Hour}
				ctx, cancel := test.end(t.Context())
				defer cancel()
				started := time.Now()
				s := play(test.down)
				_, err := s.client(t, horseracing.WithRetry(policy)).Races.Open(ctx)
				if took := time.Since(started); took != time.Minute {
					t.Errorf("returned after %v", took)
				}
				if !errors.Is(err, test.want) {
					t.Errorf("got %v", err)
				}
				if text := err.Error(); !strings.Contains(text, "waiting to retry") {
					t.Errorf("the text does not say what was going on: %s", text)
				}
			})
		})
	}
}

func TestTheContextEndsAReadWhereverItIs(t *testing.T) {
	for name, hang := range map[string]step{
		"before the response": func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		},
		"before the response, another cause": func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, errReset
		},
		"within the body":                 hangingBody(200),
		"within the body of a failure":    hangingBody(503),
		"within the body of a rate limit": hangingBody(429),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, test := range []struct {
					want error
					end  func(context.Context) (context.Context, context.CancelFunc)
				}{
					{context.DeadlineExceeded, func(ctx context.Context) (context.Context, context.CancelFunc) {
						return context.WithTimeout(ctx, time.Second)
					}},
					{context.Canceled, func(ctx context.Context) (context.Context, context.CancelFunc) {
						ctx, cancel := context.WithCancel(ctx)
						time.AfterFunc(time.Second, cancel)
						return ctx, cancel
					}},
				} {
					ctx, cancel := test.end(t.Context())
					defer cancel()
					s := play(hang)
					started := time.Now()
					_, err := s.client(t).Races.Open(ctx)
					if !errors.Is(err, test.want) || strings.Contains(err.Error(), "waiting to retry") {
						t.Errorf("got %v, want %v", err, test.want)
					}
					if took := time.Since(started); took != time.Second || len(s.requests()) != 1 {
						t.Errorf("%d requests in %v", len(s.requests()), took)
					}
				}
			})
		})
	}
}

// What refuses for good says so, whenever the context ended.
func TestTheContextHidesNoRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := play(hangingBody(404)).client(t).Races.Open(ctx); !errors.Is(err, horseracing.ErrNotFound) {
			t.Errorf("got %v", err)
		}
	})
}

// hangingBody responds with a body that does not come.
func hangingBody(status int) step {
	return func(req *http.Request) (*http.Response, error) {
		return stream(status, -1, func() io.Reader {
			return readerFunc(func([]byte) (int, error) {
				<-req.Context().Done()
				return 0, errReset
			})
		})(req)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestAnEndedContextSendsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := play(respond(200, "[]"))
	c := s.client(t)
	if _, err := c.Races.Open(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v", err)
	}
	if _, err := c.Races.Register(ctx, entry); !errors.Is(err, context.Canceled) || errors.Is(err, horseracing.ErrOutcomeUnknown) {
		t.Errorf("Register: %v", err)
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// An attempt ends after its time wherever it hangs: before the response, or in a
// body that drips.
func TestTheAttemptTimeoutCoversTheBody(t *testing.T) {
	for name, fault := range map[string]horseracingtest.Fault{
		"no response":       {Times: -1, Delay: time.Hour},
		"a body that drips": {Times: -1, Drip: time.Second},
		"a 500 that drips":  {Times: -1, Drip: time.Second, Status: 500, Body: strings.Repeat("x", 3000)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := horseracingtest.NewServer(horseracingtest.WithInMemory(), horseracingtest.WithClock(time.Now))
				defer server.Close()
				server.Inject(fault)
				c := server.Client(horseracing.WithAttemptTimeout(10*time.Second),
					horseracing.WithRetry(horseracing.Retry{Max: 2, MinWait: 1, MaxWait: 1}))
				started := time.Now()
				_, err := c.Races.Results(horseracing.ResultsQuery{}).Take(t.Context(), 1)
				if took := time.Since(started).Round(time.Second); took != 30*time.Second {
					t.Errorf("three attempts of 10 s took %v", took)
				}
				if fault.Status == 0 && !errors.Is(err, context.DeadlineExceeded) || fault.Status == 500 && !errors.Is(err, horseracing.ErrServer) {
					t.Errorf("got %v", err)
				}
				if n := server.RequestCount(); n != 3 {
					t.Errorf("%d requests", n)
				}
			})
		})
	}
}

func TestTheCallersTimeoutBoundsAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		c := connect(t, service, &http.Client{Transport: s, Timeout: 5 * time.Second},
			horseracing.WithRetry(horseracing.Retry{Max: 2, MinWait: 1, MaxWait: 1}))
		started := time.Now()
		_, err := c.Races.Open(t.Context())
		if took := time.Since(started).Round(time.Second); took != 15*time.Second || len(s.requests()) != 3 {
			t.Errorf("%d attempts of 5 s took %v", len(s.requests()), took)
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// counter is a limiter that counts, and fails from the n-th token on.
type counter struct {
	tokens atomic.Int64
	fail   int64
}

var errNoTokens = errors.New("no tokens left")

func (c *counter) Wait(context.Context) error {
	if n := c.tokens.Add(1); c.fail > 0 && n >= c.fail {
		return errNoTokens
	}
	return nil
}

func TestEveryAttemptTakesAToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := new(counter)
		s := play(respond(503, ""))
		s.client(t, horseracing.WithLimiter(limiter)).Races.Open(t.Context())
		if got := limiter.tokens.Load(); got != 4 || len(s.requests()) != 4 {
			t.Errorf("%d tokens for %d requests", got, len(s.requests()))
		}
	})
}

func TestAnErrorOfTheLimiterEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, call := range map[string]func(context.Context, *horseracing.Client) error{"a read": openRaces, "a registration": register} {
			limiter := &counter{fail: 2}
			s := play(respond(429, ""))
			err := call(t.Context(), s.client(t, horseracing.WithLimiter(limiter)))
			if !errors.Is(err, errNoTokens) || errors.Is(err, horseracing.ErrOutcomeUnknown) {
				t.Errorf("%s: %v", name, err)
			}
			if asked := limiter.tokens.Load(); asked != 2 || len(s.requests()) != 1 {
				t.Errorf("%s: the limiter was asked %d times for %d requests", name, asked, len(s.requests()))
			}
		}
	})
}

// The limiter may let a call wait for longer than an attempt may take.
func TestWaitingForTheLimiterIsNoPartOfAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := play(respond(200, "[]")).client(t, horseracing.WithRateLimit(0.01, 1), horseracing.WithAttemptTimeout(time.Second))
		for range 3 {
			if _, err := c.Races.Open(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestTheRateLimitSpacesRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(respond(200, "[]"))
		c := s.client(t, horseracing.WithRateLimit(2, 3))
		for range 7 {
			if _, err := c.Races.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		const gap = 500 * time.Millisecond
		if diff := cmp.Diff([]time.Duration{0, 0, gap, gap, gap, gap}, s.waits()); diff != "" {
			t.Errorf("waits (-want +got):\n%s", diff)
		}
		ctx, cancel := context.WithTimeout(t.Context(), gap/2)
		defer cancel()
		if _, err := c.Races.Open(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("no token in time: got %v", err)
		}
	})
}

func TestEveryAttemptSendsTheSameRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(broken(errReset), respond(500, ""), respond(502, ""), respond(200, "[]"))
		if _, err := s.client(t).Horses.Owned(t.Context(), "a-user's key"); err != nil {
			t.Fatal(err)
		}
		first := s.requests()[0]
		if first.body != `{"user_key":"a-user's key"}` {
			t.Errorf("body %s", first.body)
		}
		for _, r := range s.requests() {
			if r.body != first.body || r.request.URL.String() != first.request.URL.String() {
				t.Errorf("sent %v with %s, at first %v with %s", r.request.URL, r.body, first.request.URL, first.body)
			}
			if diff := cmp.Diff(first.request.Header, r.request.Header); diff != "" {
				t.Errorf("header (-first +now):\n%s", diff)
			}
			if r.request.ContentLength != int64(len(first.body)) || len(r.request.TransferEncoding) != 0 {
				t.Errorf("Content-Length %d for %d bytes", r.request.ContentLength, len(first.body))
			}
		}
	})
}

// Proxies refuse a GET whose body comes in chunks.
func TestAGetWithABodyHasAContentLengthOnTheWire(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength <= 0 || len(r.TransferEncoding) > 0 {
			w.WriteHeader(http.StatusLengthRequired)
			return
		}
		io.WriteString(w, "[]")
	}))
	defer server.Close()
	if _, err := connect(t, server.URL, server.Client()).Horses.Owned(t.Context(), userKey); err != nil {
		t.Error(err)
	}
}

func TestAnUntrustedCertificateIsNotTriedAgain(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	var handshakes atomic.Int64
	server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		handshakes.Add(1)
		return nil, nil
	}}
	server.Config.ErrorLog = silent
	server.StartTLS()
	defer server.Close()
	c := connect(t, server.URL, nil, briefly)
	_, err := c.Races.Open(t.Context())
	var untrusted *tls.CertificateVerificationError
	if !errors.As(err, &untrusted) || handshakes.Load() != 1 {
		t.Errorf("Open, after %d handshakes: %v", handshakes.Load(), err)
	}
	_, err = c.Races.Register(t.Context(), entry)
	if !errors.As(err, &untrusted) || errors.Is(err, horseracing.ErrOutcomeUnknown) || handshakes.Load() != 2 {
		t.Errorf("Register, after %d handshakes: %v", handshakes.Load(), err)
	}
}

func TestAServerWithoutTLSIsNamedAndNotTriedAgain(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	var connections atomic.Int64
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Config.ErrorLog = silent
	server.Start()
	defer server.Close()
	c := connect(t, strings.Replace(server.URL, "http://", "https://", 1), nil, briefly)
	_, err := c.Races.Open(t.Context())
	if err == nil || !strings.Contains(err.Error(), "should the base URL begin with http://?") || connections.Load() != 1 {
		t.Errorf("Open, after %d connections: %v", connections.Load(), err)
	}
	if _, err = c.Races.Register(t.Context(), entry); err == nil || errors.Is(err, horseracing.ErrOutcomeUnknown) || connections.Load() != 2 {
		t.Errorf("Register, after %d connections: %v", connections.Load(), err)
	}
}

// A list is always there: where it is not, the base URL leads elsewhere.
func TestAMissingListQuestionsTheBaseURL(t *testing.T) {
	c := play(respond(404, "")).client(t)
	_, err := c.Races.Open(t.Context())
	if err == nil || !strings.HasSuffix(err.Error(), "status 404 Not Found; is the base URL right?") {
		t.Errorf("Open: %v", err)
	}
	for name, call := range map[string]func() error{
		"Get":      func() error { _, err := c.Races.Get(t.Context(), 1); return err },
		"Register": func() error { _, err := c.Races.Register(t.Context(), entry); return err },
	} {
		if err := call(); !errors.Is(err, horseracing.ErrNotFound) || strings.Contains(err.Error(), "base URL") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// closeCounter is a transport that several clients may share.
type closeCounter struct {
	http.RoundTripper
	closed atomic.Int64
}

func (c *closeCounter) CloseIdleConnections() { c.closed.Add(1) }

func TestFailingCallsLeaveTheSharedPoolAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &closeCounter{RoundTripper: play(respond(503, ""))}
		c := connect(t, service, &http.Client{Transport: shared})
		c.Races.Open(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
		defer cancel()
		c.Races.Open(ctx)
		c.Races.Register(t.Context(), entry)
		if n := shared.closed.Load(); n != 0 {
			t.Errorf("the idle connections were closed %d times", n)
		}
	})
}

func TestTheCallersClientIsNotChanged(t *testing.T) {
	mine := &http.Client{Transport: play(respond(302, "", "Location: /")), Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { t.Error("CheckRedirect was called"); return nil }}
	transport := mine.Transport
	c := connect(t, service, mine)
	c.Races.Open(t.Context())
	c.Races.Register(t.Context(), entry)
	if mine.Transport != transport || mine.Timeout != time.Minute || mine.CheckRedirect == nil || mine.Jar != nil {
		t.Errorf("changed to %+v", mine)
	}
	pool := &http.Transport{MaxIdleConnsPerHost: 3}
	connect(t, service, &http.Client{Transport: pool})
	if pool.DisableKeepAlives || pool.MaxIdleConnsPerHost != 3 {
		t.Errorf("the transport was changed")
	}
	if _, err := horseracing.NewClient(service, appKey); err != nil {
		t.Fatal(err)
	}
	if def := http.DefaultTransport.(*http.Transport); def.MaxIdleConnsPerHost != 0 || def.DisableKeepAlives {
		t.Errorf("http.DefaultTransport was changed")
	}
}
