package horseracingtest

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// Request is a request that the fake received, as it was sent, including keys.
type Request struct {
	Time   time.Time // by the fake's clock
	Method string
	Path   string // escaped as in the request, with the query if there was one
	Header http.Header
	Body   []byte // nil if there was none, or it was not read
	Status int    // of the response; 0 if none was sent so far
}

// Requests returns the newest requests in the order in which they arrived, up to the
// number that [WithRequestLog] sets.
func (s *Server) Requests() []Request {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	requests := make([]Request, 0, len(s.log.newest))
	for _, r := range s.log.newest {
		requests = append(requests, r.clone())
	}
	return requests
}

// RequestCount returns the number of requests since the start or the last
// [Server.ResetLog], those without a response included.
func (s *Server) RequestCount() int {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.log.count
}

// MaxInFlight returns the highest number of requests that the fake handled at the same
// time, since the start or the last [Server.ResetLog]. A request counts until just
// before the last byte of its response is sent.
func (s *Server) MaxInFlight() int {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.log.highest
}

// ResetLog clears the request log and the counts.
func (s *Server) ResetLog() { s.log.reset() }

// requestLog keeps the newest requests and counts all.
type requestLog struct {
	mu       sync.Mutex
	limit    int
	newest   []*Request // at most limit
	count    int
	inFlight int // requests of which the last byte of the response is still to be sent
	highest  int
	serving  int       // requests that have not ended
	ended    sync.Cond // one of them ended
}

func (l *requestLog) init(limit int) {
	l.limit = limit
	l.ended.L = &l.mu
}

func (l *requestLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newest, l.count, l.highest = nil, 0, l.inFlight
}

// arrive notes a request.
func (l *requestLog) arrive(r *http.Request, now time.Time) *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &call{http: r, Request: Request{Time: now, Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header}}
	noted := c.Request
	c.noted = &noted
	c.leaving = append(c.leaving, l.leave)
	l.serving++
	l.inFlight++
	l.highest = max(l.highest, l.inFlight)
	l.count++
	l.newest = append(l.newest, c.noted)
	l.newest = l.newest[max(0, len(l.newest)-l.limit):]
	return c
}

// update changes what is noted of a request.
func (l *requestLog) update(c *call, change func(*Request)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(c.noted)
}

func (l *requestLog) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
}

func (l *requestLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serving--
	l.ended.Signal()
}

// awaitEnd waits until all requests have ended.
func (l *requestLog) awaitEnd() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.serving > 0 {
		l.ended.Wait()
	}
}

// logRequest writes a request that has ended to a logger.
func logRequest(logger *slog.Logger, c *call, began time.Time) {
	logger.LogAttrs(context.Background(), slog.LevelInfo, "request", slog.String("method", c.Method), slog.String("path", c.http.URL.EscapedPath()),
		slog.Int("status", c.noted.Status), slog.Duration("took", time.Since(began)))
}

func (r Request) clone() Request {
	r.Header = r.Header.Clone()
	r.Body = append([]byte(nil), r.Body...)
	return r
}
