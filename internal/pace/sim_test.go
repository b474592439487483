package pace

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// A discrete-event simulation: services with limits, and clients that keep a
// number of requests in flight. Time is simulated, so that hours take
// milliseconds, and every run of a seed is the same.

// world is the clock and what happens next.
type world struct {
	now    time.Time
	events events
	order  int
	random *rand.Rand
}

type event struct {
	at    time.Time
	order int
	do    func()
}

type events []event

func (h events) Len() int { return len(h) }
func (h events) Less(i, j int) bool {
	return h[i].at.Before(h[j].at) || h[i].at.Equal(h[j].at) && h[i].order < h[j].order
}
func (h events) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *events) Push(x any)   { *h = append(*h, x.(event)) }
func (h *events) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

var simStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newWorld(seed uint64) *world {
	return &world{now: simStart, random: rand.New(rand.NewPCG(seed, 7))}
}

func (w *world) at(t time.Time, do func()) {
	w.order++
	heap.Push(&w.events, event{t, w.order, do})
}

func (w *world) after(d time.Duration, do func()) { w.at(w.now.Add(d), do) }

func (w *world) run(until time.Time) {
	for len(w.events) > 0 && !w.events[0].at.After(until) {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		e.do()
	}
	w.now = until
}

// limit is what a service allows.
type limit interface {
	// admit reports whether a request that arrives now is accepted, and
	// otherwise after what time one would be.
	admit(now time.Time) (bool, time.Duration)
	done() // an accepted request leaves
}

// always is a limit that depends on nothing but the time.
type always func(now time.Time) (bool, time.Duration)

func (l always) admit(now time.Time) (bool, time.Duration) { return l(now) }
func (l always) done()                                     {}

func none(time.Time) (bool, time.Duration) { return true, 0 }

// newBucket refills at a rate that may change at some times after the start.
func newBucket(rate, burst float64, changes ...change) always {
	tokens, last := burst, simStart
	return func(now time.Time) (bool, time.Duration) {
		for len(changes) > 0 && !now.Before(simStart.Add(changes[0].at)) {
			rate, changes = changes[0].rate, changes[1:]
		}
		tokens, last = min(burst, tokens+rate*now.Sub(last).Seconds()), now
		if tokens >= 1-1e-9 {
			tokens--
			return true, 0
		}
		return false, seconds((1 - tokens) / rate)
	}
}

type change struct {
	at   time.Duration
	rate float64
}

// newWindow accepts so many requests in each window, or if it slides in any such time.
func newWindow(most int, length time.Duration, slides bool) always {
	var window []time.Time
	return func(now time.Time) (bool, time.Duration) {
		for len(window) > 0 && now.Sub(window[0]) >= length {
			window = window[1:]
		}
		if len(window) >= most {
			return false, window[0].Add(length).Sub(now)
		}
		if began := now.Truncate(length); slides {
			window = append(window, now)
		} else {
			window = append(window, began)
		}
		return true, 0
	}
}

type inFlight struct{ most, busy int }

func (l *inFlight) admit(time.Time) (bool, time.Duration) {
	if l.busy < l.most {
		l.busy++
		return true, 0
	}
	return false, 0
}
func (l *inFlight) done() { l.busy-- }

// both holds two limits at once. What the second refuses has used up what the first gave.
func both(a, b always) always {
	return func(now time.Time) (bool, time.Duration) {
		if ok, wait := a(now); !ok {
			return ok, wait
		}
		return b(now)
	}
}

// atRandom refuses a share of all requests besides those beyond a limit.
func atRandom(share float64, seed uint64, l always) always {
	random := rand.New(rand.NewPCG(seed, 9))
	return func(now time.Time) (bool, time.Duration) {
		if random.Float64() < share {
			return false, time.Second
		}
		return l(now)
	}
}

// replicas are several limiters behind a balancer.
func replicas(seed uint64, each ...always) always {
	random := rand.New(rand.NewPCG(seed, 9))
	return func(now time.Time) (bool, time.Duration) { return each[random.IntN(len(each))](now) }
}

// outage refuses everything for a time, and says that it lasts for wait.
func outage(from, to, wait time.Duration, l always) always {
	return func(now time.Time) (bool, time.Duration) {
		if now.Before(simStart.Add(from)) || !now.Before(simStart.Add(to)) {
			return l(now)
		}
		return false, wait
	}
}

// service accepts or refuses, 1 ms after a request was sent, and works for 18 to 20 ms, or
// as long as work says.
type service struct {
	limit
	work        func(*rand.Rand) time.Duration
	retryAfter  func(time.Duration) time.Duration // the Retry-After of a refusal; nil: none
	unavailable bool                              // it refuses with 503
}

func between(a, b time.Duration) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return a + time.Duration(r.Int64N(int64(b-a))) }
}

func roundedUp(d time.Duration) time.Duration { // as the header is
	return max((d + time.Second - 1).Truncate(time.Second), time.Second)
}

type tally struct{ accepted, refused int }

// crawl keeps workers requests of a walk going through a pace of its own.
func (w *world) crawl(svc *service, workers int) *tally {
	t := &tally{}
	c := w.newCaller(func(_ string, report func(Outcome, time.Duration)) {
		w.after(time.Millisecond, func() { svc.respond(w, t, report) })
	})
	w.after(time.Duration(w.random.Int64N(int64(100*time.Millisecond))), func() { c.walk("", workers) })
	return t
}

// respond handles a request that arrives now.
func (s *service) respond(w *world, t *tally, report func(Outcome, time.Duration)) {
	ok, wait := s.admit(w.now)
	if !ok {
		outcome, retryAfter := Refused, time.Duration(0)
		if s.unavailable {
			outcome = Unavailable
		}
		if s.retryAfter != nil {
			retryAfter = s.retryAfter(wait)
		}
		w.after(time.Millisecond, func() {
			t.refused++
			report(outcome, retryAfter)
		})
		return
	}
	work := between(18*time.Millisecond, 20*time.Millisecond)
	if s.work != nil {
		work = s.work
	}
	w.after(work(w.random), func() {
		s.done()
		t.accepted++
		report(Accepted, 0)
	})
}

// holds is the hold of a Retry-After.
func holds(retryAfter time.Duration) Hold { return Hold{Route: retryAfter, Walks: retryAfter} }
