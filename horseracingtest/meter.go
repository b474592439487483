package horseracingtest

import "time"

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
