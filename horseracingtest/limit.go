package horseracingtest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
)

// RequestLimit limits how many requests the fake accepts from one API key. It is a
// bucket (PerSecond), a window (PerWindow) or a cap on requests in flight (InFlight):
// exactly one of the three is set. It uses the fake's clock: without WithClock it
// refills only with [Server.Advance].
type RequestLimit struct {
	Path string // for requests whose path has this prefix; default all

	PerSecond float64 // a bucket that refills at this rate
	Burst     int     // how many requests a full bucket holds; default 1

	PerWindow int           // this many requests in every Window
	Window    time.Duration // windows start at multiples of it
	Sliding   bool          // PerWindow applies to any interval of length Window, not to fixed windows

	InFlight int // this many requests at a time; a request counts until just before the last byte of its response is sent

	RetryAfter   string // form of the Retry-After header: "seconds", "date", or "" for none
	Headers      bool   // send X-RateLimit-Limit, -Remaining and, in epoch seconds, -Reset with every response
	CountRefused bool   // refused requests count too: a client that does not pause is refused forever
}

// WithRequestLimit limits the requests of each API key. A request beyond one of the
// limits is refused with status 429, and counts against the others only if they have
// CountRefused. Limits are checked after a fault's Delay. Requests that get a fault's
// Status are not counted. The option can be repeated. By default there is no limit.
func WithRequestLimit(limits ...RequestLimit) Option {
	return func(s *settings) { s.limits = append(s.limits, limits...) }
}

// SetRequestLimit replaces the limits of [WithRequestLimit]. All counts start from
// zero. It panics if a limit is invalid.
func (s *Server) SetRequestLimit(limits ...RequestLimit) {
	for i := range limits {
		if err := limits[i].check(); err != nil {
			panic("horseracingtest: " + err.Error())
		}
	}
	s.limiter.set(limits)
}

func (l *RequestLimit) check() error {
	kinds := 0
	for _, set := range []bool{l.PerSecond != 0, l.PerWindow != 0, l.InFlight != 0} {
		if set {
			kinds++
		}
	}
	var wrong string
	switch {
	case l.Path != "" && l.Path[0] != '/':
		wrong = "its Path does not begin with /"
	case kinds != 1:
		wrong = "it needs exactly one of PerSecond, PerWindow and InFlight"
	case l.PerSecond < 0 || l.PerWindow < 0 || l.InFlight < 0 || l.Burst < 0 || l.Window < 0:
		wrong = "nothing in it can be negative"
	case l.PerSecond != 0 && !(l.PerSecond >= 1e-6 && l.PerSecond <= 1e6):
		wrong = "PerSecond can be 0.000001 to 1000000"
	case l.PerSecond == 0 && l.Burst != 0:
		wrong = "Burst needs PerSecond"
	case l.PerWindow != 0 && l.Window == 0:
		wrong = "PerWindow needs a Window"
	case l.PerWindow == 0 && (l.Window != 0 || l.Sliding):
		wrong = "Window and Sliding need PerWindow"
	case !slices.Contains([]string{"", "seconds", "date"}, l.RetryAfter):
		wrong = `RetryAfter can be "seconds", "date" or ""`
	}
	if wrong != "" {
		return errors.New("request limit " + l.String() + ": " + wrong)
	}
	return nil
}

// size is how many requests the limit accepts from a client that was silent.
func (l *RequestLimit) size() int { return max(1, l.Burst, l.PerWindow, l.InFlight) }

// String returns the limit's description, as used in 429 responses.
func (l RequestLimit) String() string {
	requests := "requests"
	if l.Path != "" {
		requests = "requests to " + l.Path
	}
	switch {
	case l.PerSecond != 0:
		return fmt.Sprintf("%v %s per second with bursts of %d", l.PerSecond, requests, l.size())
	case l.PerWindow != 0:
		return fmt.Sprintf("%d %s per %v", l.PerWindow, requests, l.Window)
	}
	return fmt.Sprintf("%d %s in flight", l.InFlight, requests)
}

// limiter decides which requests are accepted.
type limiter struct {
	mu     sync.Mutex
	limits []RequestLimit
	meters map[string][]meter // by API key, one for each limit
}

func (l *limiter) set(limits []RequestLimit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limits = slices.Clone(limits)
	l.meters = make(map[string][]meter)
}

// admission is the limiter's decision on a request.
type admission struct {
	refusal *world.Refusal // nil if it was accepted
	header  http.Header    // for the response
	release func()         // gives places in flight back; can be called again
}

// admit accepts or refuses a request to a path that arrives now.
func (l *limiter) admit(apiKey, path string, now time.Time) admission {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.meters[apiKey] == nil {
		for i := range l.limits {
			l.meters[apiKey] = append(l.meters[apiKey], l.limits[i].meter())
		}
	}
	var limits []RequestLimit
	var meters []meter
	for i, limit := range l.limits {
		if strings.HasPrefix(path, limit.Path) {
			limits, meters = append(limits, limit), append(meters, l.meters[apiKey][i])
		}
	}
	a := admission{header: make(http.Header), release: func() {}}
	refusing, longest := -1, time.Duration(0)
	for i, m := range meters {
		if wait := m.wait(now); wait > longest {
			refusing, longest = i, wait
		}
	}
	for i, m := range meters {
		if refusing < 0 || limits[i].CountRefused {
			m.take(now)
		}
	}
	if refusing >= 0 {
		a.refusal = world.Refuse(http.StatusTooManyRequests, "too_many_requests", "this API key has sent more than %v", limits[refusing])
		switch limits[refusing].RetryAfter {
		case "seconds":
			a.header.Set("Retry-After", strconv.FormatInt(int64((longest+time.Second-1)/time.Second), 10))
		case "date":
			a.header.Set("Retry-After", wholeSecond(now.Add(longest)).Format(http.TimeFormat))
		}
	} else {
		for _, m := range meters {
			m.enter()
		}
		a.release = sync.OnceFunc(func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, m := range meters {
				m.leave()
			}
		})
	}
	describe(a.header, limits, meters, refusing, now)
	return a
}

// describe adds the X-RateLimit headers: of the limit that refused, or else of
// the one with the fewest requests remaining.
func describe(header http.Header, limits []RequestLimit, meters []meter, refusing int, now time.Time) {
	shown, fewest := -1, 0
	for i, m := range meters {
		if !limits[i].Headers {
			continue
		}
		if remaining := m.remaining(now); shown < 0 || i == refusing || remaining < fewest && shown != refusing {
			shown, fewest = i, remaining
		}
	}
	if shown < 0 {
		return
	}
	header.Set("X-Ratelimit-Limit", strconv.Itoa(limits[shown].size()))
	header.Set("X-Ratelimit-Remaining", strconv.Itoa(fewest))
	if reset := meters[shown].reset(now); !reset.IsZero() {
		header.Set("X-Ratelimit-Reset", strconv.FormatInt(wholeSecond(reset).Unix(), 10))
	}
}

// wholeSecond is the first whole second that is not before t.
func wholeSecond(t time.Time) time.Time { return t.UTC().Add(time.Second - 1).Truncate(time.Second) }
