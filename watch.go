package horseracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
)

// WatchQuery configures a [Watcher].
type WatchQuery struct {
	Interval time.Duration // between polls; zero: 15 seconds
}

const watchInterval = 15 * time.Second

// RaceChangeKind is the kind of a [RaceChange].
type RaceChangeKind string

// The kinds of [RaceChange].
const (
	RaceOpened  RaceChangeKind = "opened"  // it is open and was not before
	RaceUpdated RaceChangeKind = "updated" // its participants, status, deadline or start changed
	RaceClosed  RaceChangeKind = "closed"  // it is no longer open: started, finished, or called off
)

// RaceChange is a change of an open race.
type RaceChange struct {
	Kind     RaceChangeKind
	Race     *Race // the current state; of a closed race the last state seen
	Previous *Race // what this reader was given last for the race; nil for an opened race
}

// Snapshot is the open races as a [Watcher] last read them.
type Snapshot struct {
	Races []Race    // the open races at the time At, in the service's order
	At    time.Time // of the last successful poll, by the local clock; zero: none yet
	Err   error     // of the last poll if it failed, or of the races that it could not read; nil: all were read
}

// Watcher polls the open races for any number of readers. The number of readers
// does not change the number of requests. Its methods are safe for concurrent
// use.
//
// The service sends no events: what comes and goes between two polls is not seen.
type Watcher struct {
	races   *RacesService
	invalid error // of the query
	query   WatchQuery
	running atomic.Bool
	state   atomic.Pointer[watchState]
}

// Watcher returns a [Watcher] of the open races. No request is made until
// [Watcher.Run].
//
// GET /api/v1/races/open:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#47-open-races
func (s *RacesService) Watcher(q WatchQuery) *Watcher {
	w := &Watcher{races: s, query: q}
	if q.Interval < 0 {
		w.invalid = openRaces.invalid(fmt.Sprintf("Interval %v is negative", q.Interval))
	}
	w.state.Store(newWatchState())
	return w
}

var openRaces = operation{method: http.MethodGet, route: "/api/v1/races/open"}

// Run polls until ctx ends, then returns nil. A failed poll does not end it:
// polling goes on with backoff, up to five minutes (or Interval, if that is
// longer), and waits for a Retry-After of up to an hour. Run returns
// ErrInvalidArgument for an invalid query and while another Run is under way.
func (w *Watcher) Run(ctx context.Context) error {
	if err := w.check(ctx); err != nil {
		return err
	}
	if !w.running.CompareAndSwap(false, true) {
		return openRaces.invalid("the watcher is running already")
	}
	defer w.running.Store(false)
	schedule := w.start()
	defer func() { w.publish(w.state.Load().stop()) }()
	for ctx.Err() == nil && w.poll(ctx) && schedule.wait(ctx, w.state.Load().err()) {
	}
	return nil
}

// Snapshot returns the open races as of the last successful poll, of this Run or
// an earlier one. It makes no request, and the snapshot is the caller's own copy.
func (w *Watcher) Snapshot() Snapshot {
	s := w.state.Load()
	snapshot := Snapshot{Races: make([]Race, len(s.open)), At: s.at, Err: cmp.Or(s.err(), s.unreadable.joined())}
	for i, race := range s.open {
		snapshot.Races[i] = *race.clone()
	}
	return snapshot
}

