package pace

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// A discrete-event simulation: services with limits, and clients that keep a
// number of requests in flight. Time is simulated, so that hours take
// milliseconds, and every run of a seed is the same.

// simulates skips a long simulation under -short, as the race detector runs: it is all in
// one goroutine.
func simulates(t *testing.T) {
	if t.Helper(); testing.Short() {
		t.Skip("a long simulation in one goroutine")
	}
}

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
	done(now time.Time)                 // an accepted request leaves
	allowed(from, to time.Time) float64 // the most that could have been accepted
	best(latency time.Duration) float64 // a second, in the long run, now
}

type bucket struct {
	rate, burst float64
	tokens      float64
	last        time.Time
}

func newBucket(rate, burst float64) *bucket {
	return &bucket{rate: rate, burst: burst, tokens: burst, last: simStart}
}

func (b *bucket) admit(now time.Time) (bool, time.Duration) {
	b.tokens = min(b.burst, b.tokens+b.rate*now.Sub(b.last).Seconds())
	b.last = now
	if b.tokens >= 1-1e-9 {
		b.tokens--
		return true, 0
	}
	return false, time.Duration((1 - b.tokens) / b.rate * float64(time.Second))
}
func (b *bucket) done(time.Time)             {}
func (b *bucket) best(time.Duration) float64 { return b.rate }
func (b *bucket) allowed(from, to time.Time) float64 {
	return b.rate * to.Sub(from).Seconds()
}

type window struct {
	most    int
	length  time.Duration
	sliding bool
	times   []time.Time
	index   int64
	used    int
}

func (l *window) admit(now time.Time) (bool, time.Duration) {
	if !l.sliding {
		if i := int64(now.Sub(simStart) / l.length); i != l.index {
			l.index, l.used = i, 0
		}
		if l.used < l.most {
			l.used++
			return true, 0
		}
		return false, simStart.Add(time.Duration(l.index+1) * l.length).Sub(now)
	}
	for len(l.times) > 0 && now.Sub(l.times[0]) >= l.length {
		l.times = l.times[1:]
	}
	ok := len(l.times) < l.most
	if ok {
		l.times = append(l.times, now)
		return true, 0
	}
	return false, l.times[len(l.times)-l.most].Add(l.length).Sub(now)
}
func (l *window) done(time.Time)             {}
func (l *window) best(time.Duration) float64 { return float64(l.most) / l.length.Seconds() }
func (l *window) allowed(from, to time.Time) float64 {
	return float64(l.most) / l.length.Seconds() * to.Sub(from).Seconds()
}

type inFlight struct{ most, busy int }

func (l *inFlight) admit(time.Time) (bool, time.Duration) {
	if l.busy < l.most {
		l.busy++
		return true, 0
	}
	return false, 0
}
func (l *inFlight) done(time.Time)                       { l.busy-- }
func (l *inFlight) best(latency time.Duration) float64   { return float64(l.most) / latency.Seconds() }
func (l *inFlight) allowed(time.Time, time.Time) float64 { return math.Inf(1) }

type none struct{}

func (none) admit(time.Time) (bool, time.Duration) { return true, 0 }
func (none) done(time.Time)                        {}
func (none) best(time.Duration) float64            { return math.Inf(1) }
func (none) allowed(time.Time, time.Time) float64  { return math.Inf(1) }

// both holds several limits at once. A request that one refuses has used up
// what others gave, as in most services.
type both []limit

func (l both) admit(now time.Time) (bool, time.Duration) {
	ok, wait := true, time.Duration(0)
	for i, each := range l {
		if admitted, w := each.admit(now); !admitted {
			for _, earlier := range l[:i] {
				earlier.done(now)
			}
			ok, wait = false, max(wait, w)
			break
		}
	}
	return ok, wait
}
func (l both) done(now time.Time) {
	for _, each := range l {
		each.done(now)
	}
}
func (l both) best(latency time.Duration) float64 {
	least := math.Inf(1)
	for _, each := range l {
		least = min(least, each.best(latency))
	}
	return least
}
func (l both) allowed(from, to time.Time) float64 {
	least := math.Inf(1)
	for _, each := range l {
		least = min(least, each.allowed(from, to))
	}
	return least
}

// changing is a bucket whose rate changes at fixed times after the start.
type changing struct {
	bucket
	steps []step
}
type step struct {
	at   time.Duration
	rate float64
}

