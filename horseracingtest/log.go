package horseracingtest

import (
	"net/http"
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
	requests := []Request{}
	for _, r := range s.wire.Requests() {
		requests = append(requests, Request(r))
	}
	return requests
}

// RequestCount returns the number of requests since the start or the last
// [Server.ResetLog], those without a response included.
func (s *Server) RequestCount() int {
	all, _ := s.wire.Counts()
	return all
}

// MaxInFlight returns the highest number of requests that the fake handled at the same
// time, since the start or the last [Server.ResetLog]. A request counts until just
// before the last byte of its response is sent.
func (s *Server) MaxInFlight() int {
	_, highest := s.wire.Counts()
	return highest
}

// ResetLog clears the request log and the counts.
func (s *Server) ResetLog() { s.wire.ResetLog() }
