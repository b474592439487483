package transport

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// Once is a RoundTripper for a chain that ends with a [Wire]. A write, which is any request except a
// GET, leaves at most once, whatever the RoundTrippers between the two do. If it certainly did not
// leave, the error is an [*UnsentError].
type Once struct{ Next http.RoundTripper }

// UnsentError is the error of a write that certainly did not leave, for want of a connection.
type UnsentError struct{ Err error }

func (e *UnsentError) Error() string { return e.Err.Error() }

func (e *UnsentError) Unwrap() error { return e.Err }

// RoundTrip sends a request. Reads pass.
func (o Once) RoundTrip(req *http.Request) (*http.Response, error) {
	if isRead(req.Method) {
		return o.Next.RoundTrip(req)
	}
	w := new(write)
	resp, err := o.Next.RoundTrip(req.WithContext(w.context(req.Context())))
	// A RoundTripper of the caller's may trace nothing at all: that no connection was found
	// proves nothing unless one was looked for.
	if err != nil && w.wanted.Load() && !w.found.Load() {
		err = &UnsentError{err}
	}
	return resp, err
}

func isRead(method string) bool { return method == http.MethodGet || method == "" }

// write is one attempt of a write on its way through wrappers and [Wire].
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

// Wire is a RoundTripper that sends reads through one transport and writes through another. The
// wrappers of a caller wrap it.
type Wire struct {
	reads  http.RoundTripper
	writes http.RoundTripper // a fresh connection for each, if that can be had
	owned  []*http.Transport // those of the two that no one else uses
}

// NewWire returns a Wire that sends through the caller's RoundTripper. If that is nil, it uses
// a copy of Go's default transport that keeps as many idle connections to one host as
// concurrent walks need.
func NewWire(callers http.RoundTripper) *Wire {
	base := callers
	if base == nil {
		base = http.DefaultTransport
	}
	reads, ok := base.(*http.Transport)
	if !ok {
		return &Wire{reads: base, writes: base}
	}
	// On a kept-alive connection a write can meet an end of file that leaves open
	// whether it arrived. On a connection of its own it cannot.
	writes := reads.Clone()
	writes.DisableKeepAlives = true
	if writes.TLSNextProto["h2"] != nil { // by http2.ConfigureTransports: it would share the connections of the reads
		writes.TLSNextProto, writes.ForceAttemptHTTP2 = nil, true
	}
	w := &Wire{reads: reads, writes: writes, owned: []*http.Transport{writes}}
	if callers == nil {
		own := reads.Clone()
		own.MaxIdleConnsPerHost = own.MaxIdleConns
		w.reads, w.owned = own, append(w.owned, own)
	}
	return w
}

// CloseIdleConnections closes the idle connections that no one else uses.
func (w *Wire) CloseIdleConnections() {
	for _, own := range w.owned {
		own.CloseIdleConnections()
	}
}

// RoundTrip sends a request. One attempt of a write is sent once, whatever a wrapper does. The error
// of one that is stopped here is no [*UnsentError], because the wrapper may have sent another.
func (w *Wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if isRead(req.Method) {
		return w.reads.RoundTrip(req)
	}
	if problem := mayWrite(req); problem != "" {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, fmt.Errorf("a transport wrapper must %s: a %s was stopped", problem, req.Method)
	}
	return w.writes.RoundTrip(unrepeatable(req))
}

// mayWrite marks a write as sent, and returns what a wrapper did wrong with it.
func mayWrite(req *http.Request) (problem string) {
	attempt, ok := req.Context().Value(writeKey{}).(*write)
	switch {
	case !ok:
		return "send the call's own request, with its context"
	case req.Body == nil || req.Body == http.NoBody: // net/http repeats those
		return "not remove the request's body"
	case !attempt.sent.CompareAndSwap(false, true):
		return "not send a request twice that changes something"
	}
	return ""
}

// unrepeatable returns the request without what makes net/http send it again by
// itself: HTTP/2 does if GetBody is set, even after the service has read it, and
// HTTP/1 on a stale connection if one of the headers is set.
func unrepeatable(req *http.Request) *http.Request {
	once := req.WithContext(req.Context())
	once.GetBody = nil
	once.Header = req.Header.Clone()
	once.Header.Del("Idempotency-Key")
	once.Header.Del("X-Idempotency-Key")
	return once
}
