package horseracing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"reflect"
	"sync/atomic"
)

// transport hands reads and writes to the RoundTripper of each. It is the one
// RoundTripper that a transport wrapper wraps.
type transport struct {
	reads  http.RoundTripper
	writes http.RoundTripper // a fresh connection for each, where that can be had
	owned  []*http.Transport // those of the two that no one else uses
}

// newTransport returns what requests to a scheme are sent through. Without a
// RoundTripper of the caller's it is a copy of Go's default one, with room for
// as many idle connections to the one host as a concurrent crawl uses.
func newTransport(callers http.RoundTripper, scheme string) *transport {
	base := callers
	if base == nil {
		base = http.DefaultTransport
	}
	reads, ok := base.(*http.Transport)
	if !ok {
		return &transport{reads: base, writes: base}
	}
	// On a kept-alive connection a write can meet an end of file that leaves
	// open whether it arrived. On a connection of its own it cannot.
	writes := reads.Clone()
	writes.DisableKeepAlives = true
	if !sameProtocols(reads, writes, scheme) {
		return &transport{reads: base, writes: base}
	}
	owned := []*http.Transport{writes}
	if callers == nil {
		reads = reads.Clone()
		reads.MaxIdleConnsPerHost = reads.MaxIdleConns
		owned = append(owned, reads)
	}
	return &transport{reads: reads, writes: writes, owned: owned}
}

// sameProtocols reports whether a transport and its clone send requests to a
// scheme the same way. [http.Transport.Clone] leaves out what was registered
// with RegisterProtocol: a read could go to a mock, and a write to the
// service itself.
func sameProtocols(t, clone *http.Transport, scheme string) bool {
	clone.CloseIdleConnections() // makes it register net/http's own HTTP/2, as t has
	for _, name := range []string{scheme, "http/2", "http/3"} {
		registered, ok1 := registeredProtocol(t, name)
		cloned, ok2 := registeredProtocol(clone, name)
		if !ok1 || !ok2 || registered != cloned {
			return false
		}
	}
	return true
}

// registeredProtocol returns the type of the RoundTripper that is registered
// for a scheme; nil: none. No exported field shows it, so this depends on how
// net/http keeps it: ok is false where that has changed.
func registeredProtocol(t *http.Transport, scheme string) (registered reflect.Type, ok bool) {
	field := reflect.ValueOf(t).Elem().FieldByName("altProto")
	if !field.IsValid() || field.Type() != reflect.TypeFor[atomic.Value]() {
		return nil, false
	}
	held := field.FieldByName("v")
	if held.Kind() != reflect.Interface {
		return nil, false
	}
	if held.IsNil() {
		return nil, true
	}
	if held.Elem().Type() != reflect.TypeFor[map[string]http.RoundTripper]() {
		return nil, false
	}
	roundTripper := held.Elem().MapIndex(reflect.ValueOf(scheme))
	if !roundTripper.IsValid() || roundTripper.IsNil() {
		return nil, true
	}
	return roundTripper.Elem().Type(), true
}

// closeIdle closes the idle connections that no one else uses.
func (t *transport) closeIdle() {
	for _, own := range t.owned {
		own.CloseIdleConnections()
	}
}

// RoundTrip sends a request. One attempt of a write is sent once, whatever a
// wrapper does: it must not reach the service twice.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet || req.Method == "" {
		return t.reads.RoundTrip(req)
	}
	w, _ := req.Context().Value(writeKey{}).(*write)
	var refusal error
	switch {
	case w == nil:
		refusal = errors.New("a transport wrapper must send the call's own request, with its context")
	case req.Body == nil || req.Body == http.NoBody: // net/http repeats those
		refusal = errors.New("a transport wrapper must not remove the request's body")
	case !w.sent.CompareAndSwap(false, true):
		refusal = errors.New("a transport wrapper must not send a request twice that changes something")
	}
	if refusal != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, fmt.Errorf("%s not sent: %w", req.Method, refusal)
	}
	return t.writes.RoundTrip(unrepeatable(req))
}

// unrepeatable returns the request without what makes net/http send it again
// by itself: HTTP/2 does where GetBody is set, even when the service has read
// it, and HTTP/1 on a stale connection where one of the headers is there.
func unrepeatable(req *http.Request) *http.Request {
	const idempotent, xIdempotent = "Idempotency-Key", "X-Idempotency-Key"
	_, has := req.Header[idempotent]
	_, hasX := req.Header[xIdempotent]
	if req.GetBody == nil && !has && !hasX {
		return req
	}
	once := req.WithContext(req.Context())
	once.GetBody = nil
	if has || hasX {
		once.Header = req.Header.Clone()
		once.Header.Del(idempotent)
		once.Header.Del(xIdempotent)
	}
	return once
}

// write is one attempt of a write on its way through wrappers and transport.
type write struct {
	sent          atomic.Bool // it was handed to the transport
	wanted, found atomic.Bool // the transport looked for a connection, and had one
}

type writeKey struct{}

// context returns the context to send the request with.
func (w *write) context(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(context.WithValue(ctx, writeKey{}, w), &httptrace.ClientTrace{
		GetConn: func(string) { w.wanted.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { w.found.Store(true) },
	})
}

// isUnsent reports whether the request certainly did not leave, for want of a
// connection. A RoundTripper of the caller's may trace nothing at all: that no
// connection was found proves nothing unless one was looked for.
func (w *write) isUnsent() bool { return w.wanted.Load() && !w.found.Load() }
