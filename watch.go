package horseracing

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/horseracing-go/horseracing/internal/pace"
	"github.com/horseracing-go/horseracing/internal/transport"
)

// WatchQuery configures a [Watcher].
type WatchQuery struct {
	Interval time.Duration // time between polls; default 15s
}

const watchInterval = 15 * time.Second

// Snapshot is the list of open races after a poll.
type Snapshot struct {
	Races []Race    // in the service's order; shared by all readers, do not modify them
	At    time.Time // when Races was read, by the local clock, or zero before the first successful poll
	Err   error     // why the last poll failed, or which of its entries could not be read
}

// Watcher polls the open races for any number of readers. The number of readers
// does not change the number of requests. Its methods are safe for concurrent
// use.
//
// A race that cannot be read is reported in [Snapshot.Err] and keeps its last
// state in the list. While the id of an entry cannot be read, no race leaves the
// list, because the entry may be any of them. An empty list after one that was not is
// requested again before its races are reported as closed.
type Watcher struct {
	races   *RacesService
	query   WatchQuery
	running atomic.Bool
	run     atomic.Pointer[watchRun] // the current run, or the next one
}

// watchRun holds the newest snapshot of one run of a watcher.
type watchRun struct {
	newest atomic.Pointer[watchPoll]
}

// watchPoll is the snapshot after a poll.
type watchPoll struct {
	Snapshot
	first bool          // no poll of this run has ended: the snapshot is that of the previous run
	done  chan struct{} // closed when newest has changed, or the run has ended
}

func newWatchRun(s Snapshot) *watchRun {
	run := new(watchRun)
	run.newest.Store(&watchPoll{Snapshot: s, first: true, done: make(chan struct{})})
	return run
}

// Watcher returns a [Watcher] of the open races. No request is made until
// [Watcher.Run].
//
// GET /api/v1/races/open:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#47-open-races
func (s *RacesService) Watcher(q WatchQuery) *Watcher {
	w := &Watcher{races: s, query: q}
	w.run.Store(newWatchRun(Snapshot{}))
	return w
}

// Run polls until ctx is done, then returns nil. After a failed poll it continues with
// a backoff of up to five minutes (or Interval, if that is longer), and waits for a
// Retry-After of up to an hour. Run returns ErrInvalidArgument if the query is invalid
// or another Run has not returned.
func (w *Watcher) Run(ctx context.Context) error {
	if err := w.query.check(ctx); err != nil {
		return err
	}
	if !w.running.CompareAndSwap(false, true) {
		return openRaces.invalid(errors.New("the watcher is already running"))
	}
	defer w.running.Store(false)
	run := w.run.Load()
	defer func() {
		last := run.newest.Load()
		w.run.Store(newWatchRun(last.Snapshot))
		close(last.done)
	}()
	for s := range w.races.pollOpen(ctx, w.query, w.Snapshot()) {
		last := run.newest.Swap(&watchPoll{Snapshot: s, done: make(chan struct{})})
		close(last.done)
	}
	return nil
}

// Snapshot returns the newest snapshot, of the current Run or an earlier one. It
// is zero before the first poll.
func (w *Watcher) Snapshot() Snapshot {
	return w.run.Load().newest.Load().Snapshot
}

// Snapshots yields the newest snapshot of the current Run, then the one after each
// poll, failed polls included. A slow reader misses snapshots and gets the newest one.
// [Changes] reports the differences between two of them.
//
// It waits for [Watcher.Run], and ends after the last snapshot of that Run, or when ctx
// is done. If the query is invalid or ctx is nil, it yields a single snapshot with that
// Err.
func (w *Watcher) Snapshots(ctx context.Context) iter.Seq[Snapshot] {
	return func(yield func(Snapshot) bool) {
		if err := w.query.check(ctx); err != nil {
			yield(Snapshot{Err: err})
			return
		}
		run := w.run.Load()
		for ctx.Err() == nil {
			poll := run.newest.Load()
			if !poll.first && !yield(poll.Snapshot) {
				return
			}
			select {
			case <-ctx.Done():
			case <-poll.done:
			}
			if run.newest.Load() == poll { // no other follows
				return
			}
		}
	}
}

