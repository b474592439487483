package horseracingtest

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
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

// problem returns what is invalid about the fault, or "". A test must not pass
// because its fault did nothing.
func (f *Fault) problem() string {
	switch {
	case f.Path != "" && f.Path[0] != '/':
		return "its Path does not begin with /"
	case f.Skip < 0 || f.CutBody < 0 || f.Delay < 0 || f.Drip < 0 || f.TakesEffectAfter < 0:
		return "Skip, CutBody, Delay, Drip and TakesEffectAfter cannot be negative"
	case !(f.Probability >= 0 && f.Probability <= 1):
		return "its Probability is not between 0 and 1"
	case f.Status != 0 && (f.Status < 200 || f.Status > 999):
		return "Status " + strconv.Itoa(f.Status) + " is not the status of a response"
	case f.Body != "" && f.Status == 0:
		return "it has a Body but no Status"
	case f.TakesEffectAfter > 0 && (f.ResetBefore || f.ResetAfter || f.Status != 0 || f.Header != nil || f.CutBody > 0 || f.Drip > 0):
		return "TakesEffectAfter sends no response"
	case f.ResetBefore && (f.ResetAfter || f.Status != 0 || f.Header != nil || f.CutBody > 0 || f.Drip > 0 || f.IgnoreBody):
		return "nothing can follow ResetBefore"
	case f.ResetAfter && (f.Status != 0 || f.Header != nil || f.CutBody > 0 || f.Drip > 0):
		return "ResetAfter sends no response"
	case f.Delay == 0 && f.TakesEffectAfter == 0 && !f.ResetBefore && !f.ResetAfter && f.Status == 0 && f.Header == nil && f.CutBody == 0 && f.Drip == 0 && !f.IgnoreBody:
		return "it does nothing"
	}
	return ""
}

// faults are the rules in force.
type faults struct {
	mu       sync.Mutex
	seed     uint64
	rules    []*rule
	injected []*rule // all that ever were
}

// rule is a fault in force.
type rule struct {
	Fault
	asInjected Fault
	chance     *rand.Rand
	struck     int
}

// Inject adds faults for later requests. At most one hits a request: the first that
// selects it, unless its Skip or Probability lets the request through. A fault is
// removed after it has hit Times requests. Inject panics if a fault is invalid.
func (s *Server) Inject(faults ...Fault) {
	for i := range faults { // before any is in force
		if wrong := faults[i].problem(); wrong != "" {
			panic(fmt.Sprintf("horseracingtest: fault %d of %d: %s", i+1, len(faults), wrong))
		}
	}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	for _, f := range faults {
		f.Header = f.Header.Clone()
		added := &rule{Fault: f, asInjected: f, chance: rand.New(rand.NewPCG(s.faults.seed, uint64(len(s.faults.injected))))}
		switch {
		case f.Times != 0:
		case f.Probability > 0:
			added.Times = -1
		default:
			added.Times = 1
		}
		s.faults.rules = append(s.faults.rules, added)
		s.faults.injected = append(s.faults.injected, added)
	}
}

// ClearFaults removes all faults.
func (s *Server) ClearFaults() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.rules = nil
}

func (f *faults) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules, f.injected = nil, nil
}

// RequireFaults fails the test at its end if an injected fault has hit no request, even
// if the fault was cleared since.
func (s *Server) RequireFaults(t testing.TB) {
	t.Cleanup(func() {
		t.Helper()
		s.faults.mu.Lock()
		defer s.faults.mu.Unlock()
		for i, rule := range s.faults.injected {
			if rule.struck == 0 {
				t.Errorf("horseracingtest: fault %d of those injected never struck: %+v", i+1, rule.asInjected)
			}
		}
	})
}

// strike returns the fault that hits the request: one that does nothing, if
// none does.
func (f *faults) strike(r *http.Request) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, rule := range f.rules {
		switch {
		case rule.Method != "" && rule.Method != r.Method, !strings.HasPrefix(r.URL.Path, rule.Path):
			continue
		case rule.Skip > 0:
			rule.Skip--
			continue
		case rule.Probability > 0 && rule.chance.Float64() >= rule.Probability:
			continue
		case rule.Times > 1:
			rule.Times--
		case rule.Times == 1:
			f.rules = append(f.rules[:i:i], f.rules[i+1:]...)
		}
		rule.struck++
		return rule.Fault
	}
	return Fault{}
}

// wait sleeps, unless the request or the fake ends first.
func (s *Server) wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-s.closing:
	}
	return false
}

// drop ends the connection of an HTTP/1 request, with a reset where there is
// TCP below it, and the stream of an HTTP/2 request. It does not return.
func drop(w http.ResponseWriter) {
	if hijacker, ok := w.(http.Hijacker); ok {
		if conn, _, err := hijacker.Hijack(); err == nil {
			raw := conn
			if secured, ok := conn.(*tls.Conn); ok {
				raw = secured.NetConn()
			}
			if tcp, ok := raw.(*net.TCPConn); ok {
				tcp.SetLinger(0)
			}
			raw.Close()
			conn.Close()
		}
	}
	panic(http.ErrAbortHandler)
}

// send writes the response, whole or as the fault has it. It calls release
// before the last byte leaves.
func (s *Server) send(w http.ResponseWriter, r *http.Request, out response, f *Fault, release func()) {
	header := w.Header()
	header["Content-Type"] = jsonType
	header["Date"] = []string{s.clock.Now().Format(http.TimeFormat)}
	for _, more := range []http.Header{out.header, f.Header} {
		for name, values := range more {
			header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if out.status != http.StatusNoContent && out.status != http.StatusNotModified {
		length := len(out.body)
		if out.cut {
			length++
		}
		header["Content-Length"] = []string{strconv.Itoa(length)}
	}
	w.WriteHeader(out.status)
	body, cut := out.body, out.cut
	if f.CutBody > 0 && f.CutBody < len(body) {
		body, cut = body[:f.CutBody], true
	}
	flusher := http.NewResponseController(w)
	if f.Drip > 0 {
		for i := range body {
			if flusher.Flush() != nil || !s.wait(r.Context(), f.Drip) {
				panic(http.ErrAbortHandler)
			}
			if i == len(body)-1 {
				release()
			}
			w.Write(body[i : i+1])
		}
	} else {
		release()
		w.Write(body)
	}
	if cut {
		flusher.Flush()
		panic(http.ErrAbortHandler)
	}
}

var jsonType = []string{"application/json; charset=utf-8"}