func (l *changing) admit(now time.Time) (bool, time.Duration) {
	for _, s := range l.steps {
		if !now.Before(simStart.Add(s.at)) && s.rate != l.rate {
			l.rate = s.rate
		}
	}
	return l.bucket.admit(now)
}
func (l *changing) allowed(from, to time.Time) float64 {
	var sum float64
	for i, s := range l.steps {
		begin, end := simStart.Add(s.at), to
		if i+1 < len(l.steps) {
			end = simStart.Add(l.steps[i+1].at)
		}
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		if end.After(begin) {
			sum += s.rate * end.Sub(begin).Seconds()
		}
	}
	return sum
}

// service accepts or refuses, after a time on the way there and one for the work.
type service struct {
	limit        limit
	before, work func(*rand.Rand) time.Duration    // latency before the limiter, and behind it
	retryAfter   func(time.Duration) time.Duration // the Retry-After of a refusal; nil: none
	unavailable  bool                              // it refuses with 503
}

func exactly(d time.Duration) func(*rand.Rand) time.Duration {
	return func(*rand.Rand) time.Duration { return d }
}

func between(a, b time.Duration) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return a + time.Duration(r.Int64N(int64(b-a))) }
}

func roundedUp(d time.Duration) time.Duration { // rounded up, as the header is
	return max((d + time.Second - 1).Truncate(time.Second), time.Second)
}
func always(ra time.Duration) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return ra }
}

// sender is a client: the engine, or an oracle.
type sender interface {
	Join(*Waiter)
	Next(time.Time) (*Waiter, time.Time)
	Send(time.Time, *Waiter)
	Report(time.Time, *Waiter, Outcome, Hold)
}

type tally struct {
	accepted, refused         int
	lateAccepted, lateRefused int   // after the first minute
	acceptedAt                []int // per second
}

func (t *tally) at(now time.Time) int {
	return int(now.Sub(simStart) / time.Second)
}

// perSecond returns how many a second were accepted, between these times since the start.
func (t *tally) perSecond(from, to time.Duration) float64 {
	accepted := 0
	for _, n := range t.acceptedAt[int(from.Seconds()):min(int(to.Seconds()), len(t.acceptedAt))] {
		accepted += n
	}
	return float64(accepted) / (to - from).Seconds()
}

// crawl keeps workers requests going through the client.
func (w *world) crawl(client sender, svc *service, workers int, t *tally) {
	var wake time.Time
	var pump func()
	pump = func() {
		for {
			waiter, at := client.Next(w.now)
			if waiter == nil {
				if !at.IsZero() && (wake.IsZero() || at.Before(wake) || !wake.After(w.now)) {
					wake = at
					w.at(at, func() {
						if wake.Equal(at) {
							wake = time.Time{}
						}
						pump()
					})
				}
				return
			}
			client.Send(w.now, waiter)
			w.send(client, svc, waiter, t, pump)
		}
	}
	for range workers {
		client.Join(&Waiter{priority: Walk, Patient: true})
	}
	w.after(time.Duration(w.random.Int64N(int64(100*time.Millisecond))), pump)
}

func (w *world) send(client sender, svc *service, waiter *Waiter, t *tally, pump func()) {
	w.after(svc.before(w.random), func() {
		ok, wait := svc.limit.admit(w.now)
		if !ok {
			retryAfter := time.Duration(0)
			if svc.retryAfter != nil {
				retryAfter = svc.retryAfter(wait)
			}
			w.after(time.Millisecond, func() {
				t.refused++
				if w.now.Sub(simStart) > time.Minute {
					t.lateRefused++
				}
				outcome := Refused
				if svc.unavailable {
					outcome = Unavailable
				}
				client.Report(w.now, waiter, outcome, holds(retryAfter))
				client.Join(&Waiter{priority: Walk, Patient: true})
				pump()
			})
			return
		}
		w.after(svc.work(w.random), func() {
			svc.limit.done(w.now)
			t.accepted++
			if w.now.Sub(simStart) > time.Minute {
				t.lateAccepted++
			}
			for s := t.at(w.now); len(t.acceptedAt) <= s; {
				t.acceptedAt = append(t.acceptedAt, 0)
			}
			t.acceptedAt[t.at(w.now)]++
			client.Report(w.now, waiter, Accepted, Hold{})
			client.Join(&Waiter{priority: Walk, Patient: true})
			pump()
		})
	})
}

// holds is the hold of a Retry-After.
func holds(retryAfter time.Duration) Hold { return Hold{Route: retryAfter, Walks: retryAfter} }
