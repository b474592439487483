package double

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/horseracing-go/horseracing"
)

// Mocked returns a client of a mock, and the mock. A request for which no responder is registered
// gets respond, or if that is nil an error.
func Mocked(tb testing.TB, respond httpmock.Responder, opts ...horseracing.Option) (*horseracing.Client, *httpmock.MockTransport) {
	tb.Helper()
	mock := httpmock.NewMockTransport()
	mock.RegisterNoResponder(respond)
	return Connect(tb, Service, &http.Client{Transport: mock}, opts...), mock
}

// Client returns a client whose every request gets respond.
func Client(tb testing.TB, respond httpmock.Responder, opts ...horseracing.Option) *horseracing.Client {
	tb.Helper()
	c, _ := Mocked(tb, respond, opts...)
	return c
}

// InTurn responds to the first request with the first responder, and so on; the last one responds to
// all that follow.
func InTurn(responders ...httpmock.Responder) httpmock.Responder {
	var requests atomic.Int64
	return func(req *http.Request) (*http.Response, error) {
		return responders[min(int(requests.Add(1)), len(responders))-1](req)
	}
}

// Respond responds with a status, a body and header lines ("Retry-After: 3").
func Respond(status int, body string, header ...string) httpmock.Responder {
	return Stream(status, int64(len(body)), func() io.Reader { return strings.NewReader(body) }, header...)
}

// Stream responds with a body that is produced as it is read.
func Stream(status int, length int64, body func() io.Reader, header ...string) httpmock.Responder {
	return func(req *http.Request) (*http.Response, error) {
		h := http.Header{}
		for _, line := range header {
			name, value, _ := strings.Cut(line, ": ")
			h.Add(name, value)
		}
		return &http.Response{
			StatusCode: status, Header: h, Body: io.NopCloser(body()), ContentLength: length,
			Request: req, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		}, nil
	}
}

// Sent is a request as a mock got it.
type Sent struct {
	At      time.Time
	Request *http.Request
	Body    string
}

// Waits returns the time that passed between one request and the next.
func Waits(sent []Sent) (waits []time.Duration) {
	for i := 1; i < len(sent); i++ {
		waits = append(waits, sent[i].At.Sub(sent[i-1].At))
	}
	return waits
}

// Noting notes each request before it is responded to.
func Noting(sent *[]Sent, respond httpmock.Responder) httpmock.Responder {
	var mu sync.Mutex
	return func(req *http.Request) (*http.Response, error) {
		var body strings.Builder
		if req.Body != nil {
			io.Copy(&body, req.Body)
			req.Body = io.NopCloser(strings.NewReader(body.String()))
		}
		mu.Lock()
		*sent = append(*sent, Sent{time.Now(), req, body.String()})
		mu.Unlock()
		return respond(req)
	}
}

// Pages responds to page requests for a listing of n entries, newest first: with those
// that start before start_time_from, or after the offset; at most ten. An entry that is empty is
// left out of its page, as by a service that filters afterwards.
func Pages(n int, start func(i int) int64, entry func(i int) string) httpmock.Responder {
	return func(req *http.Request) (*http.Response, error) {
		var query struct {
			From   *int64 `json:"start_time_from"`
			Offset int
		}
		if err := json.NewDecoder(req.Body).Decode(&query); err != nil {
			return nil, err
		}
		first := query.Offset
		if query.From != nil {
			first = sort.Search(n, func(i int) bool { return start(i) < *query.From })
		}
		var page []string
		for i := first; i < min(first+10, n); i++ {
			if text := entry(i); text != "" {
				page = append(page, text)
			}
		}
		return Respond(http.StatusOK, List(page...))(req)
	}
}

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
