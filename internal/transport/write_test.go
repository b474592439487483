package transport

import (
	"context"
	"net/http"
	"slices"
	"testing"
)

func TestWriteIsSentOnceAndNetHTTPCannotRepeatIt(t *testing.T) {
	var sent []*http.Request
	wire := NewWire(tripFunc(func(req *http.Request) (*http.Response, error) { sent = append(sent, req); return respond(200), nil }))
	_, err := pass(t.Context(), writeLink{tripFunc(func(req *http.Request) (*http.Response, error) {
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

func TestWriteIsClearedByA4xxExcept408And499(t *testing.T) {
	for status := 100; status <= 999; status++ {
		r := &Record{Request: request(http.MethodPost)}
		r.begin()
		r.Status = status
		isRejected := status >= 400 && status <= 499 && !slices.Contains([]int{408, 499}, status)
		if r.MayHaveTakenEffect() == isRejected {
			t.Errorf("status %d: may have taken effect: %t", status, !isRejected)
		}
	}
}

func TestWriteThatWasNotSentHasNoEffect(t *testing.T) {
	read, unsent, lost, none := &Record{Request: request(http.MethodGet)}, &Record{Request: request(http.MethodPost)}, &Record{Request: request(http.MethodPost)}, &Record{Request: request(http.MethodPost)}
	for _, r := range []*Record{read, unsent, lost} {
		r.begin()
		r.Err = errReset
	}
	unsent.Unsent = true
	for r, want := range map[*Record]bool{read: false, unsent: false, lost: true, none: false} {
		if r.MayHaveTakenEffect() != want {
			t.Errorf("%s, unsent %t, %d attempts: may have taken effect: %t", r.Method, r.Unsent, r.Attempts(), !want)
		}
	}
}

// Two idle connections for each host, Go's default, would throttle a concurrent crawl.
func TestWireKeepsConnectionsUnlessTheRequestIsAWrite(t *testing.T) {
	w := NewWire(nil)
	reads, writes := w.reads.(*http.Transport), w.writes.(*http.Transport)
	if reads.DisableKeepAlives || reads.MaxIdleConnsPerHost < 100 || !writes.DisableKeepAlives {
		t.Errorf("reads: %d idle connections, disabled %t; writes: disabled %t", reads.MaxIdleConnsPerHost, reads.DisableKeepAlives, writes.DisableKeepAlives)
	}
}
