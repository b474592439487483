package horseracingtest

import (
	"net/http"
	"sync"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
)

// Response is the response of a handler; see [Server.Handle].
type Response struct {
	Status int // default 200
	Header http.Header
	Body   string // JSON, unless Header has another Content-Type
}

// Handle makes h respond to the requests that match pattern, which is one of
// [net/http.ServeMux]: an optional method, and a path in which a segment in braces matches
// any one segment:
//
//	server.Handle("GET /api/v1/horses/{n}", func(horseracingtest.Request) (horseracingtest.Response, bool) {
//		return horseracingtest.Response{Body: `{"number":311}`}, true
//	})
//
// If h returns false, an earlier handler responds, or else the fake itself. The fake
// need not have an operation at the path. A handler gets only requests with a valid API
// key and content type, and no requests hit by a fault with TakesEffectAfter. It is
// called from several goroutines, and can call the methods of the server. Handle panics
// if the pattern is invalid.
func (s *Server) Handle(pattern string, h func(Request) (Response, bool)) {
	if h == nil {
		panic("horseracingtest: Handle needs a function")
	}
	added := handler{pattern: http.NewServeMux(), respond: h}
	added.pattern.Handle(pattern, http.NotFoundHandler())
	s.handlers.add(added)
}

type handler struct {
	pattern *http.ServeMux // which has nothing but it
	respond func(Request) (Response, bool)
}

func (h *handler) matches(r *http.Request) bool {
	_, pattern := h.pattern.Handler(r)
	return pattern != ""
}

type handlers struct {
	mu   sync.RWMutex
	list []handler // newest first
}

func (h *handlers) add(added handler) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append([]handler{added}, h.list...)
}

func (h *handlers) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = nil
}

// link responds with a handler, to requests with valid headers.
func (h *handlers) link(headers headers, next handle) handle {
	return func(c *call) response {
		matching := h.matching(c.request)
		if len(matching) == 0 || c.unread != nil {
			return next(c)
		}
		if no := headers.check(c.request); no != nil {
			return refused(no)
		}
		for _, h := range matching {
			if out, ok := h.respond(c.arrived.clone()); ok {
				return out.checked()
			}
		}
		return next(c)
	}
}

// matching returns the handlers for a request, newest first.
func (h *handlers) matching(r *http.Request) []handler {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var matching []handler
	for _, candidate := range h.list {
		if candidate.matches(r) {
			matching = append(matching, candidate)
		}
	}
	return matching
}

// checked turns what a handler returned into what can be sent.
func (r Response) checked() response {
	if r.Status == 0 {
		r.Status = http.StatusOK
	}
	if r.Status < 200 || r.Status > 999 {
		return refused(world.Refuse(http.StatusInternalServerError, "invalid_response", "a handler of the test responded with status %d", r.Status))
	}
	return response{status: r.Status, header: r.Header, body: []byte(r.Body)}
}
