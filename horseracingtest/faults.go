package horseracingtest

import (
	"net/http"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/wire"
)

// Fault describes how a request fails. Its effects can be combined, such as a Delay
// with a Status and a Drip.
type Fault struct {
	// Method and Path select requests with this method and with a path that has this
	// prefix. If empty, they select all.
	Method, Path string

	Skip        int     // let this many selected requests through first
	Probability float64 // hit each of the others with this probability, drawn from the seed; default 1
	Times       int     // how many requests to hit; all if negative; default 1, or all if Probability is set

	// Status is the status of the response, and the request has no effect. If it is 0, the
	// fake responds as usual.
	Status int
	Header http.Header // added to the response; default Content-Type application/json
	Body   string      // body of the response, if Status is set

	Delay       time.Duration // wait this long first
	ResetBefore bool          // drop the connection before the request body is read: the request has no effect
	ResetAfter  bool          // drop the connection instead of responding: the request has its effect
	CutBody     int           // drop the connection after this many bytes of the response body
	Drip        time.Duration // wait this long before each byte of the response body
	IgnoreBody  bool          // respond as if the request had no body

	// TakesEffectAfter drops the connection. The request has its effect when the fake's
	// clock has advanced by this much, even if the client has disconnected. Earlier reads
	// do not show it.
	TakesEffectAfter time.Duration
}

// Inject adds faults for later requests. At most one hits a request: the first that
// selects it, unless its Skip or Probability lets the request through. A fault is
// removed after it has hit Times requests. Inject panics if a fault is invalid.
func (s *Server) Inject(faults ...Fault) {
	inject := make([]wire.Fault, len(faults))
	for i, f := range faults {
		inject[i] = wire.Fault(f)
	}
	must(s.wire.Inject(inject...))
}

// ClearFaults removes all faults.
func (s *Server) ClearFaults() { s.wire.ClearFaults() }

// RequireFaults fails the test at its end if an injected fault has hit no request, even
// if the fault was cleared since.
func (s *Server) RequireFaults(t testing.TB) {
	t.Cleanup(func() {
		t.Helper()
		for _, idle := range s.wire.IdleFaults() {
			t.Errorf("horseracingtest: %s", idle)
		}
	})
}
