package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

type tripFunc func(*http.Request) (*http.Response, error)

func (f tripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// pass sends a request through a link, and returns its record.
func pass(ctx context.Context, link http.RoundTripper, method string) (*Record, *http.Response, error) {
	r := &Record{Request: request(method)}
	req, _ := http.NewRequestWithContext(context.WithValue(ctx, recordKey{}, r), method, "https://game.test/", strings.NewReader("{}"))
	resp, err := link.RoundTrip(req)
	return r, resp, err
}

// body returns a step with a response.
func body(status int, text io.Reader, length int64) tripFunc {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(text), ContentLength: length}, nil
	}
}

// endless yields spaces, and counts them.
type endless struct{ bytes int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.bytes += len(p)
	return len(p), nil
}

func attempt(send tripFunc, limit int64) http.RoundTripper {
	return attemptLink{send, Header("the-key", "agent"), time.Minute, limit, slog.New(slog.DiscardHandler)}
}

func TestTheBodyIsReadWholeUpToTheLimit(t *testing.T) {
	const limit = 20
	for name, test := range map[string]struct {
		send      tripFunc
		body      string
		truncated bool
	}{
		"no body":                    {func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 204}, nil }, "", false},
		"an error that is cut":       {body(500, io.MultiReader(strings.NewReader(`{"a`), iotest.ErrReader(io.ErrUnexpectedEOF)), -1), `{"a`, true},
		"an error that is too large": {body(500, strings.NewReader(strings.Repeat("x", 21)), -1), strings.Repeat("x", 20), true},
	} {
		r, _, err := pass(t.Context(), attempt(test.send, limit), http.MethodGet)
		if err != nil || string(r.Body) != test.body || r.Truncated != test.truncated {
			t.Errorf("%s: %q, truncated %v, %v", name, r.Body, r.Truncated, err)
		}
	}
	for name, length := range map[string]int64{"announced": 21, "not announced": -1} {
		source := new(endless)
		r, _, err := pass(t.Context(), attempt(body(200, source, length), limit), http.MethodGet)
		if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "more than 20 bytes") || r.Status != 0 || length > 0 && source.bytes > 0 || source.bytes > 1<<10 {
			t.Errorf("too large, %s: %d bytes were read, %v", name, source.bytes, err)
		}
	}
	source := new(endless)
	if r, _, err := pass(t.Context(), attempt(body(500, source, -1), 1<<40), http.MethodGet); err != nil || len(r.Body) != 1<<20 || source.bytes > 2<<20 {
		t.Errorf("of an error %d bytes were read, %v", source.bytes, err)
	}
	if _, _, err := pass(t.Context(), attempt(func(*http.Request) (*http.Response, error) { return nil, nil }, limit), http.MethodGet); err == nil {
		t.Error("neither a response nor an error is an error")
	}
}

func TestAnAttemptIsLoggedWithoutKeysAtDebug(t *testing.T) {
	fails := tripFunc(func(*http.Request) (*http.Response, error) {
		return nil, errors.New("the-key is wrong\x1b" + strings.Repeat("x", 5000))
	})
	for level, want := range map[slog.Level]int{slog.LevelInfo: 0, slog.LevelDebug: 1} {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))
		pass(t.Context(), attemptLink{fails, Header("the-key", "agent"), time.Minute, 1000, logger}, http.MethodGet)
		text := log.String()
		if strings.Count(text, "horseracing: attempt") != want || strings.Contains(text, "the-key") || strings.Contains(text, "x1b") || len(text) > 2200 {
			t.Errorf("at %v: %s", level, text)
		}
	}
}

func TestAWriteIsSentOnceAndNetHTTPCannotRepeatIt(t *testing.T) {
	var sent []*http.Request
	wire := NewWire(tripFunc(func(req *http.Request) (*http.Response, error) { sent = append(sent, req); return respond(200), nil }))
	_, _, err := pass(t.Context(), writeLink{tripFunc(func(req *http.Request) (*http.Response, error) {
		if _, err := wire.RoundTrip(req.WithContext(context.Background())); err == nil {
			t.Error("it was sent without its context")
		}
		bare := req.WithContext(req.Context())
		bare.Body = http.NoBody
		if _, err := wire.RoundTrip(bare); err == nil {
			t.Error("it was sent without its body")
		}
		req.Header.Set("Idempotency-Key", "1")
		req.Header["X-Idempotency-Key"] = nil
		resp, err := wire.RoundTrip(req)
		if _, again := wire.RoundTrip(req); again == nil {
			t.Error("it was sent twice")
		}
		return resp, err
	})}, http.MethodPost)
	if err != nil || len(sent) != 1 || sent[0].GetBody != nil || len(sent[0].Header) != 0 {
		t.Errorf("%d requests, %v", len(sent), err)
	}
}
