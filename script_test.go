package horseracing_test

import (
	"errors"
	"io"
	"log"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
)

const (
	appKey  = "app-Key/91+d7=e4"  // with characters that JSON, URLs and HTML escape
	userKey = `user"Key\51&c8%aé` // likewise
	service = "https://game.test" // where a script stands; nothing listens there
)

// step is what a script answers to one request.
type step func(*http.Request) (*http.Response, error)

// script is a service in memory: it answers the first request with its first
// step, and so on; the last step again and again. It notes what it was sent.
type script struct {
	mu    sync.Mutex
	steps []step
	seen  []sent
}

// sent is a request as the script got it.
type sent struct {
	at      time.Time
	request *http.Request
	body    string
}

func play(steps ...step) *script { return &script{steps: steps} }

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
		req.Body.Close()
	}
	s.mu.Lock()
	s.seen = append(s.seen, sent{time.Now(), req, string(body)})
	next := s.steps[min(len(s.seen), len(s.steps))-1]
	s.mu.Unlock()
	return next(req)
}

func (s *script) requests() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// waits returns the time that passed between one request and the next.
func (s *script) waits() []time.Duration {
	var waits []time.Duration
	for i, r := range s.requests() {
		if i > 0 {
			waits = append(waits, r.at.Sub(s.seen[i-1].at))
		}
	}
	return waits
}

// answer is a step: a status, a body and header lines ("Retry-After: 3").
func answer(status int, body string, header ...string) step {
	return stream(status, int64(len(body)), func() io.Reader { return strings.NewReader(body) }, header...)
}

// stream is a step whose body is read as it is asked for.
func stream(status int, length int64, body func() io.Reader, header ...string) step {
	return func(req *http.Request) (*http.Response, error) {
		h := http.Header{}
		for _, line := range header {
			name, value, _ := strings.Cut(line, ": ")
			h.Add(name, value)
		}
		return &http.Response{
			StatusCode: status, Header: h, Body: io.NopCloser(body()), ContentLength: length,
			Request: req, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		}, nil
	}
}

// broken is a step: no answer.
func broken(err error) step {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

var errReset = errors.New("connection reset by peer")

// client returns a client that speaks to the script.
func (s *script) client(tb testing.TB, opts ...horseracing.Option) *horseracing.Client {
	tb.Helper()
	return connect(tb, service, &http.Client{Transport: s}, opts...)
}

func connect(tb testing.TB, url string, via *http.Client, opts ...horseracing.Option) *horseracing.Client {
	tb.Helper()
	opts = append([]horseracing.Option{horseracing.WithHTTPClient(via)}, opts...)
	c, err := horseracing.NewClient(url, appKey, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

var entry = horseracing.Registration{Horse: 7, Race: 11, UserKey: userKey}

// briefly waits milliseconds where the default would wait longer.
var briefly = horseracing.WithRetry(horseracing.Retry{Max: 3, MinWait: time.Millisecond, MaxWait: 2 * time.Millisecond})

var silent = log.New(io.Discard, "", 0)

// reader is an io.Reader, for steps.
type reader = io.Reader

// readers reads a text, then fails.
func readers(text string, err error) reader {
	return io.MultiReader(strings.NewReader(text), failingReader{err})
}

func deref(pointer any) any { return reflect.ValueOf(pointer).Elem().Interface() }
