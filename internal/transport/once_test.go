package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestWriteIsSentOnceAndNetHTTPCannotRepeatIt(t *testing.T) {
	var sent []*http.Request
	wire := NewWire(tripFunc(func(req *http.Request) (*http.Response, error) {
		sent = append(sent, req)
		return status(200).resp, nil
	}))
	post, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://game.test/", strings.NewReader("{}"))
	_, err := Once{tripFunc(func(req *http.Request) (*http.Response, error) {
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
		if _, again := wire.RoundTrip(req); again == nil || strings.Contains(again.Error(), "not sent") {
			t.Errorf("it was sent twice, or was not sent at all: %v", again)
		}
		return resp, err
	})}.RoundTrip(post)
	if err != nil || len(sent) != 1 || sent[0].GetBody != nil || len(sent[0].Header) != 0 {
		t.Errorf("%d requests, %v", len(sent), err)
	}
}

// A transport that traces nothing proves nothing.
func TestOnceReportsAWriteAsUnsentOnlyIfNoConnectionWasFound(t *testing.T) {
	for _, test := range []struct {
		wanted, found bool
		err           error
		isUnsent      bool
	}{{true, false, errReset, true}, {true, true, errReset, false}, {false, false, errReset, false}, {true, false, nil, false}} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://game.test/", strings.NewReader("{}"))
		_, err := Once{tripFunc(func(req *http.Request) (*http.Response, error) {
			trace := httptrace.ContextClientTrace(req.Context())
			if test.wanted {
				trace.GetConn("game.test:443")
			}
			if test.found {
				trace.GotConn(httptrace.GotConnInfo{})
			}
			return status(200).resp, test.err
		})}.RoundTrip(req)
		if _, isUnsent := errors.AsType[*UnsentError](err); isUnsent != test.isUnsent || !errors.Is(err, test.err) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// Two idle connections for each host, Go's default, would throttle a concurrent crawl.
func TestWireKeepsConnectionsUnlessTheRequestIsAWrite(t *testing.T) {
	for name, callers := range map[string]http.RoundTripper{"no transport": nil, "the caller's": &http.Transport{MaxIdleConnsPerHost: 100}} {
		w := NewWire(callers)
		reads, writes := w.reads.(*http.Transport), w.writes.(*http.Transport)
		if reads.DisableKeepAlives || reads.MaxIdleConnsPerHost < 100 || !writes.DisableKeepAlives {
			t.Errorf("%s: reads: %d idle connections, disabled %t; writes: disabled %t", name, reads.MaxIdleConnsPerHost, reads.DisableKeepAlives, writes.DisableKeepAlives)
		}
	}
}

// A transport that went through http2.ConfigureTransports shares its connections with its clones.
func TestWireSendsWritesOnConnectionsOfTheirOwnAlsoAfterConfigureTransports(t *testing.T) {
	for _, isForced := range []bool{false, true} {
		var mu sync.Mutex
		seen := map[string][]string{}
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			seen[r.Method] = append(seen[r.Method], r.RemoteAddr+" "+r.Proto)
		}))
		srv.EnableHTTP2 = true
		srv.StartTLS()
		defer srv.Close()
		reads := srv.Client().Transport.(*http.Transport).Clone()
		reads.ForceAttemptHTTP2 = isForced
		shared := srv.Client().Transport.(*http.Transport).Clone() // one pool of connections, as ConfigureTransports installs it
		reads.TLSClientConfig.NextProtos = []string{"h2", "http/1.1"}
		used := false
		reads.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{"h2": func(_ string, c *tls.Conn) http.RoundTripper {
			c.Close()
			used = true
			return shared
		}}
		w := NewWire(reads)
		for i := range 4 {
			method := []string{http.MethodGet, http.MethodPost}[i%2]
			req, _ := http.NewRequestWithContext(t.Context(), method, srv.URL, strings.NewReader("{}"))
			resp, err := (Once{Whole{Next: w, Timeout: time.Minute, MaxBytes: 1000}}).RoundTrip(req)
			if err != nil || resp.StatusCode != 200 {
				t.Fatal(err)
			}
		}
		reads1, writes := seen["GET"], seen["POST"]
		if !used || reads1[0] != reads1[1] || writes[0] == writes[1] || slices.Contains(reads1, writes[0]) || !strings.HasSuffix(writes[0], "HTTP/2.0") {
			t.Errorf("forced %t: reads %v, writes %v", isForced, reads1, writes)
		}
	}
}
