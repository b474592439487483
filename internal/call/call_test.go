package call

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/redact"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// service responds to the attempts of a call, one after the other.
type service struct {
	responses []func() (*http.Response, error)
	requests  []*http.Request
}

func (s *service) RoundTrip(req *http.Request) (*http.Response, error) {
	s.requests = append(s.requests, req)
	return s.responses[len(s.requests)-1]()
}

// caller returns a Caller that sends to a service.
func caller(t *testing.T, to http.RoundTripper) *Caller {
	t.Helper()
	c, err := New(Config{Transport: to, Header: func(h http.Header) { h["X-Api-Key"] = []string{"key"} }, Timeout: time.Minute, MaxBytes: 1000, Logger: slog.New(slog.DiscardHandler)})
	equal(t, "the error of New", nil, err)
	return c
}

// request returns a request; PAGE is a GET for a page.
func request(method string) *Request {
	r := &Request{
		Info: Info{Method: method, Route: "/", Attempt: 1}, URL: url.URL{Scheme: "https", Host: "game.test", Path: "/"}, Keys: redact.New(),
		Payload: []byte("{}"), Priority: pace.Reads, Retry: Retry{Max: 3, MinWait: time.Second, MaxWait: 15 * time.Second},
	}
	if method == "PAGE" {
		r.Method, r.Priority, r.IsPage = http.MethodGet, pace.Walks, true
	}
	return r
}

func accept(*Attempt) error { return nil }

func fails(err error) func() (*http.Response, error) {
	return func() (*http.Response, error) { return nil, err }
}

func responds(status int) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("[]")), ContentLength: 2}, nil
	}
}

// A retry of a call costs five tokens, and one of a walk costs one; refusals cost nothing. A conclusive
// response refunds the retries before it, and one without retries earns a token.
func TestBudgetOfACallAtItsEnd(t *testing.T) {
	var cancel context.CancelFunc
	canceled := func() (*http.Response, error) { cancel(); return nil, context.Canceled }
	reset, unsent := fails(errReset), fails(&transport.UnsentError{Err: errReset})
	type responses = []func() (*http.Response, error)
	for name, test := range map[string]struct {
		method    string
		tokens    int // at first
		responses responses
		left      int
	}{
		"a success earns a token":         {"GET", 100, responses{responds(200)}, 101},
		"so does a 404":                   {"GET", 100, responses{responds(404)}, 101},
		"a full bucket earns nothing":     {"GET", 500, responses{responds(200)}, 500},
		"a success refunds its retries":   {"GET", 400, responses{responds(500), responds(502), responds(200)}, 400},
		"of a write, too":                 {"POST", 400, responses{unsent, responds(200)}, 400},
		"of a walk, too":                  {"PAGE", 5, responses{responds(500), responds(500), responds(200)}, 5},
		"the last tokens":                 {"GET", 9, responses{reset, reset}, 4},
		"those of a walk":                 {"PAGE", 2, responses{responds(429), responds(500), responds(429), responds(500), responds(500)}, 0},
		"a success after refusals":        {"GET", 0, responses{responds(429), responds(429), responds(200)}, 1},
		"a failure refunds nothing":       {"GET", 400, responses{responds(500), reset, responds(503), responds(500)}, 385},
		"nor does one that is for good":   {"GET", 400, responses{responds(500), fails(transport.ErrTooLarge)}, 395},
		"nor does a refusal of a context": {"GET", 400, responses{responds(500), canceled}, 395},
	} {
		synctest.Test(t, func(t *testing.T) {
			var ctx context.Context
			ctx, cancel = context.WithCancel(t.Context())
			defer cancel()
			s := &service{responses: test.responses}
			c := caller(t, s)
			c.budget.Spend(500 - test.tokens)
			o := c.Do(ctx, request(test.method), accept)
			left := 0
			for c.budget.Spend(1) {
				left++
			}
			equal(t, name+": tokens", test.left, left)
			equal(t, name+": attempts, requests", []int{len(test.responses), len(test.responses)}, []int{o.Number, len(s.requests)})
		})
	}
}

// An attempt has the call's own context, its number, and nothing of the attempt before.
func TestEachAttemptIsMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{responses: []func() (*http.Response, error){responds(429), fails(errReset), responds(200)}}
		c := caller(t, s)
		o := c.Do(t.Context(), request("GET"), accept)
		equal(t, "status, error, stopped", []any{200, nil, nil}, []any{o.Status, o.Err, o.Stopped})
		equal(t, "the attempt before", []any{2, 0, errReset}, []any{o.Before.Number, o.Before.Status, o.Before.Err})
		for i, req := range s.requests {
			info, _ := FromContext(req.Context())
			body, _ := io.ReadAll(req.Body)
			equal(t, "info, header, body", []any{Info{Method: "GET", Route: "/", Attempt: i + 1}, http.Header{"X-Api-Key": {"key"}}, "{}"}, []any{info, req.Header, string(body)})
		}
	})
}

// What keeps a request from being sent is not an attempt.
func TestOutcomeSaysWhyNoAttemptFollows(t *testing.T) {
	errNoted := errors.New("not noted")
	for name, test := range map[string]struct {
		responses []func() (*http.Response, error)
		lasts     time.Duration // of the context
		onSend    func() error
		attempts  int
		stopped   error
	}{
		"the context ends before it":    {nil, 0, nil, 0, context.DeadlineExceeded},
		"in the backoff":                {[]func() (*http.Response, error){responds(500)}, time.Nanosecond, nil, 1, context.DeadlineExceeded},
		"while it waits after refusals": {[]func() (*http.Response, error){responds(429)}, time.Millisecond, nil, 1, context.DeadlineExceeded},
		"an OnSend fails":               {nil, time.Hour, func() error { return errNoted }, 0, errNoted},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), test.lasts)
			defer cancel()
			r := request("GET")
			if test.onSend != nil {
				r.OnSend = append(r.OnSend, test.onSend)
			}
			o := caller(t, &service{responses: test.responses}).Do(ctx, r, accept)
			equal(t, name, []any{test.attempts, test.stopped}, []any{o.Number, o.Stopped})
		})
	}
}
