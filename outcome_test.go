package horseracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/redact"
	"github.com/horseracing-go/horseracing/internal/transport"
)

var errReset = errors.New("connection reset")

// equal fails unless two values are equal.
func equal[T comparable](t *testing.T, what string, want, got T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// A retry of a call costs five tokens, and one of a walk costs one; refusals cost nothing. A conclusive
// response refunds the retries before it, and one without retries earns a token.
func TestBudgetOfACallAtItsEnd(t *testing.T) {
	var cancel context.CancelFunc
	canceled := func(*http.Request) (*http.Response, error) { cancel(); return nil, context.Canceled }
	reset, unsent := httpmock.NewErrorResponder(errReset), httpmock.NewErrorResponder(&transport.UnsentError{Err: errReset})
	status := func(code int) httpmock.Responder {
		return httpmock.NewStringResponder(code, `[{"main_race_id":1,"start_time":1}]`)
	}
	type responders = []httpmock.Responder
	for name, test := range map[string]struct {
		method      string // WALK is a GET for a walk
		tokens      int    // at first
		responses   responders
		left, tries int
	}{
		"a success earns a token":         {"GET", 100, responders{status(200)}, 101, 1},
		"so does a 404":                   {"GET", 100, responders{status(404)}, 101, 1},
		"a full bucket earns nothing":     {"GET", 500, responders{status(200)}, 500, 1},
		"a success refunds its retries":   {"GET", 400, responders{status(500), status(502), status(200)}, 400, 3},
		"of a write, too":                 {"POST", 400, responders{unsent, status(200)}, 400, 2},
		"of a walk, too":                  {"WALK", 5, responders{status(500), status(500), status(200)}, 5, 3},
		"the last tokens":                 {"GET", 9, responders{reset, reset}, 4, 2},
		"those of a walk":                 {"WALK", 2, responders{status(429), status(500), status(429), status(500), status(500)}, 0, 5},
		"a success after refusals":        {"GET", 0, responders{status(429), status(429), status(200)}, 1, 3},
		"a failure refunds nothing":       {"GET", 400, responders{status(500), reset, status(503), status(500)}, 385, 4},
		"nor does one that is for good":   {"GET", 400, responders{status(500), httpmock.NewErrorResponder(transport.ErrTooLarge)}, 395, 2},
		"nor does a refusal of a context": {"GET", 400, responders{status(500), canceled}, 395, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			var ctx context.Context
			ctx, cancel = context.WithCancel(t.Context())
			defer cancel()
			mock := httpmock.NewMockTransport()
			mock.RegisterNoResponder(func(req *http.Request) (*http.Response, error) {
				return test.responses[mock.GetTotalCallCount()-1](req)
			})
			c, err := NewClient("https://game.test", "an-api-key", WithHTTPClient(&http.Client{Transport: mock}))
			if err != nil {
				t.Fatal(err)
			}
			budget := &c.Races.backend.budget
			budget.Add(test.tokens - budget.Left())
			if test.method == "WALK" {
				_, _ = c.Races.Results(ResultsQuery{}).Take(ctx, 1)
			} else {
				_ = c.Do(ctx, test.method, "/", nil, nil)
			}
			equal(t, name+": tokens", test.left, budget.Left())
			equal(t, name+": attempts", test.tries, mock.GetTotalCallCount())
		})
	}
}

func TestNothingIsRetriedOnceTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	status := func(code int) *http.Response { return &http.Response{StatusCode: code, Body: new(transport.Body)} }
	for name, test := range map[string]struct {
		resp    *http.Response
		err     error
		stopped error
	}{
		"a failure":                  {status(500), nil, context.Canceled},
		"a reset":                    {nil, errReset, context.Canceled},
		"a conclusive response":      {status(404), nil, nil},
		"the end of the context":     {nil, context.Canceled, nil},
		"a failure that is for good": {nil, transport.ErrTooLarge, nil},
	} {
		x := &exchange{backend: &backend{logger: slog.New(slog.DiscardHandler)}, request: request{op: operation{method: http.MethodGet}, keys: redact.New()}}
		x.last = response{&x.request, newAttempt(1, test.resp, test.err)}
		again, err := x.check(ctx, test.resp, nil)
		equal(t, name+": again, error, stopped", fmt.Sprint(false, nil, test.stopped), fmt.Sprint(again, err, x.stopped))
	}
}

// A RetryAfter is what is left of the wait, by the response or by a later one of the route.
func TestConcludeNamesWhatIsLeftOfARetryAfter(t *testing.T) {
	for _, test := range []struct{ ago, held, want time.Duration }{
		{0, 10 * time.Second, 10 * time.Second}, {8 * time.Second, 9 * time.Second, 9 * time.Second}, {8 * time.Second, 0, 2 * time.Second}, {time.Minute, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			refused := attempt{number: 1, status: 429, header: http.Header{"Retry-After": {"10"}}, ended: time.Now().Add(-test.ago)}
			err := conclude(&response{&request{keys: redact.New()}, refused}, &pace.ExpiredError{For: test.held, Status: 429})
			api, _ := errors.AsType[*APIError](err)
			equal(t, fmt.Sprintf("%+v", test), test.want, api.RetryAfter)
		})
	}
}
