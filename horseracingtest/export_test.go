package horseracingtest

import "net/http"

// Handler handles the requests of the fake.
func Handler(s *Server) http.Handler { return s.http.Handler }
