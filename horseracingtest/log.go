package horseracingtest

import (
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
	return s.log.requests()
}

// RequestCount returns the number of requests since the start or the last
// [Server.ResetLog], those without a response included.
func (s *Server) RequestCount() int {
	all, _ := s.log.counts()
	return all
}

// MaxInFlight returns the highest number of requests that the fake handled at the same
// time, since the start or the last [Server.ResetLog]. A request counts until just
// before the last byte of its response is sent.
func (s *Server) MaxInFlight() int {
	_, highest := s.log.counts()
	return highest
}

// ResetLog clears the request log and the counts.
func (s *Server) ResetLog() { s.log.reset() }

// requestLog keeps the newest requests and counts all.
type requestLog struct {
	mu       sync.Mutex
	limit    int
	newest   []*Request // at most limit
	count    int
	inFlight int // requests of which the response is not about to leave yet
	highest  int
	serving  int       // requests on their way through the chain
	ended    sync.Cond // one of them ended
}

// link notes a request and its response, and counts it as long as it is served.
func (l *requestLog) link(clock *clock, logger *slog.Logger, next handle) handle {
	return func(c *call) response {
		r := c.request
		c.arrived = Request{Time: clock.Now(), Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header}
		noted := c.arrived
		l.begin(&noted)
		c.note = func(change func(*Request)) { l.update(&noted, change) }
		defer l.end()
		c.onLeave(l.leave)
		defer c.leave()
		if logger != nil {
			began := time.Now()
			defer func() {
				logger.LogAttrs(r.Context(), slog.LevelInfo, "request", slog.String("method", r.Method), slog.String("path", r.URL.EscapedPath()),
					slog.Int("status", c.status), slog.Duration("took", time.Since(began)))
			}()
		}
		return next(c)
	}
}

func (l *requestLog) init(limit int) {
	l.limit = limit
	l.ended.L = &l.mu
}

// begin notes a request that arrived.
func (l *requestLog) begin(r *Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serving++
	l.inFlight++
	l.highest = max(l.highest, l.inFlight)
	l.count++
	l.newest = append(l.newest, r)
	l.newest = l.newest[max(0, len(l.newest)-l.limit):]
}

// update changes what is noted of a request.
func (l *requestLog) update(r *Request, change func(*Request)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(r)
}

// leave notes that the last byte of a response is about to leave.
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

// awaitEnd waits until no request is on its way.
func (l *requestLog) awaitEnd() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.serving > 0 {
		l.ended.Wait()
	}
}

func (l *requestLog) requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	requests := make([]Request, 0, len(l.newest))
	for _, r := range l.newest {
		requests = append(requests, r.clone())
	}
	return requests
}

func (l *requestLog) counts() (all, maxInFlight int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count, l.highest
}

func (l *requestLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newest, l.count, l.highest = nil, 0, l.inFlight
}
