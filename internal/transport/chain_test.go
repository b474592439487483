package transport

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/redact"
)

type tripFunc func(*http.Request) (*http.Response, error)

func (f tripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// usual is the library's default.
var usual = Retry{Max: 3, MinWait: 200 * time.Millisecond, MaxWait: 15 * time.Second}

// newClient returns a client that sends through a function.
func newClient(send tripFunc, loggers ...*slog.Logger) *Client {
	logger := append(loggers, slog.New(slog.DiscardHandler))[0]
	return New(Config{
		Send: send, Header: Header("the-key", "agent"), Scheduler: pace.NewScheduler(nil),
		Timeout: 30 * time.Second, MaxBytes: 1 << 20, Logger: logger,
	})
}

// respond returns a response with a status and without a body.
func respond(status int) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody}
}

// request returns a request with a method.
func request(method string) Request {
	return Request{
		Method: method, URL: &url.URL{Scheme: "https", Host: "game.test", Path: "/"}, Payload: []byte("{}"),
		Retry: usual, Keys: redact.New("the-key"), WantJSON: true,
	}
}

// pass sends a request through a link, and returns its record.
func pass(ctx context.Context, link http.RoundTripper, method string) (*Record, error) {
	r := &Record{Request: request(method)}
	req, _ := http.NewRequestWithContext(context.WithValue(ctx, recordKey{}, r), method, "https://game.test/", strings.NewReader("{}"))
	_, err := link.RoundTrip(req)
	return r, err
}

func TestAttemptHasItsHeadersAndTheCookiesOfTheJarAlone(t *testing.T) {
	for _, noCache := range []bool{false, true} {
		var sent http.Header
		link := attemptLink{tripFunc(func(req *http.Request) (*http.Response, error) { sent = req.Header; return respond(200), nil }),
			Header("the-key", "agent"), time.Minute, 1000, slog.New(slog.DiscardHandler)}
		r := &Record{Request: request(http.MethodGet)}
		r.NoCache = noCache
		req, _ := http.NewRequestWithContext(context.WithValue(t.Context(), recordKey{}, r), http.MethodGet, "https://game.test/", nil)
		req.Header = http.Header{"Cookie": {"a=1"}, "X-Earlier": {"1"}}
		if _, err := link.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		want := http.Header{"X-Api-Key": {"the-key"}, "User-Agent": {"agent"}, "Content-Type": {"application/json"}, "Accept": {"application/json"}, "Cookie": {"a=1"}}
		if noCache {
			want.Set("Cache-Control", "no-cache")
		}
		if diff := cmp.Diff(want, sent); diff != "" {
			t.Error(diff)
		}
	}
}

// Not every RoundTripper returns the error of the context.
func TestAttemptErrorIsThatOfTheTimeLimitOrTheContext(t *testing.T) {
	for name, test := range map[string]struct {
		limit, end time.Duration
		is, isNot  error
	}{
		"the time limit": {time.Second, time.Minute, context.DeadlineExceeded, context.Canceled},
		"the context":    {time.Minute, time.Second, context.Canceled, ErrAttemptTimeout},
		"neither":        {time.Minute, time.Hour, errReset, context.Canceled},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(test.end, cancel)
			hangs := tripFunc(func(req *http.Request) (*http.Response, error) {
				select {
				case <-req.Context().Done():
				case <-time.After(30 * time.Second):
				}
				return nil, errReset
			})
			r, err := pass(ctx, attemptLink{hangs, Header("the-key", "agent"), test.limit, 1000, slog.New(slog.DiscardHandler)}, http.MethodGet)
			if !errors.Is(err, test.is) || errors.Is(err, test.isNot) || errors.Is(err, ErrAttemptTimeout) != (test.limit == time.Second) || r.Err != err {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func TestLogHasAnAttemptWithoutKeysAtDebug(t *testing.T) {
	fails := tripFunc(func(*http.Request) (*http.Response, error) {
		return nil, errors.New("the-key is wrong\x1b" + strings.Repeat("x", 5000))
	})
	for level, want := range map[slog.Level]int{slog.LevelInfo: 0, slog.LevelDebug: 1} {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))
		pass(t.Context(), attemptLink{fails, Header("the-key", "agent"), time.Minute, 1000, logger}, http.MethodGet)
		text := log.String()
		if strings.Count(text, "horseracing: attempt") != want || strings.Contains(text, "the-key") || strings.Contains(text, "x1b") || strings.Contains(text, "status") || len(text) > 2200 {
			t.Errorf("at %v: %s", level, text)
		}
	}
}
