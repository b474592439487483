package transport

import (
	"context"
	"net/http"
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

// Two idle connections for each host, Go's default, would throttle a concurrent crawl.
func TestWireKeepsConnectionsUnlessTheRequestIsAWrite(t *testing.T) {
	w := NewWire(nil)
	reads, writes := w.reads.(*http.Transport), w.writes.(*http.Transport)
	if reads.DisableKeepAlives || reads.MaxIdleConnsPerHost < 100 || !writes.DisableKeepAlives {
		t.Errorf("reads: %d idle connections, disabled %t; writes: disabled %t", reads.MaxIdleConnsPerHost, reads.DisableKeepAlives, writes.DisableKeepAlives)
	}
}

func TestWriteMayHaveTakenEffectUnlessItWasNotSentOrRejected(t *testing.T) {
	write := func(attempt Attempt) *Record {
		r := &Record{Request: request(http.MethodPost)}
		r.begin()
		r.Attempt = attempt
		return r
	}
	for status := 100; status <= 999; status++ {
		isRejected := status >= 400 && status <= 499 && status != 408 && status != 499
		if write(Attempt{Status: status}).MayHaveTakenEffect() == isRejected {
			t.Errorf("status %d: may have taken effect: %t", status, !isRejected)
		}
	}
	read := write(failure(errReset))
	read.Method = http.MethodGet
	for name, is := range map[string]bool{
		"lost": write(failure(errReset)).MayHaveTakenEffect(), "without a connection": !write(Attempt{Err: errReset, Unsent: true}).MayHaveTakenEffect(),
		"no attempt": !(&Record{Request: request(http.MethodPost)}).MayHaveTakenEffect(), "a read": !read.MayHaveTakenEffect(),
	} {
		if !is {
			t.Errorf("%s: the opposite", name)
		}
	}
}
