package horseracingtest

import (
	"net/http"
	"strings"
	"sync"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
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
	method, path, found := strings.Cut(pattern, " ")
	if !found {
		method, path = "", pattern
	}
	if !strings.HasPrefix(path, "/") || h == nil {
		panic("horseracingtest: Handle takes a pattern like \"GET /api/v1/horses/{n}\" and a function, got " + pattern)
	}
	s.handlers.add(handler{method, strings.Split(path, "/"), h})
}

type handler struct {
	method   string
	segments []string
	respond  func(Request) (Response, bool)
}

func (h *handler) matches(r *http.Request) bool {
	segments := strings.Split(r.URL.EscapedPath(), "/")
	if h.method != "" && h.method != r.Method || len(segments) != len(h.segments) {
		return false
	}
	for i, segment := range h.segments {
		wild := strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}") && segments[i] != ""
		if !wild && segment != segments[i] {
			return false
		}
	}
	return true
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

// handle returns the response to a request: that of a handler, or else that of
// the recording or the state.
func (s *Server) handle(r *http.Request, arrived Request, unread *world.Refusal) response {
	if matching := s.handlers.matching(r); len(matching) > 0 && unread == nil {
		if no := s.checkHeaders(r); no != nil {
			return refused(no)
		}
		for _, h := range matching {
			if out, ok := h.respond(arrived.clone()); ok {
				return out.checked()
			}
		}
	}
	if s.replays.recording != nil && unread == nil {
		return s.replay(r, arrived.Body)
	}
	return s.respond(r, arrived.Body, unread, s.catchUp())
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
