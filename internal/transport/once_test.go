package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing/guarantees/double/check"

	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestWriteIsSentOnceAndNetHTTPCannotRepeatIt(t *testing.T) {
	var sent []*http.Request
	wire := NewWire(tripFunc(func(req *http.Request) (*http.Response, error) {
		sent = append(sent, req)
		return &http.Response{StatusCode: 200, Body: new(Body)}, nil
	}))
	post, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://game.test/", strings.NewReader("{}"))
	_, err := Once{tripFunc(func(req *http.Request) (*http.Response, error) {
		_, err := wire.RoundTrip(req.WithContext(context.Background()))
		check.Equal[error](t, "without its context", cmpopts.AnyError, err)
		bare := req.WithContext(req.Context())
		bare.Body = http.NoBody
		_, err = wire.RoundTrip(bare)
		check.Equal[error](t, "without its body", cmpopts.AnyError, err)
		req.Header.Set("Idempotency-Key", "1")
		req.Header["X-Idempotency-Key"] = nil
		resp, err := wire.RoundTrip(req)
		again := req.Clone(req.Context()) // as a transport sends it that retries
		again.Body, again.ContentLength = io.NopCloser(strings.NewReader("{}")), 2
		if _, err := wire.RoundTrip(again); err == nil || strings.Contains(err.Error(), "not sent") {
			t.Errorf("it was sent twice, or was not sent at all: %v", err)
		}
		return resp, err
	})}.RoundTrip(post)
	if err != nil || len(sent) != 1 || sent[0].GetBody != nil || len(sent[0].Header) != 0 {
		t.Errorf("%d requests, %v", len(sent), err)
	}
}

// To follow it would have a registration sent twice.
func TestWireDropsTheAdviceOfNetHTTPToSetGetBody(t *testing.T) {
	wire := NewWire(tripFunc(func(*http.Request) (*http.Response, error) {
		return nil, errors.New("http2: Transport: cannot retry err [GOAWAY] after Request.Body was written; define Request.GetBody to avoid this error")
	}))
	post, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://game.test/", strings.NewReader("{}"))
	_, err := Once{wire}.RoundTrip(post)
	check.Equal(t, "text", "http2: Transport: cannot retry err [GOAWAY] after Request.Body was written", err.Error())
}

// dials returns a transport whose connections are these, one after the other; nil is one that fails.
func dials(connections ...net.Conn) *http.Transport {
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		next := connections[0]
		if connections = connections[1:]; next == nil {
			return nil, errReset
		}
		return next, nil
	}}
}

// closed is a connection that the other side has closed.
func closed() net.Conn {
	near, far := net.Pipe()
	far.Close()
	return near
}

// Another transport may trace a part of what it does, and so may a request beside the write.
func TestWireReportsAWriteAsUnsentOnlyIfAnHTTPTransportFoundNoConnection(t *testing.T) {
	traced := tripFunc(func(req *http.Request) (*http.Response, error) {
		httptrace.ContextClientTrace(req.Context()).GetConn("game.test:80")
		return fails(req)
	})
	srv := httptest.NewUnstartedServer(nil)
	srv.TLS = &tls.Config{NextProtos: []string{"own"}, MinVersion: tls.VersionTLS12}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	added := &http.Transport{
		TLSClientConfig: &tls.Config{NextProtos: []string{"own"}, InsecureSkipVerify: true}, //nolint:gosec // of the test
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, srv.Listener.Addr().String())
		},
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{"own": func(_ string, c *tls.Conn) http.RoundTripper {
			return tripFunc(func(req *http.Request) (*http.Response, error) { return nil, errors.Join(req.Write(c), errReset) })
		}},
	}
	direct := func(req *http.Request, wire *Wire) (*http.Response, error) { return wire.RoundTrip(req) }
	overTLS := func(req *http.Request, wire *Wire) (*http.Response, error) {
		req.URL.Scheme = "https"
		return wire.RoundTrip(req)
	}
	afterAnother := func(connection net.Conn) func(*http.Request, *Wire) (*http.Response, error) {
		return func(req *http.Request, wire *Wire) (*http.Response, error) {
			beside, _ := http.NewRequestWithContext(req.Context(), http.MethodGet, "http://token.test/", nil)
			_, _ = dials(connection).RoundTrip(beside)
			return wire.RoundTrip(req)
		}
	}
	var cancel context.CancelFunc
	dial := func(do func(context.Context)) *http.Transport {
		return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { do(ctx); return nil, errReset }}
	}
	address, _ := url.Parse(srv.URL)
	proxied := &http.Transport{Proxy: http.ProxyURL(address), TLSClientConfig: added.TLSClientConfig}
	for name, test := range map[string]struct {
		transport http.RoundTripper
		wrapper   func(*http.Request, *Wire) (*http.Response, error)
		isUnsent  bool
	}{
		"no connection":                           {dials(nil), direct, true},
		"none in time":                            {dial(func(ctx context.Context) { <-ctx.Done() }), direct, true},
		"none before the context ends":            {dial(func(context.Context) { cancel() }), direct, true},
		"a connection that is closed":             {dials(closed()), direct, false},
		"another transport that wanted one":       {traced, direct, false},
		"a connection of a protocol of its own":   {added, overTLS, false},
		"another, after a request without one":    {tripFunc(fails), afterAnother(nil), false},
		"no connection, after a request with one": {dials(nil), afterAnother(closed()), true},
		"a connection, after a request with none": {dials(closed()), afterAnother(nil), false},
		"no proxy":             {&http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return nil, errReset }}, direct, true},
		"a proxy that refuses": {proxied, overTLS, true},
		"a wrapper that fails": {dials(), func(req *http.Request, _ *Wire) (*http.Response, error) { return fails(req) }, false},
	} {
		wire := NewWire(test.transport)
		ctx, end := context.WithCancel(t.Context())
		cancel = end
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://game.test/", strings.NewReader("{}"))
		_, err := Once{Whole{Timeout: 50 * time.Millisecond, MaxBytes: 1000, Next: tripFunc(func(req *http.Request) (*http.Response, error) {
			return test.wrapper(req, wire)
		})}}.RoundTrip(req)
		_, isUnsent := errors.AsType[*UnsentError](err)
		check.Equal(t, name+": it failed, and is unsent", []bool{true, test.isUnsent}, []bool{err != nil, isUnsent})
	}
}

// Two idle connections for each host, Go's default, would throttle a concurrent crawl.
func TestWireKeepsConnectionsUnlessTheRequestIsAWrite(t *testing.T) {
	for name, callers := range map[string]http.RoundTripper{"no transport": nil, "the caller's": &http.Transport{MaxIdleConnsPerHost: 100}} {
		w := NewWire(callers)
		reads, writes := w.reads.(*http.Transport), w.writes.(*http.Transport)
		isKept := !reads.DisableKeepAlives && reads.MaxIdleConnsPerHost >= 100
		check.Equal(t, name+": connections of reads and of writes are kept", []bool{true, false}, []bool{isKept, !writes.DisableKeepAlives})
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
