package horseracing

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/redact"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// The error of a call follows from its request, the last attempt and why no other one was sent.
func TestConcludeReturnsTheErrorOfACall(t *testing.T) {
	expired := &pace.ExpiredError{Reason: "the service refuses requests", For: time.Minute, Status: 429}
	unreadable := &DecodeError{Err: errors.New("not valid JSON")}
	unsent := &transport.UnsentError{Err: errReset}
	found := func(status int) attempt { return attempt{number: 2, status: status, header: http.Header{}} }
	const notFound, refused = "GET /races: status 404 Not Found (after 2 attempts); check the base URL", "GET /races: status 429 Too Many Requests (after 2 attempts); send fewer requests: WithRateLimit sets a limit"
	for name, test := range map[string]struct {
		method  string
		last    attempt
		stopped error
		want    string // the error's text
		unknown bool   // the outcome of the call
	}{
		"a response":                        {"GET", found(200), nil, "", false},
		"a write's":                         {"POST", found(201), nil, "", false},
		"one that cannot be used":           {"GET", attempt{number: 1, status: 200, err: unreadable}, nil, unreadable.Error(), false},
		"a write's, either":                 {"POST", attempt{number: 1, status: 200, err: unreadable}, nil, unreadable.Error(), true},
		"an error status":                   {"GET", found(404), nil, notFound, false},
		"a refusal of a write":              {"POST", found(422), nil, "POST /races: status 422 Unprocessable Entity (after 2 attempts)", false},
		"a failure of a write":              {"POST", found(500), nil, "POST /races: status 500 Internal Server Error (after 2 attempts)", true},
		"a write that nobody waited for":    {"POST", found(408), nil, "POST /races: status 408 Request Timeout (after 2 attempts)", true},
		"no response":                       {"GET", attempt{number: 2, err: errReset}, nil, "GET /races: connection reset (after 2 attempts)", false},
		"no response to a write":            {"POST", attempt{number: 1, err: errReset}, nil, "POST /races: connection reset", true},
		"a write without a connection":      {"POST", attempt{number: 1, err: unsent}, nil, "POST /races: connection reset", false},
		"nothing sent":                      {"POST", attempt{}, context.Canceled, "POST /races: context canceled", false},
		"an end after a status":             {"GET", found(503), context.Canceled, "GET /races: context canceled after status 503 (after 2 attempts)", false},
		"an end after a reset":              {"GET", attempt{number: 2, err: errReset}, context.Canceled, "GET /races: context canceled after: connection reset (after 2 attempts)", false},
		"an end after a write's refusal":    {"POST", found(429), context.Canceled, "POST /races: context canceled after status 429 (after 2 attempts)", false},
		"too long a wait after a refusal":   {"GET", found(429), expired, "GET /races: status 429 Too Many Requests (after 2 attempts); wait 1m0s before the next request", false},
		"a refusal":                         {"GET", found(429), nil, refused, false},
		"too long a wait after a reset":     {"GET", attempt{number: 1, err: errReset}, expired, "GET /races: status 429 Too Many Requests: not sent, because the service refuses requests, after: connection reset; wait 1m0s before the next request", false},
		"or after a damaged response":       {"GET", attempt{number: 1, status: 200, err: unreadable}, expired, "GET /races: status 429 Too Many Requests: not sent, because the service refuses requests, after: " + unreadable.Error() + "; wait 1m0s before the next request", false},
		"an error of the limiter":           {"GET", attempt{}, &pace.LimiterError{Err: errReset}, "GET /races: waiting for the limiter: connection reset", false},
		"a limiter's error after a failure": {"GET", found(500), &pace.LimiterError{Err: errReset}, "GET /races: waiting for the limiter: connection reset after status 500 (after 2 attempts)", false},
	} {
		r := &response{&request{op: operation{method: test.method, hint: "look"}, info: CallInfo{Method: test.method, Route: "/races"}, keys: redact.New()}, test.last}
		err := conclude(r, test.stopped)
		want := test.want
		if test.unknown {
			want += "; the outcome is unknown: look"
		}
		if _, isAPI := errors.AsType[*APIError](err); !isAPI && (test.stopped == expired || test.last.status/100 > 2) {
			t.Errorf("%s: %v is no APIError", name, err)
		}
		if test.stopped != nil && test.stopped != expired && !errors.Is(err, test.stopped) {
			t.Errorf("%s: %v is not %v", name, err, test.stopped)
		}
		if errors.Is(err, ErrOutcomeUnknown) != test.unknown || (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s:\n%v, want\n%s", name, err, want)
		}
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
			if api, isAPI := errors.AsType[*APIError](err); !isAPI || api.RetryAfter != test.want {
				t.Errorf("%+v: %v", test, err)
			}
		})
	}
}