// Changes returns the changes of the open races, beginning with each open race
// as RaceOpened. It waits until [Watcher.Run] is called and ends when Run returns.
// It also ends, without an error, when ctx does or the caller leaves the loop.
//
// RaceUpdated reports other participants, status, registration deadline or start
// time; another order is no change. The closed races come first, by start time,
// then the opened and then the updated ones in the service's order.
//
// A reader that is slower than the polls delays no other. When it comes back it
// gets each race that opened or closed in the meantime, and one update per race to
// its current state.
//
// A failed poll is yielded as an empty change with the error, and the loop goes
// on; of several that a slow reader missed only the last. A race that cannot be
// read is yielded once, as an empty change with a [*DecodeError]. A race that
// becomes unreadable keeps its last state and does not close. While an entry is
// unreadable including its id, no race closes, because it may be any of them.
//
// The races of a change are the caller's own copies.
func (w *Watcher) Changes(ctx context.Context) iter.Seq2[RaceChange, error] {
	return func(yield func(RaceChange, error) bool) {
		if err := w.check(ctx); err != nil {
			yield(RaceChange{}, err)
			return
		}
		s := w.state.Load()
		for ; !s.running; s = w.state.Load() {
			if !s.superseded(ctx) {
				return
			}
		}
		for r := newWatchReader(s); r.deliver(ctx, s, yield) && s.running && s.run == r.run; s = w.state.Load() {
			if !s.superseded(ctx) {
				return
			}
		}
	}
}

// WatchOpen returns the changes of the open races, as [Watcher.Changes] does, for
// a single reader. It polls between the steps of the loop: nothing runs while the
// loop's body does. Each range over the sequence begins again with the races that
// are open then.
//
// Use a [Watcher] for several readers.
//
// GET /api/v1/races/open:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#47-open-races
func (s *RacesService) WatchOpen(ctx context.Context, q WatchQuery) iter.Seq2[RaceChange, error] {
	return func(yield func(RaceChange, error) bool) {
		w := s.Watcher(q)
		if err := w.check(ctx); err != nil {
			yield(RaceChange{}, err)
			return
		}
		schedule := w.start()
		r := newWatchReader(w.state.Load())
		for ctx.Err() == nil && w.poll(ctx) && r.deliver(ctx, w.state.Load(), yield) && schedule.wait(ctx, w.state.Load().err()) {
		}
	}
}

func (w *Watcher) check(ctx context.Context) error {
	if ctx == nil {
		return openRaces.invalid("the context is nil")
	}
	return w.invalid
}

// start begins a run.
func (w *Watcher) start() *pollSchedule {
	w.publish(w.state.Load().start())
	return &pollSchedule{interval: cmp.Or(w.query.Interval, watchInterval)}
}

// poll requests the open races once. It reports whether the context has not ended.
func (w *Watcher) poll(ctx context.Context) bool {
	op := openRaces
	op.order = pace.Poll
	entries, err := getEntries[Race](ctx, w.races.client, op, nil, false)
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		w.publish(w.state.Load().failed(err))
	} else {
		w.publish(w.state.Load().polled(entries, time.Now()))
	}
	return true
}

// publish replaces the current state and wakes the readers that wait for a new one.
func (w *Watcher) publish(s *watchState) {
	close(w.state.Swap(s).next)
}

// pollSchedule is the polling interval and backoff of a poll that goes on until
// its context ends.
type pollSchedule struct {
	interval time.Duration
	failures int // since the last success
}

const (
	longestBackoff = 5 * time.Minute // between failures, unless the interval is longer
	maxPollRefusal = time.Hour       // a longer Retry-After is cut to this
)

// succeeded resets the backoff.
func (s *pollSchedule) succeeded() { s.failures = 0 }

// wait waits until the next poll is due: an interval after a success, a growing
// backoff after failures, and at least the Retry-After of err. It reports whether
// the context has not ended.
func (s *pollSchedule) wait(ctx context.Context, err error) bool {
	timer := time.NewTimer(s.delay(err))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

func (s *pollSchedule) delay(err error) time.Duration {
	if err == nil {
		s.failures = 0
	}
	delay := backoff(s.interval, s.failures)
	if err != nil {
		s.failures++
	}
	delay -= rand.N(delay/10 + 1) // clients that started together drift apart
	if refusal, ok := errors.AsType[*APIError](err); ok {
		delay = max(delay, min(refusal.RetryAfter, maxPollRefusal))
	}
	return delay
}

// backoff returns the interval, doubled for each failure up to longestBackoff.
func backoff(interval time.Duration, failures int) time.Duration {
	longest := max(longestBackoff, interval)
	for ; failures > 0; failures-- {
		if interval > longest/2 { // twice that may overflow
			return longest
		}
		interval *= 2
	}
	return interval
}
