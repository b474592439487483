package double

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"
)

// Repeated is a header of the requests that a [Gateway] repeats.
const Repeated = "X-Repeated"

// Gateway is a proxy as there are some. It sends each registration twice, and responds as the
// service responds to the second one, unless that is refused for another reason than that the horse
// is registered already. What is read it caches for a minute, by path. It heeds a request that wants
// nothing from caches.
type Gateway struct {
	Next http.RoundTripper

	cached sync.Map // of a page for each path
}

type page struct {
	http.Response
	body    []byte
	expires time.Time
}

// RoundTrip sends a request, or responds from the cache.
func (g *Gateway) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPost {
		return g.repeat(req)
	}
	cached, _ := g.cached.Load(req.URL.Path)
	if at, ok := cached.(page); ok && time.Now().Before(at.expires) && req.Header.Get("Cache-Control") != "no-cache" {
		at.Body = io.NopCloser(bytes.NewReader(at.body))
		return &at.Response, nil
	}
	resp, err := g.Next.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK || req.ContentLength > 0 { // a body selects a page
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	g.cached.Store(req.URL.Path, page{*resp, body, time.Now().Add(time.Minute)})
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

func (g *Gateway) repeat(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	req.Body.Close()
	if err != nil {
		return nil, err
	}
	sent := req.Clone(req.Context())
	sent.Body = io.NopCloser(bytes.NewReader(body))
	first, failed := g.Next.RoundTrip(sent)
	again := req.Clone(req.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	again.Header.Set(Repeated, "yes")
	resp, err := g.Next.RoundTrip(again)
	if err == nil && resp.StatusCode/100 == 4 && resp.StatusCode != http.StatusConflict {
		resp.Body.Close()
		return first, failed
	}
	if failed == nil {
		first.Body.Close()
	}
	return resp, err
}
