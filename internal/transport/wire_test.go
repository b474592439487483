package transport

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

type tripFunc func(*http.Request) (*http.Response, error)

func (f tripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestInABrowserAReadWithABodyIsAnErrorAndNoRequest(t *testing.T) {
	requests := 0
	fetch := tripFunc(func(*http.Request) (*http.Response, error) {
		requests++
		return &http.Response{StatusCode: 200, Header: http.Header{}}, nil
	})
	wire := &Wire{reads: fetch, writes: fetch, browser: true}
	plain, _ := http.NewRequest(http.MethodGet, "https://game.test/", nil)
	if _, err := wire.RoundTrip(plain); err != nil || requests != 1 {
		t.Errorf("a read without a body: %d requests, %v", requests, err)
	}
	withBody, _ := http.NewRequest(http.MethodGet, "https://game.test/", strings.NewReader("{}"))
	if _, err := wire.RoundTrip(withBody); !errors.Is(err, errBrowser) || requests != 1 {
		t.Errorf("a read with a body: %d requests, %v", requests, err)
	}
	if r := (&Record{Request: Request{Method: http.MethodGet}, Attempt: Attempt{Err: errBrowser}}); r.classify() != permanent {
		t.Error("it is retried")
	}
}

func TestOnlyAnHTTPTransportGoesThroughABrowser(t *testing.T) {
	if NewWire(tripFunc(nil)).browser {
		t.Error("a RoundTripper of the caller's is taken for fetch")
	}
}