// WatchOpen polls the open races and yields the changes since the previous poll, as
// [Changes] reports them. The first poll yields each open race as RaceOpened. The races
// are copies that belong to the caller. WatchOpen starts no goroutine, and does not
// poll while the loop body runs.
//
// If a poll fails, or some entries cannot be read (see [Watcher]), an error is yielded
// with a zero RaceChange, after the changes found by that poll. The loop then
// continues: after Interval or, if the poll failed, after a backoff, as in
// [Watcher.Run]. It ends when ctx is done, or after ErrInvalidArgument.
//
// Use a [Watcher] for several readers.
//
// GET /api/v1/races/open:
// https://github.com/horseracing-go/horseracing/blob/main/docs/service.md#47-open-races
func (s *RacesService) WatchOpen(ctx context.Context, q WatchQuery) iter.Seq2[RaceChange, error] {
	return func(yield func(RaceChange, error) bool) {
		if err := q.check(ctx); err != nil {
			yield(RaceChange{}, err)
			return
		}
		var before []Race
		for after := range s.pollOpen(ctx, q, Snapshot{}) {
			for _, change := range Changes(before, after.Races) {
				if ctx.Err() != nil || !yield(change.clone(), nil) {
					return
				}
			}
			before = after.Races
			if after.Err != nil && (ctx.Err() != nil || !yield(RaceChange{}, after.Err)) {
				return
			}
		}
	}
}

// RaceChangeKind is the kind of a [RaceChange].
type RaceChangeKind string

// The kinds of [RaceChange].
const (
	RaceOpened  RaceChangeKind = "opened"  // it is open and was not before
	RaceUpdated RaceChangeKind = "updated" // its participants, status or deadline changed
	RaceClosed  RaceChangeKind = "closed"  // it is no longer open: started, finished, or canceled
)

// RaceChange is a change of an open race.
type RaceChange struct {
	Kind     RaceChangeKind
	Race     *Race // the current state, or the last known state if the race closed
	Previous *Race // the state before, or nil for an opened race
}

// Changes returns the differences between two lists of open races: closed races, then
// opened ones, then updated ones, each sorted by start time. The changes point into the
// lists.
//
// Races with the same id and different start times are different races, so a race that
// is moved is closed and opened. RaceUpdated reports that the participants, the status or
// the registration deadline changed. Reordered participants are not reported, and neither
// are races that opened and closed between the two lists. A race without an id is
// ignored; of several with the same id and start the first is used.
func Changes(before, after []Race) []RaceChange {
	was, is := racesByKey(before), racesByKey(after)
	var changes []RaceChange
	for h, race := range was {
		if is[h] == nil {
			changes = append(changes, RaceChange{Kind: RaceClosed, Race: race, Previous: race})
		}
	}
	for h, race := range is {
		switch previous := was[h]; {
		case previous == nil:
			changes = append(changes, RaceChange{Kind: RaceOpened, Race: race})
		case isUpdate(previous, race):
			changes = append(changes, RaceChange{Kind: RaceUpdated, Race: race, Previous: previous})
		}
	}
	slices.SortFunc(changes, func(a, b RaceChange) int {
		return cmp.Or(
			cmp.Compare(a.Kind, b.Kind), // closed, opened, updated
			a.Race.StartTime.Compare(b.Race.StartTime.Time),
			cmp.Compare(a.Race.MainRaceID, b.Race.MainRaceID))
	})
	return changes
}

// clone returns a change whose races belong to the caller.
func (c RaceChange) clone() RaceChange {
	c.Race = c.Race.clone()
	if c.Previous != nil {
		c.Previous = c.Previous.clone()
	}
	return c
}

// openKey identifies a race in a list of open races: several may have one id.
type openKey struct {
	id    RaceID
	start int64 // in milliseconds
}

func openKeyOf(r *Race) openKey { return openKey{id: r.MainRaceID, start: r.StartTime.UnixMilli()} }

func racesByKey(races []Race) map[openKey]*Race {
	byKey := make(map[openKey]*Race, len(races))
	for i := range races {
		if h := openKeyOf(&races[i]); h.id != 0 && byKey[h] == nil {
			byKey[h] = &races[i]
		}
	}
	return byKey
}

