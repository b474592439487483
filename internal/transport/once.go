package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"
)

// Once is a RoundTripper for a chain that ends with a [Wire]. A write, which is any request
// except a GET, is sent through the Wire at most once, whatever the RoundTrippers between the
// two do.
type Once struct{ Next http.RoundTripper }

// RoundTrip sends a request. Reads are passed on unchanged.
func (o Once) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		req = req.WithContext(context.WithValue(req.Context(), sentKey{}, new(atomic.Bool)))
	}
	return o.Next.RoundTrip(req)
}

// sentKey is the key of a write's context for the *atomic.Bool that says whether [Wire] has sent it.
type sentKey struct{}

// UnsentError is the error of a write that certainly was not sent, because no connection was
// made.
type UnsentError struct{ Err error }

func (e *UnsentError) Error() string { return e.Err.Error() }

func (e *UnsentError) Unwrap() error { return e.Err }

// Wire is a RoundTripper that sends reads through one transport and writes through another. The
// wrappers of a caller wrap it.
type Wire struct {
	reads  http.RoundTripper
	writes http.RoundTripper // a fresh connection for each, if that can be had
	proves bool              // writes reports every connection that it has, so that none means unsent
	owned  []*http.Transport // those of the two that no one else uses
	timed  atomic.Bool       // a read has timed out, and none has been sent since
}

// While a service is silent, its HTTP/2 connection gets a ping after sendPing, and is given up if there is
// no response to that within pingTimeout. Both fit into one attempt of the default timeout.
const (
	sendPing    = 10 * time.Second
	pingTimeout = 5 * time.Second
)

// NewWire returns a Wire that sends through the caller's RoundTripper. If that is nil, it uses
// a copy of Go's default transport that keeps as many idle connections to one host as
// concurrent walks need, and notices that an HTTP/2 connection of reads is dead. For a write a new
// connection would come too late, and what is only slow must not become an unknown outcome.
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
	// A connection of a protocol that the caller added is reported only if the caller does it.
	w := &Wire{reads: reads, writes: writes, proves: len(writes.TLSNextProto) == 0, owned: []*http.Transport{writes}}
	if callers == nil {
		own := reads.Clone()
		own.MaxIdleConnsPerHost = own.MaxIdleConns
		if own.HTTP2 == nil { // since Go 1.27 a transport that was used has one
			own.HTTP2 = new(http.HTTP2Config)
		}
		if own.HTTP2.SendPingTimeout == 0 {
			own.HTTP2.SendPingTimeout, own.HTTP2.PingTimeout = sendPing, pingTimeout
		}
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

// RoundTrip sends a request. One attempt of a write is sent once, whatever a wrapper does. If
// it certainly was not sent, the error is an [*UnsentError]. If the Wire refuses a write
// because of its wrapper, the error is another one, since the wrapper may have sent the write
// before.
func (w *Wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet {
		return w.read(req)
	}
	if problem := mayWrite(req); problem != "" {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, fmt.Errorf("a transport wrapper must %s: a %s was stopped", problem, req.Method)
	}
	if t, ok := w.writes.(*http.Transport); ok && t.Proxy != nil {
		if _, err := t.Proxy(req); err != nil {
			return nil, &UnsentError{err}
		}
	}
	var wanted, found atomic.Bool // a connection for this request
	resp, err := w.writes.RoundTrip(unrepeatable(req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GetConn: func(string) { wanted.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { found.Store(true) },
	}))))
	if err != nil {
		err = withoutAdvice(err)
	}
	// Another RoundTripper may send a request by other ways than those that it traces.
	if err != nil && w.proves && wanted.Load() && !found.Load() {
		err = &UnsentError{err}
	}
	return resp, err
}

// withoutAdvice drops the advice of net/http to set GetBody, with which it would send a write again.
func withoutAdvice(err error) error {
	if text, _, found := strings.Cut(err.Error(), "; define Request.GetBody"); found {
		return errors.New(text)
	}
	return err
}

// read sends a read. If the one before has timed out, what is left of its connections may be as dead, as
// after a suspension or in a NAT that has forgotten them. So it closes those that are idle, also those of
// a caller, as http.Client.CloseIdleConnections does. It does so before a read, not after the timeout, because
// net/http ends a stream of HTTP/2 a little later than its RoundTrip.
func (w *Wire) read(req *http.Request) (*http.Response, error) {
	if pool, ok := w.reads.(interface{ CloseIdleConnections() }); ok && w.timed.Swap(false) {
		pool.CloseIdleConnections()
	}
	resp, err := w.reads.RoundTrip(req)
	if failure, ok := errors.AsType[net.Error](err); ok && failure.Timeout() || err != nil && errors.Is(req.Context().Err(), context.DeadlineExceeded) {
		w.timed.Store(true)
	}
	return resp, err
}

// mayWrite marks a write as sent, and returns what a wrapper did wrong with it.
func mayWrite(req *http.Request) (problem string) {
	sent, ok := req.Context().Value(sentKey{}).(*atomic.Bool)
	switch {
	case !ok:
		return "send the call's own request, with its context"
	case req.Body == nil || req.Body == http.NoBody: // net/http repeats those
		return "not remove the request's body"
	case !sent.CompareAndSwap(false, true):
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
