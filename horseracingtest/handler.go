package horseracingtest

import (
	"net/http"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/wire"
)

// Response is the response of a handler; see [Server.Handle].
type Response struct {
	Status int // default 200
	Header http.Header
	Body   string // JSON, unless Header has another Content-Type
}

// Handle makes h respond to the requests that match pattern: an optional method, and a
// path in which a segment in braces matches any one segment:
//
//	server.Handle("GET /api/v1/horses/{n}", func(horseracingtest.Request) (horseracingtest.Response, bool) {
//		return horseracingtest.Response{Body: `{"number":311}`}, true
//	})
//
// If h returns false, an earlier handler responds, or else the fake itself. The fake
// need not have an operation at the path. A handler gets only requests with a valid API
// key and content type, and no requests hit by a fault with TakesEffectAfter. It is
// called from several goroutines, and can call the methods of the server. Handle panics
// if the pattern has no path.
func (s *Server) Handle(pattern string, h func(Request) (Response, bool)) {
	var respond func(wire.Request) (wire.Response, bool)
	if h != nil {
		respond = func(r wire.Request) (wire.Response, bool) {
			response, ok := h(Request(r))
			return wire.Response(response), ok
		}
	}
	must(s.wire.Handle(pattern, respond))
}
