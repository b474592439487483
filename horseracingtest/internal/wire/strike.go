package wire

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
)

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

func (f *faults) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules, f.injected = nil, nil
}

// idle says which of the injected faults have hit no request.
func (f *faults) idle() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var idle []string
	for i, rule := range f.injected {
		if rule.struck == 0 {
			idle = append(idle, fmt.Sprintf("fault %d of those injected never struck: %+v", i+1, rule.asInjected))
		}
	}
	return idle
}

// link does to a request what the fault does that hits it.
func (f *faults) link(late *late, sleep sleep, next handle) handle {
	return func(c *call) response {
		fault := f.strike(c.request)
		if !fault.ResetBefore {
			c.read() // before any delay: net/http notices that a client is gone only once the body was read
		}
		if !sleep(c.request.Context(), fault.Delay) {
			panic(http.ErrAbortHandler)
		}
		if fault.ResetBefore {
			drop(c.writer)
		}
		if fault.IgnoreBody {
			c.arrived.Body, c.unread = nil, nil
		}
		if fault.TakesEffectAfter > 0 {
			late.add(c, fault.TakesEffectAfter)
			drop(c.writer)
		}
		if fault.Status != 0 {
			c.instead = &response{status: fault.Status, body: []byte(fault.Body)}
		}
		out := next(c)
		if fault.ResetAfter {
			drop(c.writer)
		}
		out.fault = fault
		return out
	}
}

// instead is the link below the latency: what the fault's Status responds with.
func instead(next handle) handle {
	return func(c *call) response {
		if c.instead != nil {
			return *c.instead
		}
		return next(c)
	}
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
