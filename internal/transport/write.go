package transport

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// writeLink notes of a write whether it left. Reads pass.
type writeLink struct{ next http.RoundTripper }

func (l writeLink) RoundTrip(req *http.Request) (*http.Response, error) {
	r := recordOf(req)
	if r.isRead() {
		return l.next.RoundTrip(req)
	}
	w := new(write)
	resp, err := l.next.RoundTrip(req.WithContext(w.context(req.Context())))
	if err != nil {
		r.Unsent = w.isUnsent()
	}
	return resp, err
}

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

// isUnsent reports whether the request certainly did not leave, for want of a
// connection. A RoundTripper of the caller's may trace nothing at all: that no
// connection was found proves nothing unless one was looked for.
func (w *write) isUnsent() bool { return w.wanted.Load() && !w.found.Load() }
