package horseracingtest

import (
	"fmt"
	"math/rand/v2"
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
	Probability float64 // chance of hitting each selected request after the skipped ones, drawn from the seed; default 1
	Times       int     // how many requests to hit; all if negative; default 1, or all if Probability is set

	// If Status is not 0, the fake responds with it, and the request has no effect.
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

// Inject adds faults for later requests. The first fault that selects a request hits
// it, and no other does. But if its Skip or Probability lets the request through, the next
// fault that selects the request is tried. A fault is removed after it has hit Times requests.
// Inject panics if a fault is invalid.
func (s *Server) Inject(faults ...Fault) {
	must(s.faults.inject(faults...))
}

// ClearFaults removes all faults.
func (s *Server) ClearFaults() { s.faults.clear() }

// RequireFaults fails the test at its end if an injected fault has hit no request, even
// if the fault was cleared since.
func (s *Server) RequireFaults(t testing.TB) {
	t.Cleanup(func() {
		t.Helper()
		for _, idle := range s.faults.idle() {
			t.Errorf("horseracingtest: %s", idle)
		}
	})
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

// inject adds faults for later requests: all of them, or none if one is invalid.
func (f *faults) inject(added ...Fault) error {
	for i := range added {
		if wrong := added[i].problem(); wrong != "" {
			return fmt.Errorf("fault %d of %d: %s", i+1, len(added), wrong)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fault := range added {
		fault.Header = fault.Header.Clone()
		r := &rule{Fault: fault, asInjected: fault, chance: rand.New(rand.NewPCG(f.seed, uint64(len(f.injected))))}
		switch {
		case fault.Times != 0:
		case fault.Probability > 0:
			r.Times = -1
		default:
			r.Times = 1
		}
		f.rules = append(f.rules, r)
		f.injected = append(f.injected, r)
	}
	return nil
}

func (f *faults) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = nil
}

func (f *faults) reset(seed uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seed, f.rules, f.injected = seed, nil, nil
}

// idle returns which of the injected faults have hit no request.
func (f *faults) idle() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var idle []string
	for i, rule := range f.injected {
		if rule.struck == 0 {
			idle = append(idle, fmt.Sprintf("fault %d of those injected hit no request: %+v", i+1, rule.asInjected))
		}
	}
	return idle
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
