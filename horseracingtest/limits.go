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
	Window    time.Duration // length of a window; each window starts at a time that is a multiple of this length, as time.Time.Truncate returns it
	Sliding   bool          // PerWindow applies to any interval of length Window, not to fixed windows

	InFlight int // maximum requests in flight; a request counts until just before the last byte of its response is sent

	RetryAfter   string // form of the Retry-After header: "seconds", "date", or "" for none
	Headers      bool   // send RateLimit-Limit, -Remaining and, in seconds, -Reset with every response
	CountRefused bool   // refused requests count too: a client that does not pause is refused forever
}

// WithRequestLimit limits the requests of each API key. A request beyond one of the limits is
// refused with status 429, and counts against the other limits only if they have CountRefused.
// Limits are checked after a fault's Delay. Requests that get a fault's Status are not
// counted. The option can be repeated. By default there is no limit.
func WithRequestLimit(limits ...RequestLimit) Option {
	return func(s *settings) { s.limits = append(s.limits, limits...) }
}

// SetRequestLimit replaces the limits of [WithRequestLimit]. All counts start from
// zero. It panics if a limit is invalid.
func (s *Server) SetRequestLimit(limits ...RequestLimit) {
	for i := range limits {
		must(limits[i].check())
	}
	s.limiter.set(limits)
}

// check returns what is wrong with the limit.
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
	refusal *refusal    // nil if it was accepted
	header  http.Header // for the response
	release func()      // gives places in flight back; can be called again
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
		a.refusal = refuse(http.StatusTooManyRequests, "too_many_requests", "this API key has sent more than %v", limits[refusing])
		switch limits[refusing].RetryAfter {
		case "seconds":
			a.header.Set("Retry-After", wholeSeconds(longest))
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

// describe adds the RateLimit headers: of the limit that refused, or else of
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
	header.Set("Ratelimit-Limit", strconv.Itoa(limits[shown].size()))
	header.Set("Ratelimit-Remaining", strconv.Itoa(fewest))
	if reset := meters[shown].reset(now); !reset.IsZero() {
		header.Set("Ratelimit-Reset", wholeSeconds(max(0, reset.Sub(now))))
	}
}

// wholeSeconds is a time in seconds, rounded up.
func wholeSeconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// wholeSecond is the first whole second that is not before t.
func wholeSecond(t time.Time) time.Time { return t.UTC().Add(time.Second - 1).Truncate(time.Second) }

// meter is what one API key has taken of one limit.
type meter interface {
	wait(now time.Time) time.Duration // until the limit accepts a request; 0: now
	take(now time.Time)               // counts a request
	remaining(now time.Time) int      // how many more it accepts now
	reset(now time.Time) time.Time    // when it is unused again, or zero if that is unknown
	enter()                           // a request was accepted,
	leave()                           // and its response is about to leave
}

func (l *RequestLimit) meter() meter {
	switch {
	case l.PerSecond != 0:
		interval := time.Duration(float64(time.Second) / l.PerSecond)
		return &bucket{interval: interval, capacity: time.Duration(l.size()) * interval}
	case l.Sliding:
		return &slidingWindow{size: l.PerWindow, width: l.Window}
	case l.PerWindow != 0:
		return &fixedWindow{size: l.PerWindow, width: l.Window}
	}
	return &inFlight{size: l.InFlight}
}

// rate is the part of a meter that does not depend on when responses leave.
type rate struct{}

func (rate) enter() {}
func (rate) leave() {}

// bucket keeps its level as the time at which it will be full again: whole
// nanoseconds, unlike fractions of a token, add up.
type bucket struct {
	rate
	interval time.Duration // in which it gains one request
	capacity time.Duration // in which it fills up
	fullAt   time.Time
}

func (b *bucket) missing(now time.Time) time.Duration { return max(0, b.fullAt.Sub(now)) }

func (b *bucket) wait(now time.Time) time.Duration {
	return max(0, b.missing(now)+b.interval-b.capacity)
}

// take can put the bucket into debt, by as much as it holds.
func (b *bucket) take(now time.Time) {
	b.fullAt = now.Add(min(b.missing(now)+b.interval, 2*b.capacity))
}

func (b *bucket) remaining(now time.Time) int {
	return int(max(0, b.capacity-b.missing(now)) / b.interval)
}

func (b *bucket) reset(now time.Time) time.Time { return now.Add(b.missing(now)) }

type fixedWindow struct {
	rate
	size  int
	width time.Duration
	began time.Time
	count int
}

// turn starts a new window once the old one is over.
func (w *fixedWindow) turn(now time.Time) {
	if began := now.Truncate(w.width); !began.Equal(w.began) {
		w.began, w.count = began, 0
	}
}

func (w *fixedWindow) wait(now time.Time) time.Duration {
	if w.turn(now); w.count < w.size {
		return 0
	}
	return w.reset(now).Sub(now)
}

func (w *fixedWindow) take(now time.Time) {
	w.turn(now)
	w.count++
}

func (w *fixedWindow) remaining(now time.Time) int {
	w.turn(now)
	return max(0, w.size-w.count)
}

func (w *fixedWindow) reset(now time.Time) time.Time { return now.Truncate(w.width).Add(w.width) }

type slidingWindow struct {
	rate
	size   int
	width  time.Duration
	recent []time.Time // of the newest requests, at most size
}

func (w *slidingWindow) wait(now time.Time) time.Duration {
	if len(w.recent) < w.size {
		return 0
	}
	return max(0, w.recent[0].Add(w.width).Sub(now))
}

func (w *slidingWindow) take(now time.Time) {
	if len(w.recent) == w.size {
		w.recent = w.recent[1:]
	}
	w.recent = append(w.recent, now)
}

func (w *slidingWindow) remaining(now time.Time) int {
	remaining := w.size
	for _, at := range w.recent {
		if now.Sub(at) < w.width {
			remaining--
		}
	}
	return remaining
}

func (w *slidingWindow) reset(now time.Time) time.Time {
	if len(w.recent) == 0 {
		return now
	}
	return w.recent[len(w.recent)-1].Add(w.width)
}

type inFlight struct{ size, count int }

// wait is a guess: when a place becomes free is unknown.
func (f *inFlight) wait(time.Time) time.Duration {
	if f.count < f.size {
		return 0
	}
	return time.Second
}

func (f *inFlight) take(time.Time)            {}
func (f *inFlight) remaining(time.Time) int   { return f.size - f.count }
func (f *inFlight) reset(time.Time) time.Time { return time.Time{} }
func (f *inFlight) enter()                    { f.count++ }
func (f *inFlight) leave()                    { f.count-- }
