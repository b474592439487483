package horseracingtest

import (
	"net/http"
	"sync"
)

// Response is the response of a handler; see [Server.Handle].
type Response struct {
	Status int // default 200
	Header http.Header
	Body   string // JSON, unless Header has another Content-Type
}

// Handle makes h respond to the requests that match pattern. A pattern is written as for
// [net/http.ServeMux]: an optional method, and a path in which a segment in braces matches any
// one segment.
//
//	server.Handle("GET /api/v1/horses/{n}", func(horseracingtest.Request) (horseracingtest.Response, bool) {
//		return horseracingtest.Response{Body: `{"number":311}`}, true
//	})
//
// If h returns false, an earlier handler responds, or else the fake itself. The fake need not
// have an operation at the path. A handler does not get requests that lack a valid API key or
// content type, or that a fault with TakesEffectAfter hits. It is called from several
// goroutines, and can call the methods of the server. Handle panics if the pattern is invalid.
func (s *Server) Handle(pattern string, h func(Request) (Response, bool)) {
	if h == nil {
		panic("horseracingtest: Handle needs a function")
	}
	added := handler{pattern: http.NewServeMux(), respond: h}
	added.pattern.Handle(pattern, http.NotFoundHandler())
	s.handlers.mu.Lock()
	defer s.handlers.mu.Unlock()
	s.handlers.list = append([]handler{added}, s.handlers.list...)
}

type handler struct {
	pattern *http.ServeMux // of this pattern alone
	respond func(Request) (Response, bool)
}

type handlers struct {
	mu   sync.RWMutex
	list []handler // newest first; never changed in place
}

func (h *handlers) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = nil
}

// respond returns the response of the newest handler that has one.
func (h *handlers) respond(c *call) (out response, ok bool) {
	h.mu.RLock()
	list := h.list
	h.mu.RUnlock()
	for _, handler := range list {
		if _, pattern := handler.pattern.Handler(c.http); pattern == "" {
			continue
		}
		if given, ok := handler.respond(c.Request.clone()); ok {
			return given.checked(), true
		}
	}
	return response{}, false
}

// checked returns what can be sent of what a handler returned.
func (r Response) checked() response {
	if r.Status == 0 {
		r.Status = http.StatusOK
	}
	if r.Status < 200 || r.Status > 999 {
		return refuse(http.StatusInternalServerError, "invalid_response", "a handler of the test responded with status %d", r.Status).response()
	}
	return response{status: r.Status, header: r.Header, body: []byte(r.Body)}
}
