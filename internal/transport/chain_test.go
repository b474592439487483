package transport

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

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
