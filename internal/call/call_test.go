package call

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/horseracing-go/horseracing/guarantees/double/check"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/redact"
)

// service responds to the attempts of a call, one after the other.
type service struct {
	responses []func() (*http.Response, error)
	requests  []*http.Request
}

func (s *service) RoundTrip(req *http.Request) (*http.Response, error) {
	s.requests = append(s.requests, req.Clone(req.Context()))
	req.Header.Set("X-Earlier", "1") // as a transport of a caller may
	return s.responses[len(s.requests)-1]()
}

// caller returns a Caller that sends to a service.
func caller(t *testing.T, to http.RoundTripper, changes ...func(*Config)) *Caller {
	t.Helper()
	config := Config{
		Transport: to, Header: func(h http.Header) { h["X-Api-Key"] = []string{"key"} }, Timeout: time.Minute, MaxBytes: 1000, Logger: slog.New(slog.DiscardHandler),
	}
	for _, change := range changes {
		change(&config)
	}
	c, err := New(config)
	check.Equal(t, "the error of New", nil, err)
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

func responds(status int, retryAfter ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Retry-After": retryAfter}, Body: io.NopCloser(strings.NewReader("[]")), ContentLength: 2}, nil
	}
}

// A retry of a call costs five tokens, and one of a walk costs one; refusals cost nothing. A conclusive
// response refunds the retries before it, and one without retries earns a token.
func TestBudgetOfACallAtItsEnd(t *testing.T) {
	var cancel context.CancelFunc
	canceled := func() (*http.Response, error) { cancel(); return nil, context.Canceled }
	reset := fails(errReset)
	type responses = []func() (*http.Response, error)
	for name, test := range map[string]struct {
		method    string
		tokens    int // at first
		responses responses
		left      int
	}{
		"a success earns a token":         {"GET", 100, responses{responds(200)}, 101},
		"a success refunds its retries":   {"GET", 400, responses{responds(500), responds(502), responds(200)}, 400},
		"the last tokens":                 {"GET", 9, responses{reset, reset}, 4},
		"those of a walk":                 {"PAGE", 2, responses{responds(429), responds(500), responds(429), responds(500), responds(500)}, 0},
		"a success after refusals":        {"GET", 0, responses{responds(429), responds(429), responds(200)}, 1},
		"a failure refunds nothing":       {"GET", 400, responses{responds(500), reset, responds(503), responds(500)}, 385},
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
			check.Equal(t, name+": tokens", test.left, left)
			check.Equal(t, name+": attempts, requests", []int{len(test.responses), len(test.responses)}, []int{o.Number, len(s.requests)})
		})
	}
}

// logs has a caller log to a text.
func logs(log *bytes.Buffer) func(*Config) {
	return func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) }
}

type limiter func()

func (l limiter) Wait(context.Context) error { l(); return nil }

// An attempt has the call's own context, its number, and nothing of the attempt before. Before the first one the OnSend
// functions run in order, once the call has its turn, and have all the time that they need.
func TestEachAttemptIsMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{responses: []func() (*http.Response, error){responds(429), fails(errReset), responds(200)}}
		var events []string
		note := func(event string) { events = append(events, fmt.Sprint(event, " ", len(s.requests))) }
		c := caller(t, s, func(c *Config) { c.Limiter = limiter(func() { note("turn") }) })
		r := request("GET")
		r.OnSend = []func() error{func() error { time.Sleep(time.Hour); note("first"); return nil }, func() error { note("second"); return nil }}
		o := c.Do(t.Context(), r, accept)
		check.Equal(t, "events, and requests before them", []string{"turn 0", "first 0", "second 0", "turn 1", "turn 2"}, events)
		check.Equal(t, "status, error, stopped", []any{200, nil, nil}, []any{o.Status, o.Err, o.Stopped})
		check.Equal(t, "the attempt before", []any{2, 0, errReset}, []any{o.Before.Number, o.Before.Status, o.Before.Err})
		for i, req := range s.requests {
			info, _ := FromContext(req.Context())
			body, _ := io.ReadAll(req.Body)
			check.Equal(t, "info, header, body", []any{Info{Method: "GET", Route: "/", Attempt: i + 1}, http.Header{"X-Api-Key": {"key"}}, "{}", int64(2)}, []any{info, req.Header, string(body), req.ContentLength})
		}
	})
}