// isUpdate reports whether b, a later state of a, is reported as an update.
func isUpdate(a, b *Race) bool {
	return a.Status != b.Status || !a.RegistrationDeadline.Equal(b.RegistrationDeadline.Time) || !haveSameParticipants(a, b)
}

// haveSameParticipants compares the participants as sets.
func haveSameParticipants(a, b *Race) bool {
	isMissing := func(p RaceParticipant) bool { return !slices.Contains(b.Participants, p) }
	return len(a.Participants) == len(b.Participants) && !slices.ContainsFunc(a.Participants, isMissing)
}

var openRaces = operation{method: http.MethodGet, route: routeOpenRaces, order: pace.Poll}

func (q WatchQuery) check(ctx context.Context) error {
	switch problem := checkNotNegative("an Interval", q.Interval); {
	case problem != nil:
		return openRaces.invalid(problem)
	case ctx == nil:
		return openRaces.invalid(errNilContext)
	}
	return nil
}

// pollOpen polls until ctx is done, and yields the snapshot after each poll. A poll
// that fails, or cannot read every race, keeps those of the last snapshot. An empty list
// after one that was not is requested again, because it may be a mistake of the service.
func (s *RacesService) pollOpen(ctx context.Context, q WatchQuery, last Snapshot) iter.Seq[Snapshot] {
	return func(yield func(Snapshot) bool) {
		schedule := pollSchedule{interval: cmp.Or(q.Interval, watchInterval)}
		for ctx.Err() == nil {
			l, err := getEntries[Race](ctx, s.backend, openRaces, nil)
			if err == nil && len(l.entries) == 0 && len(last.Races) > 0 && transport.Sleep(ctx, emptyDelay) == nil {
				l, err = getEntries[Race](ctx, s.backend, openRaces, nil)
			}
			if ctx.Err() != nil {
				return
			}
			last.Err = err
			if err == nil {
				last.At = time.Now()
				last.Races, last.Err = readOpen(last.Races, l)
			}
			if !yield(last) || !schedule.wait(ctx, err) {
				return
			}
		}
	}
}

// readOpen returns the races of a response, each once, and those of the previous list
// that may be among the unreadable entries.
func readOpen(before []Race, l *list[Race]) (races []Race, err error) {
	hidden := map[string]bool{} // ids of unreadable entries; "" if an id is unreadable too
	listed := map[openKey]bool{}
	add := func(race *Race) {
		if h := openKeyOf(race); !listed[h] {
			listed[h] = true
			races = append(races, *race)
		}
	}
	for i := range l.entries {
		e := &l.entries[i]
		if e.err == nil && e.value.MainRaceID == 0 {
			l.fail(i, &readError{field: "/main_race_id", err: errors.New("a race without an id cannot be distinguished from others")})
		}
		if e.err != nil {
			hidden[e.err.ID] = true
			continue
		}
		add(&e.value)
	}
	for i := range before {
		if race := &before[i]; hidden[""] || hidden[idOf(race)] {
			add(race)
		}
	}
	return races, l.unreadable(openRaces)
}

// pollSchedule determines when the next poll is due.
type pollSchedule struct {
	interval time.Duration
	failures int // since the last success
}

const (
	longestBackoff = 5 * time.Minute // between failures, unless the interval is longer
	maxRefusal     = time.Hour       // a longer Retry-After is cut to this
)

// wait waits until the next poll is due: an interval after a success, a growing backoff
// after failures, and at least the Retry-After of err. It reports false if ctx is done.
func (s *pollSchedule) wait(ctx context.Context, err error) bool {
	return transport.Sleep(ctx, s.delay(err)) == nil
}

func (s *pollSchedule) delay(err error) time.Duration {
	delay := s.interval
	if err == nil {
		s.failures = 0
	} else {
		for range s.failures {
			delay += max(0, min(delay, longestBackoff-delay))
		}
		s.failures++
	}
	delay -= rand.N(delay/10 + 1) // clients that started together drift apart
	return max(delay, retryAfterOf(err))
}

// retryAfterOf returns the Retry-After of err, zero if there is none.
func retryAfterOf(err error) time.Duration {
	if refused, ok := errors.AsType[*APIError](err); ok {
		return min(refused.RetryAfter, maxRefusal)
	}
	return 0
}
