package double

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
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
	response []byte // as httputil.DumpResponse writes it
	expires  time.Time
}

// RoundTrip sends a request, or responds from the cache.
func (g *Gateway) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPost {
		return g.repeat(req)
	}
	cached, _ := g.cached.Load(req.URL.Path)
	if at, ok := cached.(page); ok && time.Now().Before(at.expires) && req.Header.Get("Cache-Control") != "no-cache" {
		return http.ReadResponse(bufio.NewReader(bytes.NewReader(at.response)), req)
	}
	resp, err := g.Next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusOK && req.ContentLength <= 0 { // a body selects a page
		if dump, err := httputil.DumpResponse(resp, true); err == nil {
			g.cached.Store(req.URL.Path, page{dump, time.Now().Add(time.Minute)})
		}
	}
	return resp, err
}

func (g *Gateway) repeat(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	send := func(header http.Header) (*http.Response, error) {
		sent := req.Clone(req.Context())
		sent.Body = io.NopCloser(bytes.NewReader(body))
		maps.Copy(sent.Header, header)
		return g.Next.RoundTrip(sent)
	}
	first, failed := send(nil)
	resp, err := send(http.Header{Repeated: {"yes"}})
	if err == nil && resp.StatusCode/100 == 4 && resp.StatusCode != http.StatusConflict {
		resp.Body.Close()
		return first, failed
	}
	if failed == nil {
		first.Body.Close()
	}
	return resp, err
}
