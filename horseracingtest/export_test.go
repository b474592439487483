package horseracingtest

import "net/http"

// Handler is what answers the requests that come to the fake.
func Handler(s *Server) http.Handler { return s.http.Handler }