// What keeps a request from being sent is not an attempt.
func TestOutcomeSaysWhyNoAttemptFollows(t *testing.T) {
	errNoted := errors.New("not noted")
	var cancel context.CancelFunc
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
		"the context ends in an OnSend": {nil, time.Hour, func() error { cancel(); return nil }, 0, context.Canceled},
	} {
		synctest.Test(t, func(t *testing.T) {
			var ctx context.Context
			ctx, cancel = context.WithTimeout(t.Context(), test.lasts)
			defer cancel()
			r := request("GET")
			if test.onSend != nil {
				r.OnSend = append(r.OnSend, test.onSend)
			}
			o := caller(t, &service{responses: test.responses}).Do(ctx, r, accept)
			check.Equal(t, name, []any{test.attempts, test.stopped}, []any{o.Number, o.Stopped})
		})
	}
}

// A line says how long the call will wait, or there is no line because it is not sent again.
func TestRetryIsLoggedWhenItsWaitBegins(t *testing.T) {
	for name, test := range map[string]struct {
		method string
		first  func() (*http.Response, error)
		want   string
	}{
		"after a Retry-After":                {"GET", responds(429, "4"), "attempt=1 status=429 wait=4s"},
		"after a failure":                    {"GET", responds(502, "15"), "attempt=1 status=502 wait=15s"},
		"not for a turn that comes too late": {"GET", responds(429, "3600"), ""},
		"a page's after a failure":           {"PAGE", responds(502, "15"), "attempt=1 status=502 wait=15s"},
		"not after the refusal of a page":    {"PAGE", responds(429, "4"), ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			began := time.Now().Format("time=2006-01-02T15:04:05.000Z level=WARN msg=\"horseracing: retry\"")
			caller(t, &service{responses: []func() (*http.Response, error){test.first, responds(200)}}, logs(&log)).Do(t.Context(), request(test.method), accept)
			if strings.Count(log.String(), began) != min(len(test.want), 1) || !strings.Contains(log.String(), test.want) {
				t.Errorf("%s: %s, want %s", name, &log, test.want)
			}
		})
	}
}

// Each page has an hour of its own. The wait is logged each minute, for all of them together, and once that it is over.
func TestARefusedPageFailsAfterAnHourAndItsWaitIsLoggedEachMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		respond := responds(200)
		c := caller(t, roundTripper(func(*http.Request) (*http.Response, error) { return respond() }), logs(&log))
		for _, retryAfter := range [][]string{nil, {"3600"}} {
			respond = responds(429, retryAfter...)
			log.Reset()
			began := time.Now()
			var calls sync.WaitGroup
			for range 3 {
				calls.Go(func() { c.Do(t.Context(), request("PAGE"), accept) })
			}
			calls.Wait()
			took, lines := time.Since(began), strings.Count(log.String(), "waiting until the service accepts requests")
			most := maxRefusal + 10*time.Minute
			if retryAfter != nil { // the three attempts are an hour apart
				most += 2 * time.Hour
			}
			if minutes := int(took.Minutes()); took < maxRefusal || took > most || lines < minutes-5 || lines > minutes+1 {
				t.Errorf("Retry-After %v: after %v, with %d lines", retryAfter, took, lines)
			}
		}
		respond = responds(200)
		for range 2 {
			c.Do(t.Context(), request("PAGE"), accept)
			check.Equal(t, "lines that it is over", 1, strings.Count(log.String(), "the service accepts requests again"))
		}
	})
}
