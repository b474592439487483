package horseracingtest

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/horseracing-go/horseracing/horseracingtest/internal/world"
)

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

// link refuses what is beyond the limits.
func (l *limiter) link(clock *clock, next handle) handle {
	return func(c *call) response {
		admitted := l.admit(c.request.Header.Get("X-Api-Key"), c.request.URL.Path, clock.Now())
		c.onLeave(admitted.release)
		maps.Copy(c.writer.Header(), admitted.header)
		if admitted.refusal != nil {
			return refused(admitted.refusal)
		}
		return next(c)
	}
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
